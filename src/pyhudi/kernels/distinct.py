"""Apply a slow function once per distinct value instead of once per row.

For what Arrow has no kernel for (escaping, calendars, Java's number texts). Start at `over_distinct`.
"""

from collections.abc import Callable, Sequence

import pyarrow as pa

__all__ = ["over_distinct", "over_distinct_texts", "texts_of"]


def over_distinct(values: pa.ChunkedArray, function: Callable[[pa.Array], pa.Array]) -> pa.ChunkedArray:
    """Map every distinct value through `function`, which gets and gives one array of the same length.

    Shape:  n rows -> n rows of the type `function` gives.
    Nulls:  stay null; `function` never sees one.
    Cost:   one hash table of the distinct values, and one gather.
    """
    encoded = values.dictionary_encode().unify_dictionaries()
    if encoded.num_chunks == 0:
        return pa.chunked_array([function(pa.array([], values.type))])
    made = function(encoded.chunk(0).dictionary)
    return pa.chunked_array([made.take(chunk.indices) for chunk in encoded.chunks], type=made.type)


def over_distinct_texts(values: pa.ChunkedArray, function: Callable[[str], str]) -> pa.ChunkedArray:
    """Map every distinct string of a column through `function`.

    Shape:  n strings -> n strings.
    Nulls:  stay null; `function` never sees one.
    """
    return over_distinct(
        values, lambda distinct: pa.array([function(text) for text in texts_of(distinct)], pa.string())
    )


def texts_of(strings: pa.Array) -> Sequence[str]:
    """Return the strings of an array without nulls as Python sees them; for distinct values only.

    Shape:  n strings -> n strings.
    """
    made: list[str] = strings.to_numpy(zero_copy_only=False).tolist()
    return made

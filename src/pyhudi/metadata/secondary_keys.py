r"""The keys of a secondary index: a value and a record key, each escaped, with `$` between.

Null is one zero byte; in texts `\`, `$` and the zero byte have a `\` in front. Pure. Start at `entry_keys`.

Spec: format/metadata-table 3.4, 4.3, 6.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

__all__ = ["can_index", "entry_keys", "indexed_record_keys", "value_prefixes", "values_hashed"]

_NULL: Final = "\0"
_BETWEEN: Final = "$"
_HEAD: Final = r"(?s)^(?P<head>(?:[^\\$]|\\.)*\$)"


def can_index(kind: pa.DataType) -> bool:
    """Return whether a column of a type may have a secondary index: texts, whole numbers, dates and moments."""
    if pt.is_timestamp(kind):
        return bool(kind.unit in {"ms", "us"} and kind.tz is not None)
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_signed_integer(kind) or pt.is_date32(kind))


def entry_keys(values: pa.Array, keys: pa.Array) -> pa.Array:
    """Return the keys of the entries of rows.   Shape: n values of a column, n record keys -> n texts."""
    return pc.binary_join_element_wise(value_prefixes(values), _escaped(keys), "")


def value_prefixes(values: pa.Array) -> pa.Array:
    """Return how the keys of the entries of values begin, with the `$` behind.   Shape: n values -> n texts."""
    texts = pc.fill_null(_escaped(_texts(values)), _NULL)
    return pc.binary_join_element_wise(texts, _BETWEEN, "")


def values_hashed(entries: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return what says the file group of entries in version V2: the value, as `value_prefixes` has it."""
    return pc.struct_field(pc.extract_regex(entries, _HEAD), ["head"])


def indexed_record_keys(entries: pa.Array) -> pa.Array:
    """Return the record keys of entries.   Shape: n keys of entries -> n record keys."""
    escaped = pc.replace_substring_regex(entries, _HEAD, "")
    return pc.replace_substring_regex(escaped, r"(?s)\\(.)", r"\1")


def _texts(values: pa.Array) -> pa.Array:
    """Write values as Avro's primitives: dates in days, moments in their unit."""
    kind = values.type
    if pt.is_date32(kind):
        return values.cast(pa.int32()).cast(pa.string())
    if pt.is_timestamp(kind):
        return values.cast(pa.int64()).cast(pa.string())
    return values.cast(pa.string())


def _escaped(texts: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(texts, r"([\\$\x00])", r"\\\1")

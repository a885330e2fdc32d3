"""Choose one row a key: the newest by ordering value, then by place.

Pure Arrow kernels. Start at `newer_rows`.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.kernels.ordering import comparable
from pyhudi.kernels.rules import Bools, Indices, one_array, without_value

__all__ = ["key_codes", "newer_rows", "order_ranks"]


def newer_rows(
    keys: pa.ChunkedArray, ordering: Sequence[pa.ChunkedArray], deletes: Bools, *, keeps_first: bool = False
) -> Indices | None:
    """Precombine: choose one row a key; None when every key is there once.

    The greatest ordering value wins and a tie goes to the later row, or with `keeps_first` to the earlier one. A delete
    without ordering value beats every earlier row of its key and loses to every later one.

    Shape:  n keys, ordering columns and flags in input order -> indices into them, ascending.
    Nulls:  a null ordering value counts as 0, the epoch, or the empty text.
    Cost:   one hash of n keys; sorts only the rows of keys that are there more than once.
    Spec:   format/files 6.2, 6.3.
    """
    codes = key_codes(keys)
    counts = np.bincount(codes)
    if not len(counts) or counts.max() == 1:
        return None
    repeated = counts[codes] > 1
    rows = np.flatnonzero(repeated)
    if deletes.any() and len(ordering):
        rows = _after_last_unordered_delete(rows, codes, without_value(ordering, len(codes)) & deletes)
    order = np.lexsort((-rows if keeps_first else rows, order_ranks(ordering, rows), codes[rows]))
    sorted_codes = codes[rows][order]
    last = np.append(sorted_codes[1:] != sorted_codes[:-1], True)
    kept = ~repeated
    kept[rows[order[last]]] = True
    return np.flatnonzero(kept)


def order_ranks(ordering: Sequence[pa.ChunkedArray], rows: Indices) -> Indices:
    """Number the ordering values of some rows: the greater, the higher, and equal ones the same.

    Shape: columns of n values, m of their rows -> m numbers.
    Nulls: count as 0, the epoch, or the empty text.
    """
    taken, ranks = pa.array(rows), np.zeros(len(rows), dtype=np.int64)
    for column in ordering:
        dense = pc.rank(comparable(column).take(taken), sort_keys="ascending", tiebreaker="dense").to_numpy()
        ranks = ranks * (len(rows) + 1) + dense.astype(np.int64)
        ranks = np.unique(ranks, return_inverse=True)[1] if len(ordering) > 1 else ranks
    return ranks


def key_codes(keys: pa.ChunkedArray) -> Indices:
    """Number keys, the same ones by the same number.

    Shape: n keys -> n numbers, from 0 on without a gap.
    """
    encoded = one_array(keys.dictionary_encode())
    codes: Indices = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes


def _after_last_unordered_delete(rows: Indices, codes: Indices, unordered: Bools) -> Indices:
    """Drop rows that a later delete without ordering value beats, and such deletes where a later row follows."""
    if not unordered[rows].any():
        return rows
    last_delete = np.full(int(codes.max()) + 1, -1, dtype=np.int64)
    np.maximum.at(last_delete, codes[rows[unordered[rows]]], rows[unordered[rows]])
    last_row = np.full_like(last_delete, -1)
    np.maximum.at(last_row, codes[rows], rows)
    is_final = last_row == last_delete
    kept = np.where(is_final[codes[rows]], rows == last_delete[codes[rows]], rows > last_delete[codes[rows]])
    return rows[kept]

"""Take record keys apart again, as the bucket hash needs it. Start at `key_elements`."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["key_elements", "split_plain_keys"]


def split_plain_keys(array: pa.Array, fields: Sequence[str]) -> list[pa.Array] | None:
    """Split keys at commas where no value holds one; none where one does, or a key is null or of other fields.

    For such keys it gives what `key_elements` does.

    Shape:  n keys -> k columns of n strings.
    Nulls:  `__null__` gives null, `__empty__` an empty string.
    Spec:   format/files 8.1.
    """
    if array.null_count or not _all(pc.equal(pc.count_substring(array, ","), len(fields) - 1)):
        return None
    pieces = pc.split_pattern(array, ",").flatten()
    columns = []
    for i, field in enumerate(fields):
        column = pieces.take(pa.array(np.arange(i, len(pieces), len(fields))))
        if not _all(pc.starts_with(column, f"{field}:")):
            return None
        columns.append(_unmark(pc.utf8_slice_codeunits(column, start=len(field) + 1)))
    return columns


def key_elements(keys: pa.Array | pa.ChunkedArray, fields: Sequence[str] = ()) -> pa.Array:
    """Return the values that Apache Hudi (1.0 and newer) finds in keys, of these fields or of all.

    A key without a comma, or without a colon, is one value: itself. Else the first colon ends a field's name, and a new
    field begins at each last comma before a further colon. Where no field is one of `fields` the key is one value.

    Shape:  n keys -> n lists of strings, in the order of the key.
    Nulls:  `__null__` gives null, `__empty__` an empty string.
    Spec:   format/files 8.1, 9.1.
    """
    column = keys if isinstance(keys, pa.ChunkedArray) else pa.chunked_array([keys])
    array = column.cast(pa.string()).combine_chunks()
    composite = pc.and_(pc.match_substring(array, ","), pc.match_substring(array, ":"))
    places = pc.indices_nonzero(composite)
    if not len(places):
        return pa.ListArray.from_arrays(pa.array(np.arange(len(array) + 1), pa.int32()), array)
    split = _field_values(array.take(places), fields)
    rest = pc.indices_nonzero(pc.invert(composite))
    plain = pa.ListArray.from_arrays(pa.array(np.arange(len(rest) + 1), pa.int32()), array.take(rest))
    order = np.empty(len(array), np.int64)
    order[places.to_numpy()] = np.arange(len(places))
    order[rest.to_numpy()] = np.arange(len(rest)) + len(places)
    return pa.concat_arrays([split, plain]).take(pa.array(order))


def _field_values(array: pa.Array, fields: Sequence[str]) -> pa.Array:
    # Two bytes that UTF-8 never holds mark the end of a name and the start of the next field.
    marked = pc.replace_substring_regex(array.cast(pa.binary()), b"(?s)^([^:]*):", b"\\1\xff")
    marked = pc.replace_substring_regex(marked, b"(?s),([^,:\xff]*):", b"\xfe\\1\xff")
    lists = pc.split_pattern(marked, b"\xfe")
    pairs = pc.split_pattern(lists.flatten(), b"\xff")
    names, values = (pc.list_element(pairs, i).cast(pa.string()) for i in (0, 1))
    wanted = pc.is_in(names, pa.array(list(fields), pa.string())) if any(fields) else pa.repeat(True, len(names))
    parents = pc.list_parent_indices(lists)
    none = np.bincount(parents.to_numpy(), weights=wanted.to_numpy(zero_copy_only=False), minlength=len(array)) == 0
    counts = np.bincount(parents.filter(wanted).to_numpy(), minlength=len(array))
    found = _unmark(values.filter(wanted))
    if not none.any():
        return pa.ListArray.from_arrays(_offsets(counts), found)
    kept = pa.ListArray.from_arrays(_offsets(counts), found)
    whole = pa.ListArray.from_arrays(pa.array(np.arange(len(array) + 1), pa.int32()), array)
    return pc.if_else(pa.array(none), whole, kept)


def _offsets(counts: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> pa.Array:
    return pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())


def _unmark(values: pa.Array) -> pa.Array:
    marks = pc.or_(pc.equal(values, "__null__"), pc.equal(values, "__empty__"))
    if not pc.any(marks).equals(pa.scalar(True)):
        return values
    values = pc.if_else(pc.equal(values, "__null__"), pa.scalar(None, pa.string()), values)
    return pc.if_else(pc.equal(values, "__empty__"), "", values)


def _all(mask: pa.Array) -> bool:
    return not pc.all(mask).equals(pa.scalar(False))

"""Order rows along a space-filling curve, so that rows which are near in several columns lie near in files.

Each column becomes whole numbers in the order of its values, then its rank among sampled values, so that every column
has the same say however its values are spread; the ranks of a row are woven into its place on the curve. Start at
`curve_order`.

Spec: Table Management, clustering; RFC-28.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvalidInput

__all__ = ["Curve", "curve_order"]

Codes = npt.NDArray[np.uint64]

_WORD_BITS: Final = 64
_MOST_RANK_BITS: Final = 12
"""Thousands of shares a column part more finely than row groups do."""
_SIGN: Final = np.uint64(1 << 63)
_PREFIX_BYTES: Final = 8
_SAMPLED_ROWS: Final = 200_000
_BLOCK_ROWS: Final = 1 << 14
"""So many numbers stay in a processor's cache while they are turned and woven."""


class Curve(StrEnum):
    """How rows are ordered by several columns, by the names of `hoodie.layout.optimize.strategy`."""

    LINEAR = "linear"
    """By the first column, rows that are equal there by the second, and so on."""
    ZORDER = "zorder"
    """Along the Z-order curve: every column has its part, neighbours in one may lie apart."""
    HILBERT = "hilbert"
    """Along the Hilbert curve: neighbours on it are neighbours in the columns."""


def curve_order(columns: Sequence[pa.ChunkedArray], curve: Curve, *, sampled_rows: int = _SAMPLED_ROWS) -> pa.Array:
    """Return the row numbers of columns in the order of a curve.

    The same rows give the same order: samples are rows at equal distances.

    Shape:  k columns of n values -> n row numbers from 0.
    Nulls:  first; NaN last. Of text and bytes the eight bytes count behind those that all values share, of decimals
            the nearest double.
    Cost:   a sort of the sample and a binary search a value, for each column; a sort of n numbers.
    Raises: InvalidInput for a nested column, and for more columns than a place on the curve has bits for.
    """
    assert curve is not Curve.LINEAR, "rows are sorted by columns elsewhere"
    rows_count = len(columns[0])
    row_bits = max(1, rows_count.bit_length())
    bits = min(_MOST_RANK_BITS, (_WORD_BITS - row_bits) // len(columns))
    if bits < 1:
        raise InvalidInput("so many columns leave no bit for each on a curve", columns=len(columns), rows=rows_count)
    codes = [_codes(column) for column in columns]
    bounds = [_bounds(one, bits, sampled_rows) for one in codes]
    places = np.empty(rows_count, np.uint64)
    for start in range(0, len(places), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        ranks = [_ranks(one[rows], limits, bits) for one, limits in zip(codes, bounds, strict=True)]
        places[rows] = _woven(_on_hilbert(ranks, bits) if curve is Curve.HILBERT else ranks, bits)
    # Numbers with the row in their lowest bits are sorted faster than rows by numbers, and no two are equal: a task
    # that runs again on another machine puts the same rows into the same files.
    places = (places << np.uint64(row_bits)) | np.arange(rows_count, dtype=np.uint64)
    places.sort()
    return pa.array(places & np.uint64((1 << row_bits) - 1))


def _codes(column: pa.ChunkedArray) -> Codes:
    """Return whole numbers in the order of a column's values; 0 for nulls.   Shape: n values -> n numbers."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    plain = column.combine_chunks()
    if isinstance(plain, pa.ChunkedArray):
        plain = plain.chunk(0) if plain.num_chunks else pa.array([], kind)
    if pa.types.is_nested(kind):
        raise InvalidInput("rows cannot be ordered by a nested column; name one of its fields", type=str(kind))
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_fixed_size_binary(kind):
        codes = _text_codes(plain.cast(pa.large_binary()))
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        codes = _float_codes(plain.cast(pa.float64(), safe=False))
    else:
        codes = _integer_codes(plain)
    if plain.null_count:
        # One place is kept free for nulls, below every value.
        valid = np.asarray(pc.is_valid(plain))
        codes = np.where(valid, np.maximum(codes, 1), 0)
    return codes.astype(np.uint64, copy=False)


def _integer_codes(plain: pa.Array) -> Codes:
    width = {pa.bool_(): pa.uint8(), pa.date32(): pa.int32(), pa.time32("ms"): pa.int32()}.get(plain.type)
    numbers = plain.cast(width) if width is not None else plain
    if not pa.types.is_integer(numbers.type):
        numbers = numbers.cast(pa.int64())
    values = np.asarray(pc.fill_null(numbers.cast(pa.int64()), 0))
    return values.view(np.uint64) ^ _SIGN


def _float_codes(plain: pa.Array) -> Codes:
    """Flip bits so that doubles are in order as whole numbers; NaN of any sign is above all."""
    values = np.asarray(pc.fill_null(plain, 0.0))
    values = np.where(np.isnan(values), np.nan, values + 0.0)  # and -0.0 is 0.0
    codes = values.view(np.uint64)
    return np.where(codes & _SIGN, ~codes, codes | _SIGN)


def _text_codes(plain: pa.Array) -> Codes:
    """Take the eight bytes behind the prefix that all values share, as one number each."""
    known = plain.drop_null()
    if not len(known):
        return np.zeros(len(plain), np.uint64)
    span = pc.min_max(known)
    shared = _shared_bytes(bytes(span["min"].as_buffer()), bytes(span["max"].as_buffer()))
    cut = pc.binary_slice(pc.fill_null(plain, b""), shared, shared + _PREFIX_BYTES)
    # Where a value has fewer bytes, those that lie behind it in memory are another's: they are masked.
    lengths = np.asarray(pc.binary_length(cut)).astype(np.uint64)
    _, offsets, data = cut.buffers()
    starts = np.frombuffer(offsets, np.int64)[cut.offset : cut.offset + len(cut)]
    held = np.zeros((data.size if data is not None else 0) + _PREFIX_BYTES, np.uint8)
    if data is not None:
        held[: data.size] = np.frombuffer(data, np.uint8)
    numbers = np.zeros(len(plain), np.uint64)
    for at in range(_PREFIX_BYTES):
        numbers |= np.where(at < lengths, held[starts + at], 0).astype(np.uint64) << np.uint64(8 * (7 - at))
    return numbers


def _shared_bytes(least: bytes, greatest: bytes) -> int:
    """Count the bytes with which two values begin alike."""
    pairs = zip(least, greatest, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(least), len(greatest)))


def _bounds(codes: Codes, bits: int, sampled_rows: int) -> Codes:
    """Choose the numbers that part the sampled ones into equal shares, fewer than 2**bits."""
    sample = np.sort(codes[:: max(1, len(codes) // max(1, sampled_rows))])
    if not len(sample):
        return sample
    at = np.linspace(0, len(sample) - 1, min(1 << bits, len(sample))).astype(np.int64)
    return np.unique(sample[at])[1:]


def _ranks(codes: Codes, bounds: Codes, bits: int) -> Codes:
    """Return in which share each number lies.   Shape: n -> n numbers below 2**bits.

    Few shares are spread over all bits: else a column with two values would have no say on the curve.
    """
    step = ((1 << bits) - 1) // max(len(bounds), 1)
    return np.searchsorted(bounds, codes, side="right").astype(np.uint64) * np.uint64(step)


def _woven(ranks: Sequence[Codes], bits: int) -> Codes:
    """Weave the bits of several numbers into one, from the highest, the first number's first."""
    spread = _spread(bits, len(ranks))
    places = np.zeros_like(ranks[0])
    for at, rank in enumerate(ranks):
        places |= spread[rank] << np.uint64(len(ranks) - 1 - at)
    return places


@lru_cache(maxsize=8)
def _spread(bits: int, stride: int) -> Codes:
    """Return each number below 2**bits with its bits `stride` apart."""
    numbers = np.arange(1 << bits, dtype=np.uint64)
    found = np.zeros_like(numbers)
    for bit in range(bits):
        found |= ((numbers >> np.uint64(bit)) & np.uint64(1)) << np.uint64(bit * stride)
    return found


def _on_hilbert(ranks: Sequence[Codes], bits: int) -> list[Codes]:
    """Turn coordinates into numbers whose woven bits are the place on the Hilbert curve.

    J. Skilling, Programming the Hilbert curve, 2004: undo the turns of each cell from the largest down, then encode
    as Gray code.
    """
    axes = [rank.copy() for rank in ranks]
    for bit in range(bits - 1, 0, -1):
        low = np.uint64((1 << bit) - 1)
        for at in range(len(axes)):
            is_set = (axes[at] >> np.uint64(bit)) & np.uint64(1) == 1
            swapped = np.where(is_set, 0, (axes[0] ^ axes[at]) & low)
            axes[0] ^= np.where(is_set, low, swapped)
            if at:
                axes[at] ^= swapped
    for at in range(1, len(axes)):
        axes[at] ^= axes[at - 1]
    turns = np.zeros_like(axes[0])
    for bit in range(bits - 1, 0, -1):
        is_set = (axes[-1] >> np.uint64(bit)) & np.uint64(1) == 1
        turns ^= np.where(is_set, np.uint64((1 << bit) - 1), 0)
    return [axis ^ turns for axis in axes]

"""CRC32C of a block's chunks, vectorised: what HBase's writer, used up to Apache Hudi 1.0, puts behind each block.

A CRC is linear: the chunks are cut into short lanes that numpy works through together, and the lanes' results are
joined pairwise, each left one moved on by the length of the right one. Start at `crc32c_chunks`.
"""

from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["crc32c_chunks"]

_U32: TypeAlias = npt.NDArray[np.uint32]
_Step: TypeAlias = tuple[_U32, _U32]
"""What becomes of a state as zero bytes follow: of its low and of its high half, to be put together by XOR."""

_POLYNOMIAL = np.uint32(0x82F63B78)
_LANE_BYTES = 64
_WORD_BYTES = 4
_HALF = np.uint32(0xFFFF)
_HIGH = np.uint32(16)
_INVERTED = np.uint32(0xFFFFFFFF)


def crc32c_chunks(data: bytes | memoryview, chunk_bytes: int) -> _U32:
    """Return the CRC32C of every chunk; the last may be shorter.

    Shape: n bytes -> ceil(n / chunk_bytes) checksums.
    Cost:  about 5 ns a byte.
    """
    if not len(data):
        return np.zeros(0, np.uint32)
    content = np.frombuffer(data, np.uint8)
    count = -(-len(content) // chunk_bytes)
    chunk_bytes = min(chunk_bytes, len(content))
    width = _LANE_BYTES << max(0, (-(-chunk_bytes // _LANE_BYTES) - 1).bit_length())
    # zeros in front change no CRC that starts from zero; the inversion at the start is laid over the first four bytes
    cells = np.zeros((count, width), np.uint8)
    whole = len(content) // chunk_bytes
    cells[:whole, width - chunk_bytes :] = content[: whole * chunk_bytes].reshape(whole, chunk_bytes)
    lengths = np.full(count, chunk_bytes)
    if whole < count:
        lengths[-1] = rest = len(content) - whole * chunk_bytes
        cells[-1, width - rest :] = content[whole * chunk_bytes :]
    states = _from_zero(cells)
    return states ^ _starts(lengths) ^ _INVERTED


def _from_zero(cells: npt.NDArray[np.uint8]) -> _U32:
    """Return the state after each row's bytes, from a state of zero."""
    words = np.ascontiguousarray(cells.view("<u4").reshape(-1, _LANE_BYTES // _WORD_BYTES).T)
    states = np.zeros(words.shape[1], np.uint32)
    for word in words:
        states = _moved(_steps(0), states ^ word)
    lanes = states.reshape(len(cells), -1)
    level = (_LANE_BYTES // _WORD_BYTES).bit_length() - 1
    while lanes.shape[1] > 1:
        lanes = _moved(_steps(level), lanes[:, 0::2]) ^ lanes[:, 1::2]
        level += 1
    result: _U32 = lanes[:, 0]
    return result


def _starts(lengths: npt.NDArray[np.int64]) -> _U32:
    """Return what the inverted start adds to the state after so many bytes."""
    found = np.empty(len(lengths), np.uint32)
    for length in np.unique(lengths).tolist():
        state = np.full(1, _INVERTED, np.uint32)
        words, rest = divmod(length, _WORD_BYTES)
        for level in range(words.bit_length()):
            if words >> level & 1:
                state = _moved(_steps(level), state)
        for _ in range(rest):
            state = _after_byte(state)
        found[lengths == length] = state[0]
    return found


def _moved(step: _Step, states: _U32) -> _U32:
    low, high = step
    moved: _U32 = low[states & _HALF] ^ high[states >> _HIGH]
    return moved


@cache
def _steps(level: int) -> _Step:
    """Return the step over 4 * 2**level zero bytes."""
    halves = np.arange(1 << 16, dtype=np.uint32)
    if level:
        before = _steps(level - 1)
        return _moved(before, before[0]), _moved(before, before[1])
    low, high = halves, halves << _HIGH
    for _ in range(_WORD_BYTES):
        low, high = _after_byte(low), _after_byte(high)
    return low, high


def _after_byte(states: _U32) -> _U32:
    after: _U32 = (states >> np.uint32(8)) ^ _byte_table()[states & np.uint32(0xFF)]
    return after


@cache
def _byte_table() -> _U32:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ np.where(table & np.uint32(1), _POLYNOMIAL, np.uint32(0))
    return table

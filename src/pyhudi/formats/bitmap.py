"""Record positions of a log block: the rows of a base file that its records replace, as text in its header.

Start at `decode_positions` and `encode_positions`.

Bytes: base64 of a Roaring bitmap of 64 bits in its portable form.
"""

import base64
import binascii
from array import array
from typing import Final

import numpy as np
from pyroaring import BitMap64

from pyhudi.errors import CorruptData, InvalidInput

__all__ = ["decode_positions", "encode_positions"]

Positions = np.ndarray[tuple[int], np.dtype[np.int64]]

_MAX: Final = (1 << 63) - 1


def decode_positions(text: str, count: int) -> Positions:
    """Read the positions of a block of `count` records.

    Shape:  `count` numbers, ascending: the first is the first record's.
    Cost:   memory for `count` numbers, whatever the text claims; 10 ms a million.
    Raises: CorruptData for what is no bitmap, and where it has more or fewer numbers than there are records.
    Spec:   format/files 3; RoaringFormatSpec, extension for 64 bits.
    """
    try:
        bitmap = BitMap64.deserialize(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, IndexError) as error:
        raise CorruptData("record positions of a log block are no bitmap", size_bytes=len(text)) from error
    if len(bitmap) != count:
        raise CorruptData("a log block has another number of positions than of records", positions=len(bitmap))
    if count and bitmap.max() > _MAX:
        raise CorruptData("a record position is impossible", position=bitmap.max())
    return np.array(bitmap.to_array(), np.uint64).astype(np.int64)


def encode_positions(positions: Positions) -> str:
    """Write positions as Apache Hudi does: with runs where they are shorter.

    Shape:  any number of positions, in any order; one that is there twice is written once.
    Cost:   80 ms a million.
    Raises: InvalidInput for a negative number.
    Spec:   format/files 3.
    """
    if len(positions) and positions.min() < 0:
        raise InvalidInput("a record position cannot be negative", position=int(positions.min()))
    bitmap = BitMap64(array("Q", positions.astype(np.uint64).tobytes()))
    bitmap.run_optimize()
    return base64.b64encode(bitmap.serialize()).decode()

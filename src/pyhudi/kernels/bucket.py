"""Buckets of the simple bucket index: which one a key lives in, and the file ids that say so.

Pure kernels. Start at `BucketHash`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, InvalidInput
from pyhudi.hashing import java_hash, java_list_hash
from pyhudi.kernels.keys.parse import key_elements, split_plain_keys

__all__ = [
    "BucketHash",
    "are_buckets",
    "bucket_file_id",
    "bucket_number",
    "bucket_of",
    "common_divisor",
    "may_be_bucket",
]

_DIGITS = 8
_FEW = 10_000
"""Of a thousand million UUIDs two or three begin with a number below this one, in eight decimal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketHash:
    """The bucket index: Java's hash of the values of some of the key's fields.   Raises: as `bucket_of`."""

    hash_fields: tuple[str, ...]
    key_fields: tuple[str, ...]
    """The table's record key fields, to take `f1:v1,f2:v2` apart."""

    def place_of(self, keys: pa.Array | pa.ChunkedArray, places_count: int) -> npt.NDArray[np.int64]:
        """Return the bucket of each key in its partition."""
        buckets: npt.NDArray[np.int64] = (
            bucket_of(keys, self.hash_fields, self.key_fields, places_count).to_numpy().astype(np.int64)
        )
        return buckets


def bucket_of(
    keys: pa.Array | pa.ChunkedArray, hash_fields: Sequence[str], key_fields: Sequence[str], buckets_count: int
) -> pa.Array:
    """Return the bucket of every record key: Java's hash of the values of the hash fields, modulo the buckets.

    Shape:  n keys -> n int32 in [0, buckets_count).
    Nulls:  a null value inside a composite key counts as 0; a null key is refused.
    Raises: InvalidInput for a hash field that is no key field, a null key, or less than one bucket.
    Cost:   one pass over the bytes; about 1 µs a composite key if some value holds a comma.
    Spec:   format/files 9.1.
    """
    if buckets_count < 1:
        raise InvalidInput("there must be a bucket", buckets=buckets_count)
    return pa.array(_hashes(keys, hash_fields, key_fields) % np.int32(buckets_count), pa.int32())


def common_divisor(
    keys: pa.Array | pa.ChunkedArray, bucket: int, hash_fields: Sequence[str], key_fields: Sequence[str]
) -> int:
    """Return the greatest number of buckets under which all these keys lie in this bucket; 0 if any number would do.

    Of n keys it is the number they were written with, or a multiple of it with a chance of about 1 in 2 ** n.

    Raises: as `bucket_of`.
    Spec:   format/files 9.1.
    """
    return int(np.gcd.reduce(_hashes(keys, hash_fields, key_fields).astype(np.int64) - bucket))


def _hashes(
    keys: pa.Array | pa.ChunkedArray, hash_fields: Sequence[str], key_fields: Sequence[str]
) -> npt.NDArray[np.int32]:
    """Hash the values of the hash fields of every key, as a number that is not negative."""
    unknown = [field for field in hash_fields if field not in key_fields]
    if unknown:
        raise InvalidInput(
            "bucket hash fields must be record key fields", fields=", ".join(unknown), key=", ".join(key_fields)
        )
    if keys.null_count:
        raise InvalidInput("a null record key has no bucket", count=keys.null_count)
    column = keys if isinstance(keys, pa.ChunkedArray) else pa.chunked_array([keys])
    array = column.cast(pa.string()).combine_chunks()
    wanted = [i for i, field in enumerate(key_fields) if not hash_fields or field in hash_fields]
    plain = split_plain_keys(array, key_fields) if len(key_fields) > 1 else None
    hashes = java_list_hash([plain[i] for i in wanted]) if plain else _hash_elements(array, hash_fields or key_fields)
    return hashes & np.int32(0x7FFFFFFF)


def bucket_file_id(bucket: int, uuid: UUID | str) -> str:
    """Return the file id of a bucket's file group; the bucket's number takes the place of the first digits of a UUID.

    Bytes:  id = bucket:8 decimal digits, uuid:28 characters behind its first 8, "-0"
    Raises: InvalidInput for a number that 8 digits do not hold.
    Spec:   format/files 9.1.
    """
    if not 0 <= bucket < 10**_DIGITS:
        raise InvalidInput("bucket number must have at most 8 digits", bucket=bucket)
    return f"{bucket:0{_DIGITS}}{str(uuid)[_DIGITS:]}-0"


def bucket_number(file_id: str) -> int:
    """Read the bucket from a file id.

    Raises: CorruptData for a file id that no bucket index made.
    Spec:   format/files 9.1.
    """
    digits = file_id[:_DIGITS]
    if len(digits) != _DIGITS or not (digits.isascii() and digits.isdecimal()):
        raise CorruptData("file id does not begin with a bucket number; the table is not bucketed", file_id=file_id)
    return int(digits)


def are_buckets(file_ids: Collection[str]) -> bool:
    """Return whether the bucket index made these file groups: all begin with a number, and one with a small one.

    Spec:   format/files 9.1.
    """
    heads = [file_id[:_DIGITS] for file_id in file_ids]
    return bool(heads) and all(map(may_be_bucket, heads)) and min(map(int, heads)) < _FEW


def may_be_bucket(file_id: str) -> bool:
    """Return whether the bucket index may have made a file group, by its number: one UUID of 43 begins so as well.

    Spec:   format/files 9.1.
    """
    head = file_id[:_DIGITS]
    return len(head) == _DIGITS and head.isascii() and head.isdecimal()


def _hash_elements(keys: pa.Array, fields: Sequence[str]) -> npt.NDArray[np.int32]:
    """Hash the values found in every key as a Java list, however many each has."""
    composite = pc.any(pc.and_(pc.match_substring(keys, ","), pc.match_substring(keys, ":")))
    if not composite.equals(pa.scalar(True)):
        return java_list_hash([keys])
    lists = key_elements(keys, fields)
    sizes = pc.list_value_length(lists).to_numpy()
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    elements = java_hash(lists.flatten()).view(np.uint32)
    state = np.ones(len(lists), np.uint32)
    for position in range(int(sizes.max())):
        has = sizes > position
        state[has] = state[has] * np.uint32(31) + elements[starts[has] + position]
    return state.view(np.int32)

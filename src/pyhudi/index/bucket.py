"""BUCKET: the hash of a key names its file group, and nothing is looked up.   Spec: format/files 9.1."""

from collections.abc import Sequence
from typing import Final

from pyhudi.index.api import Hashing, Index, IndexKind, Place
from pyhudi.kernels.bucket import BucketHash
from pyhudi.options import Settings, between, option
from pyhudi.state.config import names_of

__all__ = ["BUCKET", "BUCKETS", "BUCKET_FIELDS", "BUCKET_KIND", "hashing_of"]

BUCKET: Final = "BUCKET"
BUCKETS: Final = option(
    "hoodie.bucket.index.num.buckets",
    256,
    "BUCKET: file groups a partition. Kept in the table's properties.",
    parse=between(1, 99_999_999),
)
BUCKET_FIELDS: Final = option(
    "hoodie.bucket.index.hash.field",
    "",
    "BUCKET: record key fields that are hashed; empty: all of them. Kept in the table's properties.",
)


def _bucket(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the index whose buckets options name."""
    return Index(name=BUCKET, place=Place.BUCKET, hashing=hashing_of(settings, key_fields), begins_with_log=True)


def hashing_of(settings: Settings, key_fields: Sequence[str]) -> Hashing:
    """Return the buckets that options name, whatever the index."""
    return Hashing(
        buckets_count=settings.get(BUCKETS),
        key_hash=BucketHash(
            hash_fields=names_of(settings.get(BUCKET_FIELDS)) or tuple(key_fields), key_fields=tuple(key_fields)
        ),
    )


BUCKET_KIND: Final = IndexKind(types={BUCKET: _bucket})

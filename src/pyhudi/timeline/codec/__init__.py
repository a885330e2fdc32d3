"""Instants' contents to bytes and back.

`commit` is for commits and replacecommits, `cleaning` for cleans, `plans` for everything else.
"""

from pyhudi.timeline.codec.cleaning import (
    decode_clean_metadata,
    decode_clean_plan,
    encode_clean_metadata,
    encode_clean_plan,
)
from pyhudi.timeline.codec.commit import NONCE_KEY, decode_commit, encode_commit
from pyhudi.timeline.codec.plans import (
    decode_plan,
    decode_rollback_metadata,
    decode_rollback_plan,
    encode_requested_replace,
    encode_rollback_metadata,
    encode_rollback_plan,
    is_clustering_plan,
)

__all__ = [
    "NONCE_KEY",
    "decode_clean_metadata",
    "decode_clean_plan",
    "decode_commit",
    "decode_plan",
    "decode_rollback_metadata",
    "decode_rollback_plan",
    "encode_clean_metadata",
    "encode_clean_plan",
    "encode_commit",
    "encode_requested_replace",
    "encode_rollback_metadata",
    "encode_rollback_plan",
    "is_clustering_plan",
]

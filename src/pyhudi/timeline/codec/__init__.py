"""Instants' contents to bytes and back.

`commit` is for commits and replacecommits, `cleaning` for cleans, `restore` for savepoints and restores, `plans` for
everything else.
"""

from pyhudi.timeline.codec.cleaning import (
    decode_clean_metadata,
    decode_clean_plan,
    encode_clean_metadata,
    encode_clean_plan,
)
from pyhudi.timeline.codec.clustering import (
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
    decode_clustering_plan,
    encode_clustering_plan,
)
from pyhudi.timeline.codec.commit import NONCE_KEY, decode_commit, encode_commit, encode_profile
from pyhudi.timeline.codec.compaction import CompactionOperation, decode_compaction_plan, encode_compaction_plan
from pyhudi.timeline.codec.indexing import (
    IndexedPartition,
    IndexingPlan,
    decode_indexing_plan,
    encode_indexing_metadata,
    encode_indexing_plan,
)
from pyhudi.timeline.codec.plans import (
    decode_plan,
    decode_rollback_metadata,
    decode_rollback_plan,
    encode_requested_replace,
    encode_rollback_metadata,
    encode_rollback_plan,
    is_clustering_plan,
)
from pyhudi.timeline.codec.restore import (
    decode_restore_metadata,
    decode_restore_plan,
    decode_savepoint,
    encode_restore_metadata,
    encode_restore_plan,
    encode_savepoint,
)

__all__ = [
    "NONCE_KEY",
    "ClusteringGroup",
    "ClusteringPlan",
    "ClusteringSlice",
    "CompactionOperation",
    "IndexedPartition",
    "IndexingPlan",
    "decode_clean_metadata",
    "decode_clean_plan",
    "decode_clustering_plan",
    "decode_commit",
    "decode_compaction_plan",
    "decode_indexing_plan",
    "decode_plan",
    "decode_restore_metadata",
    "decode_restore_plan",
    "decode_rollback_metadata",
    "decode_rollback_plan",
    "decode_savepoint",
    "encode_clean_metadata",
    "encode_clean_plan",
    "encode_clustering_plan",
    "encode_commit",
    "encode_compaction_plan",
    "encode_indexing_metadata",
    "encode_indexing_plan",
    "encode_profile",
    "encode_requested_replace",
    "encode_restore_metadata",
    "encode_restore_plan",
    "encode_rollback_metadata",
    "encode_rollback_plan",
    "encode_savepoint",
    "is_clustering_plan",
]

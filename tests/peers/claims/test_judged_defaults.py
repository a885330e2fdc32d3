"""What Apache Hudi does where nothing is said: the defaults of its options, as its classes have them."""

import pytest
from tests.peers.crafted import SIDES
from tests.peers.peer import NEWEST, PeerError

RELEASES = list(dict.fromkeys(release for release, _ in SIDES))
_CONFIG, _COMMON = "org.apache.hudi.config.Hoodie", "org.apache.hudi.common.config.Hoodie"
EVERYWHERE = {
    f"{_COMMON}StorageConfig.LOGFILE_MAX_SIZE": 1 << 30,
    f"{_COMMON}StorageConfig.LOGFILE_DATA_BLOCK_MAX_SIZE": 256 << 20,
    f"{_COMMON}StorageConfig.LOGFILE_DATA_BLOCK_FORMAT": None,
    f"{_COMMON}StorageConfig.BLOOM_FILTER_DYNAMIC_MAX_ENTRIES": 100_000,
    f"{_COMMON}StorageConfig.HFILE_BLOCK_SIZE": 1 << 20,
    f"{_COMMON}CommonConfig.INCREMENTAL_READ_HANDLE_HOLLOW_COMMIT": "FAIL",
    "org.apache.hudi.common.table.HoodieTableConfig.CDC_SUPPLEMENTAL_LOGGING_MODE": "DATA_BEFORE_AFTER",
    f"{_CONFIG}WriteConfig.ALLOW_OPERATION_METADATA_FIELD": False,
    f"{_CONFIG}WriteConfig.MARKERS_TIMELINE_SERVER_BASED_BATCH_NUM_THREADS": 20,
    f"{_CONFIG}WriteConfig.MARKERS_TIMELINE_SERVER_BASED_BATCH_INTERVAL_MS": 50,
    f"{_CONFIG}IndexConfig.BLOOM_INDEX_UPDATE_PARTITION_PATH_ENABLE": "true",
    f"{_CONFIG}IndexConfig.SIMPLE_INDEX_UPDATE_PARTITION_PATH_ENABLE": "true",
    f"{_CONFIG}IndexConfig.RECORD_INDEX_UPDATE_PARTITION_PATH_ENABLE": "false",
    f"{_CONFIG}IndexConfig.BUCKET_INDEX_NUM_BUCKETS": 256,
    f"{_CONFIG}CompactionConfig.INLINE_COMPACT_NUM_DELTA_COMMITS": 5,
    f"{_CONFIG}CompactionConfig.INLINE_COMPACT_TIME_DELTA_SECONDS": 3600,
    f"{_CONFIG}CompactionConfig.TARGET_IO_PER_COMPACTION_IN_MB": 500 * 1024,
    f"{_CONFIG}CompactionConfig.LOG_COMPACTION_BLOCKS_THRESHOLD": 5,
    f"{_CONFIG}ClusteringConfig.PLAN_STRATEGY_SMALL_FILE_LIMIT": 300 << 20,
    f"{_CONFIG}ClusteringConfig.PLAN_STRATEGY_TARGET_FILE_MAX_BYTES": 1 << 30,
    f"{_CONFIG}ClusteringConfig.PLAN_STRATEGY_MAX_BYTES_PER_OUTPUT_FILEGROUP": 2 << 30,
    f"{_CONFIG}ClusteringConfig.PLAN_STRATEGY_MAX_GROUPS": 30,
    f"{_CONFIG}ClusteringConfig.PLAN_PARTITION_FILTER_MODE_NAME": "NONE",
    f"{_CONFIG}ClusteringConfig.INLINE_CLUSTERING_MAX_COMMITS": 4,
    f"{_CONFIG}ClusteringConfig.ASYNC_CLUSTERING_MAX_COMMITS": 4,
    f"{_CONFIG}ArchivalConfig.MIN_COMMITS_TO_KEEP": 20,
    f"{_CONFIG}ArchivalConfig.MAX_COMMITS_TO_KEEP": 30,
    f"{_CONFIG}CleanConfig.CLEANER_COMMITS_RETAINED": 10,
    f"{_CONFIG}CleanConfig.FAILED_WRITES_CLEANER_POLICY": "EAGER",
    f"{_CONFIG}LockConfig.LOCK_ACQUIRE_NUM_RETRIES": 15,
    f"{_CONFIG}LockConfig.LOCK_ACQUIRE_RETRY_WAIT_TIME_IN_MILLIS": 1000,
    f"{_CONFIG}LockConfig.LOCK_ACQUIRE_CLIENT_NUM_RETRIES": 50,
    f"{_CONFIG}LockConfig.LOCK_ACQUIRE_CLIENT_RETRY_WAIT_TIME_IN_MILLIS": 5000,
    f"{_CONFIG}LockConfig.LOCK_ACQUIRE_WAIT_TIMEOUT_MS": 60_000,
    f"{_CONFIG}LockConfig.FILESYSTEM_LOCK_EXPIRE": 0,
}
SINCE = {
    f"{_CONFIG}WriteConfig.WRITE_RECORD_POSITIONS": (True, "1.0.2"),
    f"{_COMMON}TimeGeneratorConfig.MAX_EXPECTED_CLOCK_SKEW_MS": (200, "1.0.2"),
    f"{_CONFIG}ArchivalConfig.TIMELINE_COMPACTION_BATCH_SIZE": (10, "1.0.2"),
    f"{_CONFIG}ArchivalConfig.TIMELINE_COMPACTION_TARGET_FILE_MAX_BYTES": (1000 << 20, NEWEST),
}
"""Defaults that came with a release."""

pytestmark = pytest.mark.parametrize("hudi", RELEASES, indirect=True, scope="session")


def test_defaults_are_these(hudi):
    found = {option: hudi.default(option) for option in EVERYWHERE}
    assert found == {option: text if text is None else str(text) for option, text in EVERYWHERE.items()}


def test_defaults_came_with_these_releases(hudi):
    for option, (value, release) in SINCE.items():
        if RELEASES.index(hudi.release) <= RELEASES.index(release):
            assert hudi.default(option) == str(value)
        else:
            with pytest.raises(PeerError):
                hudi.default(option)

"""What a commit says of each file that was written, with the literals that real files have. Start at `stats_of`.

Spec: format/timeline 3.2.
"""

from collections import defaultdict
from collections.abc import Sequence

from pyhudi.filegroup.write_task import WriteStatus
from pyhudi.timeline.metadata import WriteStat

__all__ = ["stat_of", "stats_of"]


def stats_of(written: Sequence[WriteStatus]) -> dict[str, tuple[WriteStat, ...]]:
    """Return the stats of files by their partition."""
    stats: dict[str, list[WriteStat]] = defaultdict(list)
    for status in written:
        stats[status.partition].append(stat_of(status))
    return {partition: tuple(found) for partition, found in stats.items()}


def stat_of(status: WriteStatus) -> WriteStat:
    """Fill a write's stat with the literals real files have.   Spec: format/timeline 3.2."""
    is_log = bool(status.log_version)
    is_created = status.previous_instant == "null"
    return WriteStat(
        file_id=status.file_id,
        path=status.path,
        prev_commit=status.previous_instant,
        num_writes=status.rows_count,
        num_deletes=status.deletes_count,
        num_update_writes=status.updates_count,
        num_inserts=status.inserts_count,
        total_write_bytes=status.size_bytes,
        partition_path=status.partition,
        file_size_in_bytes=status.size_bytes,
        prev_base_file=None if is_log else status.previous_name or None,
        base_file=status.previous_name if is_log else None,
        log_files=status.log_files if is_log else None,
        log_version=status.log_version if is_log else None,
        log_offset=0 if is_log else None,
        scan_time_ms=0,
        upsert_time_ms=0 if is_created else status.write_ms,
        create_time_ms=status.write_ms if is_created else 0,
    )

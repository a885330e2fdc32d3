from pyhudi.filegroup.write_task import WriteStatus
from pyhudi.tasks.write_stats import stat_of
from pyhudi.timeline.metadata import WriteStat


def test_a_log_files_stat_is_apache_hudis():
    log = WriteStatus(
        partition="p",
        file_id="f-0",
        path="p/.f-0_2.log.1_0-0-0",
        previous_instant="2",
        previous_name="",
        log_version=1,
        log_files=(".f-0_2.log.1_0-0-0",),
        rows_count=1,
        updates_count=1,
        size_bytes=975,
        write_ms=25,
    )
    assert stat_of(log) == WriteStat(
        file_id="f-0",
        path="p/.f-0_2.log.1_0-0-0",
        prev_commit="2",
        num_writes=1,
        num_update_writes=1,
        total_write_bytes=975,
        partition_path="p",
        file_size_in_bytes=975,
        base_file="",
        log_files=(".f-0_2.log.1_0-0-0",),
        log_version=1,
        log_offset=0,
        scan_time_ms=0,
        upsert_time_ms=25,
        create_time_ms=0,
    )

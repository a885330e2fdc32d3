import logging

import pytest
from tests.building import TableBuilder, trip
from tests.queries.cleaning import put_instant

from pyhudi.filegroup.model import BaseFile, FileGroupId, FileSlice, LogFile
from pyhudi.options import Settings
from pyhudi.services.compact.plan import operation_of, plan_compaction
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import Action, State

MB = 1024 * 1024
GROUP = FileGroupId(partition="p", file_id="f")


def log(number, size_bytes):
    return LogFile(
        partition="p", file_id="f", instant=str(number), version=1, write_token="", suffix="", size_bytes=size_bytes
    )


def slice_of(base_bytes, *log_bytes):
    base = None
    if base_bytes is not None:
        base = BaseFile(
            partition="p", file_id="f", write_token="0", instant="1", extension=".parquet", size_bytes=base_bytes
        )
    logs = tuple(log(number, one) for number, one in enumerate(log_bytes, 2))
    return FileSlice(group=GROUP, base_instant="1", base=base, logs=logs)


@pytest.mark.parametrize(
    ("one", "base", "read_mb", "write_mb"),
    [
        (slice_of(3 * MB - 1, 1, 2), "f_0_1.parquet", 3, 2),
        (slice_of(3 * MB, MB, MB // 2), "f_0_1.parquet", 4, 3),
        (slice_of(None, MB, MB), None, 2, 120),
    ],
)
def test_an_operation_says_what_is_read_and_written_in_whole_megabytes(one, base, read_mb, write_mb):
    found = operation_of(one, 120 * MB)
    assert (found.base, found.logs) == (base, (".f_2.log.1", ".f_3.log.1"))
    assert found.metrics == {
        "TOTAL_LOG_FILES": 2,
        "TOTAL_LOG_FILES_SIZE": sum(file.size_bytes for file in one.logs),
        "TOTAL_IO_READ_MB": read_mb,
        "TOTAL_IO_WRITE_MB": write_mb,
        "TOTAL_IO_MB": read_mb + write_mb,
    }


@pytest.mark.parametrize(("version", "waits"), [(6, True), (8, False), (9, False)])
def test_only_version_6_waits_for_a_pending_delta_commit(version, waits, caplog):
    table = TableBuilder().create(version=version)
    table.upsert([trip("k")])
    time = "20991231000000000"
    put_instant(table.state, time, Action.DELTACOMMIT, progress=State.REQUESTED)
    with caplog.at_level(logging.WARNING):
        assert plan_compaction(table.state, load_timeline(table.state), Settings.of({})) == ()
    assert (time in caplog.text) is waits

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.file_names import base_file_name, log_file_name

from pyhudi.errors import Unsupported
from pyhudi.filegroup.file_index import FILES
from pyhudi.filegroup.model import BaseFile, LogFile
from pyhudi.filegroup.name_columns import BASES, LOGS, base_files, log_files
from pyhudi.filegroup.names import parse_file
from pyhudi.storage.api import FileStatus

_texts = st.text("ab01-._\n٣", max_size=4)
_endings = st.sampled_from([".parquet", ".orc", ".hfile", ".lance", ".parquet\n", ".csv", "parquet", ""])
_logs = st.builds(
    log_file_name, _texts, _texts, st.integers(0, 10**19), _texts | st.just("1-0-1"), st.sampled_from(["", ".cdc", "x"])
)
_names = st.builds(base_file_name, _texts, _texts, _texts, _endings) | _logs | _texts


def listed(names: list[str]) -> pa.Table:
    return pa.table([["p"] * len(names), names, list(range(len(names)))], schema=FILES)


@given(st.lists(_names))
def test_names_are_read_as_columns_as_they_are_one_by_one(names):
    parsed = [parse_file("p", FileStatus(path=name, size_bytes=at, modified_ms=0)) for at, name in enumerate(names)]
    bases, logs = base_files(listed(names)), log_files(listed(names))
    assert (bases.schema, logs.schema) == (BASES, LOGS)
    assert bases.sort_by("size_bytes").to_pylist() == [
        {"partition": "p", "name": names[at], "size_bytes": at}
        | {"file_id": one.file_id, "token": one.write_token, "time": one.instant}
        for at, one in enumerate(parsed)
        if isinstance(one, BaseFile)
    ]
    assert logs.to_pylist() == [
        {"partition": "p", "name": names[at], "size_bytes": at}
        | {"file_id": one.file_id, "token": one.write_token, "time": one.instant, "version": one.version}
        for at, one in enumerate(parsed)
        if isinstance(one, LogFile) and not one.suffix
    ]


def test_native_logs_are_refused():
    with pytest.raises(Unsupported):
        base_files(listed(["a-0_0-0-0_1.parquet", "a-0_0-0-0_20250101000000000_1.log.parquet"]))

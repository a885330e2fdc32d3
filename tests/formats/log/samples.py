"""Log files of golden tables, read from the packed tables; and a file in memory that counts what is read of it."""

import tarfile
from functools import cache

from tests.golden.catalogue import kept_tables

TABLES = (
    "mor_logs-v9",
    "mor_late-v9",
    "mor_parquet_blocks-v8",
    "mor_hfile_blocks-v6",
    "mor_cdc_data_before_after-v9",
    "mor_rolled_back-v6",
    "cow_secondary_index-v8",
)


@cache
def golden_logs(name):
    """Return the log files of a table and its metadata table: path -> bytes."""
    golden = next(one for one in kept_tables() if one.name == name)
    with tarfile.open(golden.archive) as packed:
        members = [one for one in packed if one.isfile() and ".log." in one.name and "/.temp/" not in one.name]
        return {one.name: packed.extractfile(one).read() for one in members}


@cache
def samples():
    """Return two log files each of a few tables that have all kinds of blocks."""
    found = []
    for name in TABLES:
        logs = golden_logs(name)
        found += [logs[path] for path in sorted(logs, key=lambda path: len(logs[path]))[:: max(len(logs) - 1, 1)]]
    return found


class Counted:
    """A file in memory: what was read of it, and in how many requests."""

    def __init__(self, data):
        self.data, self.requests, self.bytes_read = data, 0, 0

    def __call__(self, offset, length):
        assert 0 <= offset < offset + length <= len(self.data)
        self.requests += 1
        self.bytes_read += length
        return self.data[offset : offset + length]

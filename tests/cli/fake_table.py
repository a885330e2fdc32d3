"""A small stand-in for a Table: the commands are tested without writing one."""

from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
from tests.fixed_env import FixedEnv

from pyhudi.errors import ExpressionError
from pyhudi.storage.memory import MemoryStorage

ROWS = pa.table({"id": ["a", "b", "c"], "fare": [1.0, 2.5, None], "raw": [b"\x01", b"\x02", None]})


class FakeScan:
    def __init__(self, columns, filter, limit, **asked):
        if filter == "broken":
            raise ExpressionError("expression does not parse", text=filter)
        self.asked = {"columns": columns, "filter": filter, "limit": limit, **asked}
        self.rows = (ROWS.select(columns) if columns else ROWS).slice(0, limit)

    def to_arrow(self):
        return self.rows


class FakeTable:
    def __init__(self):
        self.config = SimpleNamespace(
            name="trips",
            table_type="COPY_ON_WRITE",
            table_version=9,
            record_key=("id",),
            partition_fields=(),
            ordering_fields=(),
            merge_mode="COMMIT_TIME_ORDERING",
            lock={},
            properties={},
        )
        self.schema = ROWS.schema
        self.latest_instant = "20260101000000001"
        self.earliest_readable_instant = "20260101000000000"
        instants = pa.table({"requested_time": [f"2026010100000000{i}" for i in range(3)], "action": ["commit"] * 3})
        extra = pa.array([[("schema", "{}")]] * 3, pa.map_(pa.string(), pa.string()))
        files = pa.table({"path": ["x.parquet", "y.parquet"], "size_bytes": [10, 20]})
        self.inspect = SimpleNamespace(
            timeline=lambda: instants,
            commits=lambda: instants.append_column("extra_metadata", extra),
            files=lambda: files,
            pending=lambda: instants.slice(0, 0),
            partitions=lambda: pa.table({"partition": [""], "file_groups": [2], "size_bytes": [30]}),
        )
        self.state = SimpleNamespace(storage=MemoryStorage(), env=FixedEnv(), config=self.config)
        self.scans = []

    def scan(self, columns=None, filter=None, as_of=None, limit=None, meta=False):
        self.scans.append(FakeScan(columns, filter, limit, as_of=as_of, meta=meta))
        return self.scans[-1]

    def changes(self, columns=None, filter=None, limit=None, **asked):
        self.scans.append(FakeScan(columns, filter, limit, **asked))
        return self.scans[-1]

    def lookup(self, keys, by=None, columns=None, meta=False):
        self.looked_up = keys, columns, meta
        return ROWS.filter(pc.is_in(ROWS[by or "id"], pa.array(keys)))

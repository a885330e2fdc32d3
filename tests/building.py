"""Tables for tests, made through the real write path: history x layout x features.

`TableBuilder` makes tables in memory, on a fixed clock, for the local engine. Another engine's builder overrides
`rows`, `read` and `place` and runs the same tests.
"""

import itertools
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from tests.fixed_env import FixedEnv

from pyhudi.commit.call import WriteResult
from pyhudi.options import Settings
from pyhudi.schema.types import arrow_to_avro
from pyhudi.state.creation import new_table
from pyhudi.state.first_properties import new_properties
from pyhudi.state.layout import layout_of
from pyhudi.state.properties_file import create_state, open_state
from pyhudi.storage.api import Storage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.table import Table
from pyhudi.txn.fence import fence_declaration

TRIPS = pa.schema(
    [("uuid", pa.string()), ("ts", pa.int64()), ("rider", pa.string()), ("fare", pa.float64()), ("city", pa.string())]
)
SMALL_FILES = {"hoodie.parquet.max.file.size": 4000, "hoodie.copyonwrite.record.size.estimate": 400}
"""Ten rows a file, until the table has files to learn from."""
TINY_FILTERS = {"hoodie.index.bloom.num_entries": 20, "hoodie.bloom.index.filter.dynamic.max.entries": 40}
"""A bloom filter of the default size is larger than a test's rows."""

TIMELINE_LAYOUTS = {1: layout_of(6), 2: layout_of(9)}
"""A table version of each layout of the timeline."""

_names = itertools.count()


def trip(
    uuid: str, city: str = "sf", ts: int = 1, fare: float = 1.0, rider: str = "r", **more: object
) -> dict[str, Any]:
    """Make one row of TRIPS."""
    return {"uuid": uuid, "ts": ts, "rider": rider, "fare": fare, "city": city, **more}


def trips(*rows: Mapping[str, object], schema: pa.Schema = TRIPS) -> pa.Table:
    """Make an Arrow table of rows."""
    return pa.Table.from_pylist(list(rows), schema=schema)


class TableBuilder:
    """Makes tables on one engine."""

    name = "local"

    def __init__(self, table_type: str = "cow") -> None:
        self.env = FixedEnv()
        self.table_type = table_type

    def place(self) -> Storage:
        """Return the storage of a new table."""
        return MemoryStorage(env=self.env)

    def rows(self, records: Any) -> Any:
        """Turn an Arrow table, or rows as dicts, into what this engine takes."""
        return records

    def read(self, scan: Any) -> pa.Table:
        """Carry a scan out on this engine."""
        return scan.to_arrow()

    def create(
        self,
        schema: pa.Schema = TRIPS,
        *,
        version: int = 9,
        storage: Storage | None = None,
        options: Mapping[str, object] | None = None,
        **said: Any,
    ) -> Table:
        """Create a table; key `uuid`, partition `city`, ordering `ts` where nothing else is said."""
        usual = {"name": "trips", "record_key": ["uuid"], "partition_by": ["city"], "ordering": ["ts"]}
        asked = {**usual, "table_type": self.table_type, **said}
        avro = arrow_to_avro(schema, "trips_record", "hoodie.trips", null_first=False)
        new = new_table(
            Settings.of(options or {}),
            columns=schema.names,
            create_schema=json.dumps(avro),
            table_version=version,
            **asked,
        )
        properties = new_properties(new) | fence_declaration(Settings.of(options or {}))
        return Table(create_state(storage or self.place(), self.env, properties))

    def reopen(self, table: Table, storage: Storage | None = None) -> Table:
        """Open a table anew, through another storage if one is given."""
        return Table(open_state(storage or table.state.storage, self.env))

    def rows_of(self, table: Table, *columns: str, meta: bool = False, **scan: Any) -> list[tuple[Any, ...]]:
        """Read rows as tuples, sorted."""
        return sorted_rows(self.read(table.scan(list(columns) or None, meta=meta, **scan)))


def sorted_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return rows as tuples, sorted whatever their types."""
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def column(table: Table, name: str, **scan: Any) -> list[Any]:
    """Return one column's values, sorted."""
    return sorted(table.scan([name], **scan).to_arrow()[name].to_pylist())


def listing(table: Table) -> dict[str, bytes]:
    """Return every file of a table with its content, but for the empty ones that processes lock."""
    storage = table.state.storage
    return {status.path: storage.get(status.path) for status in storage.list("") if "/.locks/" not in status.path}


def counts(result: WriteResult) -> tuple[int, int, int]:
    """Return what a write says it did."""
    return result.inserted, result.updated, result.deleted


def rows_by_key(table: Table, **scan: Any) -> dict[str, list[float]]:
    """Return the fares of each key's rows."""
    found: dict[str, list[float]] = {}
    for row in table.scan(["uuid", "fare"], **scan).to_arrow().sort_by("uuid").to_pylist():
        found.setdefault(row["uuid"], []).append(row["fare"])
    return found

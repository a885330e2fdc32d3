"""Tables for tests, made through the real write path: history x layout x features.

`TableBuilder` makes tables in memory, on a fixed clock, for the local engine. Another engine's builder overrides
`rows`, `read` and `place` and runs the same tests.
"""

import itertools
import json

import pyarrow as pa
from tests.fixed_env import FixedEnv

from pyhudi.options import Settings
from pyhudi.schema.types import arrow_to_avro
from pyhudi.state.creation import new_table
from pyhudi.state.first_properties import new_properties
from pyhudi.state.properties_file import create_state, open_state
from pyhudi.storage.memory import MemoryStorage
from pyhudi.table import Table

TRIPS = pa.schema(
    [("uuid", pa.string()), ("ts", pa.int64()), ("rider", pa.string()), ("fare", pa.float64()), ("city", pa.string())]
)
SMALL_FILES = {"hoodie.parquet.max.file.size": 4000, "hoodie.copyonwrite.record.size.estimate": 400}
"""Ten rows a file, until the table has files to learn from."""
TINY_FILTERS = {"hoodie.index.bloom.num_entries": 20, "hoodie.bloom.index.filter.dynamic.max.entries": 40}
"""A bloom filter of the default size is larger than a test's rows."""

_names = itertools.count()


def trip(uuid, city="sf", ts=1, fare=1.0, rider="r", **more):
    """Make one row of TRIPS."""
    return {"uuid": uuid, "ts": ts, "rider": rider, "fare": fare, "city": city, **more}


def trips(*rows, schema=TRIPS):
    """Make an Arrow table of rows."""
    return pa.Table.from_pylist(list(rows), schema=schema)


class TableBuilder:
    """Makes tables on one engine."""

    name = "local"

    def __init__(self):
        self.env = FixedEnv()

    def place(self):
        """Give the storage of a new table."""
        return MemoryStorage(env=self.env)

    def rows(self, records):
        """Turn an Arrow table, or rows as dicts, into what this engine takes."""
        return records

    def read(self, scan):
        """Carry a scan out on this engine."""
        return scan.to_arrow()

    def create(self, schema=TRIPS, *, version=9, storage=None, options=None, **said):
        """Create a table; key `uuid`, partition `city`, ordering `ts` where nothing else is said."""
        asked = {"name": "trips", "record_key": ["uuid"], "partition_by": ["city"], "ordering": ["ts"], **said}
        avro = arrow_to_avro(schema, "trips_record", "hoodie.trips", null_first=False)
        new = new_table(
            Settings.of(options or {}),
            columns=schema.names,
            create_schema=json.dumps(avro),
            table_version=version,
            **asked,
        )
        return Table(create_state(storage or self.place(), self.env, new_properties(new)))

    def reopen(self, table, storage=None):
        """Open a table anew, through another storage if one is given."""
        return Table(open_state(storage or table.state.storage, self.env))

    def rows_of(self, table, *columns, meta=False, **scan):
        """Read rows as tuples, sorted."""
        return sorted_rows(self.read(table.scan(list(columns) or None, meta=meta, **scan)))


def sorted_rows(table):
    """Give rows as tuples, sorted whatever their types."""
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def column(table, name, **scan):
    """Give one column's values, sorted."""
    return sorted(table.scan([name], **scan).to_arrow()[name].to_pylist())


def listing(table):
    """Give every file of a table with its content, but for the empty ones that processes lock."""
    storage = table.state.storage
    return {status.path: storage.get(status.path) for status in storage.list("") if "/.locks/" not in status.path}


def counts(result):
    """Give what a write says it did."""
    return result.inserted, result.updated, result.deleted

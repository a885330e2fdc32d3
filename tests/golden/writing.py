"""One upsert of ours into a copy of a golden table, and the rows it must then have. Start at `upsert_some`."""

import functools
import operator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from tests.golden.catalogue import Golden

from pyhudi.env import SystemEnv
from pyhudi.table import Table, open_table

__all__ = ["Later", "rows_of", "unpack_whole", "upsert_some"]

OPTIONS = {"hoodie.index.bloom.num_entries": 20}
CUSTOM = {
    "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyyMMdd",
    "hoodie.keygen.timebased.timezone": "UTC",
}
"""What a table of custom keys does not say of itself, and each write is told."""
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 2}
"""What a table of few keys does not say of its buckets."""
LEFT_BEHIND = {"cow_metadata_rolled_back"}
"""Their crash came after the markers were deleted, so that Apache Hudi's rollback left what no metadata table names."""
LATER = {"ts": 1000, "_event_lsn": 1000, "_event_seq": "99999.1", "_event_bin_file": "bin.999999", "_event_pos": 1}
"""Ordering values, of the columns that a table has, behind all that are stored."""
NEW = {"id": "written by ours", **LATER}


class Later(SystemEnv):
    """Two hours on, when a writer that crashed in these tables is taken for gone, however fresh the tables are."""

    def now_ms(self) -> int:
        return super().now_ms() + 7_200_000


def upsert_some(golden: Golden, path: Path) -> pa.Table:
    """Upsert a stored row and a new one, and give all rows that must be there then."""
    table = open_table(str(path), env=Later())
    stored = rows_of(table)
    made = _with_values(stored.slice(0, 1) if len(stored) else _first_row(stored.schema), **NEW)
    keys = table.config.record_key
    updated = _with_values(stored.slice(0, 1), **LATER) if len(stored) and keys else stored.slice(0, 0)
    given = pa.concat_tables([updated, made])
    table.upsert(given, options=_options(golden))
    if not len(updated):
        return pa.concat_tables([stored, given])
    same = functools.reduce(operator.and_, (pc.equal(stored[key], updated[key][0]).to_numpy() for key in keys))
    return pa.concat_tables([stored.filter(pa.array(~same)), given])


def unpack_whole(golden: Golden, folder: Path) -> Path:
    """Unpack a table, without files of a write that Apache Hudi rolled back by markers that were gone."""
    path = golden.unpack(folder)
    if golden.script.name in LEFT_BEHIND:
        known = {one.requested_time for one in open_table(str(path)).timeline.instants}
        strays = [one for one in path.glob("*/*.parquet") if one.stem.rpartition("_")[2] not in known]
        assert len(strays) == 1
        strays[0].unlink()
    return path


def rows_of(table: Table) -> pa.Table:
    """Read all rows, without meta columns."""
    return table.scan().to_arrow()


def _options(golden: Golden) -> dict[str, Any]:
    return OPTIONS | {"cow_custom": CUSTOM, "cow_bucket": BUCKETS, "mor_log_only": BUCKETS}.get(golden.script.name, {})


def _with_values(row: pa.Table, **values: object) -> pa.Table:
    """Replace some values of one row, in columns that it has."""
    for name, value in values.items():
        if name not in row.column_names:
            continue
        field = row.schema.field(name)
        row = row.set_column(row.schema.get_field_index(name), field, pa.array([value], field.type))
    return row


def _first_row(schema: pa.Schema) -> pa.Table:
    """Make up a row for a table that has none."""
    return _with_values(pa.Table.from_pylist([{}], schema=schema), city="sf")

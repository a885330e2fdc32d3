"""A table of Python values behind the calls the demo makes: slow, plain, and right unless told otherwise."""

import operator
from ast import literal_eval
from functools import reduce
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.demo.flights import KEY, SCHEMA


def as_expression(text):
    """Read comparisons with numbers, and texts without blanks, joined by `and`."""
    compare = {"=": operator.eq, "<": operator.lt, ">": operator.gt}
    terms = [term.split() for term in text.split(" and ")]
    return reduce(operator.and_, (compare[sign](pc.field(name), literal_eval(value)) for name, sign, value in terms))


class FakeScan:
    def __init__(self, rows, columns):
        self._rows = pa.Table.from_pylist(rows, schema=SCHEMA).select(columns or SCHEMA.names)

    def to_arrow(self):
        return self._rows

    def count(self):
        return self._rows.num_rows

    def explain(self):
        return "all of it is read"


class FakeTable:
    """Keeps every version as {key: row}, and the keys each commit touched."""

    def __init__(self, path, forgets_deletes=False):
        self.state = SimpleNamespace(storage=SimpleNamespace(url=path))
        self._versions = [("0", {}, set())]
        self._forgets_deletes = forgets_deletes
        self._compacted = 1

    def _commit(self, rows, touched, **counts):
        instant = f"{len(self._versions):017d}"
        self._versions.append((instant, rows, touched))
        zero = {"inserted": 0, "updated": 0, "deleted": 0}
        return SimpleNamespace(instant=instant, phases={"write": 0.25, "commit": 0.5}, **(zero | counts))

    def upsert(self, records, options=None):
        now = dict(self._versions[-1][1])
        given = {tuple(row[name] for name in KEY): row for row in records.to_pylist()}
        updated = len(given.keys() & now.keys())
        return self._commit(now | given, set(given), inserted=len(given) - updated, updated=updated)

    insert = upsert

    def delete(self, records, options=None):
        gone = {tuple(row[name] for name in KEY) for row in records.to_pylist()}
        now = self._versions[-1][1]
        kept = now if self._forgets_deletes else {key: row for key, row in now.items() if key not in gone}
        return self._commit(kept, set(), deleted=len(now) - len(kept))

    def scan(self, columns=None, filter=None, as_of=None, mode="snapshot"):
        seen = self._versions if mode == "snapshot" else self._versions[: self._compacted + 1]
        version = next(rows for instant, rows, _ in reversed(seen) if as_of is None or instant <= as_of)
        rows = list(version.values())
        if filter:
            rows = pa.Table.from_pylist(rows, schema=SCHEMA).filter(as_expression(filter)).to_pylist()
        return FakeScan(rows, columns)

    @property
    def latest_instant(self):
        return self._versions[-1][0]

    def create_index(self, kind, column=None):
        assert (kind, column) in {("record_index", None), ("secondary", "tailnum")}

    def lookup(self, keys):
        rows = self._versions[-1][1]
        found = [rows[key] for one in keys if (key := tuple(one[name] for name in KEY)) in rows]
        return pa.Table.from_pylist(found, schema=SCHEMA)

    def cluster(self, order_by, layout, options=None, spark=None):
        return f"in the order of {', '.join(order_by)}"

    def compact(self, dry_run=False):
        if not dry_run:
            self._compacted = len(self._versions) - 1
        return "one file group"

    def clean(self, dry_run=False):
        return SimpleNamespace(files=("old.parquet",), bytes=7)

    def changes(self, after):
        now = self._versions[-1][1]
        keys = set().union(*(touched for instant, _, touched in self._versions if instant > after))
        return FakeScan([row for key, row in now.items() if key in keys], None)

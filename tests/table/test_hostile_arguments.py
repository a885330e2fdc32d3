"""Every public function with arguments that no caller should give: it works, or an error of ours says what is wrong."""

import datetime
import inspect
import itertools
import warnings
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.building import TRIPS, trip

import pyhudi
from pyhudi.actions.merge import MergeBuilder
from pyhudi.errors import HudiError, InternalError, InvalidInput
from pyhudi.kernels.keys import register_key_generator

HALF = "\ud800"
ON = "t.uuid = s.uuid and t.city = s.city"
KEYGEN = "hoodie.datasource.write.keygenerator.class"
_names = itertools.count()


class FailingStream:
    def __arrow_c_stream__(self, requested_schema=None):
        raise ValueError("a failure of the caller's own")


class NoStream:
    def __arrow_c_stream__(self, requested_schema=None):
        return 5


class FailingSchema:
    def __arrow_c_schema__(self):
        raise ValueError("a failure of the caller's own")


class FailingMapping(dict):
    def items(self):
        raise ValueError("a failure of the caller's own")


class FailingRepr:
    def __repr__(self):
        raise ValueError("a failure of the caller's own")


def failing():
    yield "uuid"
    raise RuntimeError("a failure of the caller's own")


def deep(wrap, depth=3_000):
    made = wrap(1)
    for _ in range(depth):
        made = wrap(made)
    return made


def row(**more):
    return {**trip("a"), **more}


def frame(**more):
    return pd.DataFrame([trip("a")]).assign(**more)


def rows(**more):
    return pa.table({name: value if isinstance(value, pa.Array) else [value] for name, value in row(**more).items()})


SCALARS = [
    None, True, 0, -1, 2**70, 10**4_400, 1.5, float("nan"), float("inf"), 1j, Decimal("NaN"), Decimal(1), b"",
    b"\xff", ...,
    object(), int, len, Path("x"), np.int64(1), np.float64("nan"), np.datetime64("2024"), np.array([1]), pd.NaT, pd.NA,
    datetime.datetime.min, datetime.datetime.max.replace(tzinfo=datetime.UTC), datetime.date.max, datetime.time(1),
    datetime.timedelta(1), FailingRepr(), pa.scalar(1), pa.int32(),
]  # fmt: skip
TEXTS = [
    "", " ", "x", HALF, "\0", "a\\b", "C:\\x", "s3:\\\\b", "'", "`", "uuid", "UUID", "fare", "fare > 1",
    "fare >", "nope = 1",
    "fare = 'x'", "cast(uuid as int) > 1", "fare / 0 > 1", "uuid like '\\'", "t.uuid = s.uuid", "1 = 1", "(" * 3_000,
    "not " * 5_000 + "true", f"uuid = '{HALF}'", "9" * 6_000 + " > fare", "fare > 1e400", "date '99999-01-01' > ts",
    "2024-01-01", "20260101000000000", "99999999999999999", "9999-12-31T23:59:59+14:00", "../x", "a/../b",
]  # fmt: skip
CONTAINERS = [
    [], [None], ["uuid"], ["uuid", "uuid"], [HALF], [b"x"], [["uuid"]], ("uuid", "=", "a"), {"uuid"}, {},
    {1: 2}, {HALF: "x"},
    {"rider": "bob"}, {"rider": "new york"}, {"rider": HALF}, {"rider": object()}, {"fare": Decimal("NaN")}, {"x": 1},
    {"a": 5}, {"a": None}, {"schema": "x"}, {"hoodie.index.type": object()}, {"hoodie.index.type": "nope"},
    {"hoodie.parquet.max.file.size": -1}, {"hoodie.parquet.max.file.size": 10**4_400}, {"hoodie.nope": 1},
    {"hoodie.index.bloom.fpp": 2}, {"hoodie.bulkinsert.user.defined.partitioner.sort.columns": "nope"},
    {"hoodie.payload.delete.field": "uuid", "hoodie.payload.delete.marker": "a"}, FailingMapping(x=1),
    deep(lambda it: [it]),
    deep(lambda it: {"x": it}, 500), [("uuid", "=", HALF)], [("uuid", "=", object())], [("uuid", "in", 5)],
    [("uuid", "in", [[1]])], [("uuid", "~", 1)], [("nope", "=", 1)], [("uuid",)], [[]], [[("uuid", "=", "a")], 5],
    pc.field("uuid") == "a", pc.field("nope") == 1, pc.field("fare") + 1, pc.field("ts") == "x",
]  # fmt: skip
RECORDS = [
    [row(rider=object())], [row(rider=HALF)], [row(**{HALF: 1})], [{1: 2}], [row(uuid=None)], [row(city="../x")],
    [row(city=HALF)], [row(city="a\\b")], [row(fare=2**80)], [row(x=deep(lambda it: [it], 500))], [row(x={})],
    [row(x=[])],
    [row(ts=1.5)], [row(x=1, X=2)], [row(), None], (row(),), iter([row()]), FailingStream(), FailingSchema(),
    NoStream(),
    pa.table({}), pa.table({"uuid": ["a"]}), pa.table([["a"], ["b"]], names=["uuid", "uuid"]), pa.array([1]),
    pa.chunked_array([[1]]), pa.schema([]), pa.schema([("a", pa.string()), ("a", pa.string())]),
    rows(_hoodie_record_key=5), rows(_pyhudi_order="x"), rows(_hoodie_is_deleted="x"), rows(_hoodie_operation=1),
    rows(**{"a b": 1}), rows(**{"": 1}), rows(t=pa.array([1], pa.time32("s"))), rows(d=pa.array([1],
    pa.decimal256(70, 2))),
    rows(u=pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])), rows(n=pa.nulls(1)),
    rows(uuid=pa.array([b"\xff"]).cast(pa.string(), safe=False)), rows(x=deep(lambda it: pa.nulls(1), 0)),
    pd.DataFrame(), frame(rider=object()), frame(rider=HALF), frame(**{HALF: 1}), frame(m=1j),
    frame(p=pd.Period("2024")),
    frame(i=pd.Interval(0, 1)), frame(fare=[[1, "x"]]), frame().uuid, pd.concat([frame(m=1), frame(m="x")]),
    pd.DataFrame([[1, 2]], columns=["uuid", "uuid"]), pd.DataFrame({1: [1]}),
]  # fmt: skip
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=4,
)
HOSTILE = st.sampled_from([*SCALARS, *TEXTS, *CONTAINERS, *RECORDS]) | JUNK


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Run in a directory of its own: a text is a path, and tables are made there."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def table():
    made = pyhudi.create_table("memory://hostile/table", TRIPS, record_key=["uuid"], partition_by=["city"])
    made.upsert([trip("a"), trip("b", "oslo")])
    return made


def fresh():
    return f"memory://hostile-{next(_names)}/table"


def create(**said):
    return pyhudi.create_table(**{"path": fresh(), "schema": TRIPS, **said})


def write_new(**said):
    return pyhudi.write_table(**{"path": fresh(), "records": [trip("a")], **said})


def generate(made):
    register_key_generator("hostile", lambda rows: made)
    return write_new(record_key=["uuid"], options={KEYGEN: "hostile"})


def read(scan):
    return scan.to_arrow(), scan.count(), scan.explain(), repr(scan), scan._repr_html_()


def clause(method, *given):
    return lambda table, it: getattr(table.merge([trip("a")], ON, dry_run=True), method)(*given, it).execute()


def setting(method, **said):
    return lambda table, it: getattr(table.merge([trip("a")], ON, dry_run=True), method)(
        {**said, "rider": it}
    ).execute()


def each(function, names, prefix="", **said):
    """Return a call for each of some arguments, beside good ones."""
    made = {}
    for name in names:
        made[f"{prefix or function} {name}"] = lambda t, it, n=name: (
            getattr(t, function)(**{**said, n: it})
            if hasattr(pyhudi.Table, function)
            else getattr(pyhudi, function)(**{"path": t.path, **said, n: it})
        )
    return made


KEYS = {"uuid": "s.uuid", "city": "s.city"}
WRITES = ("upsert", "insert", "bulk_insert", "insert_overwrite", "insert_overwrite_table")
PLACE = ("path", "storage_options")
CREATE = [name for name in inspect.signature(pyhudi.create_table).parameters if name != "env"]
SCAN = ("columns", "filter", "limit", "meta")
PLANNED = {"dry_run": True}


def pinned(table, **how):
    """Pin and let go."""
    with table.pin(**how):
        pass


CALLS = {
    **each("open_table", PLACE),
    **each("table_exists", PLACE),
    **each("pending", PLACE),
    "drop_table path": lambda t, it: pyhudi.drop_table(it, dry_run=True),
    **each("drop_table", ("storage_options", "missing_ok"), **PLANNED),
    "drop_table dry_run": lambda t, it: pyhudi.drop_table(create().path, dry_run=it),
    **each("locks", (*PLACE, "options")),
    **{f"create_table {name}": lambda t, it, n=name: create(**{n: it}) for name in CREATE},
    **{
        f"write_table {name}": lambda t, it, n=name: write_new(**{n: it})
        for name in inspect.signature(pyhudi.write_table).parameters
    },
    "register_key_generator name": lambda t, it: pyhudi.register_key_generator(it, len),
    "register_key_generator function": lambda t, it: pyhudi.register_key_generator("hostile", it),
    "what a key generator returns": lambda t, it: generate(it),
    "import_table": lambda t, it: pyhudi.import_table(it, it),
    "register_merger": lambda t, it: pyhudi.register_merger(it, it),
    **{f"{verb} records": lambda t, it, v=verb: getattr(t, v)(it, dry_run=True) for verb in WRITES},
    **{
        f"{verb} options": lambda t, it, v=verb: getattr(t, v)([trip("a")], options=it, dry_run=True) for verb in WRITES
    },
    **each("upsert", ("dry_run", "commit_metadata"), records=[trip("a")]),
    **each("insert", ("duplicates",), records=[trip("a")], dry_run=True),
    **each("delete", ("records", "keys", "where"), **PLANNED),
    **each("delete", ("options", "isolation", "commit_metadata"), keys=["none"]),
    **each("delete_partitions", ("partitions",), **PLANNED),
    **each("update", ("set",), **PLANNED),
    **each("update", ("where", "isolation"), set={"rider": "'x'"}),
    "update value": lambda t, it: t.update(set={"rider": it}),
    "update number": lambda t, it: t.update(set={"fare": it}),
    **{
        f"merge {name}": lambda t, it, n=name: (
            t.merge(**{"source": [trip("a")], "on": ON, **PLANNED, n: it})
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .execute()
        )
        for name in ("source", "on", "options")
    },
    "when_matched_update_all": clause("when_matched_update_all"),
    "when_matched_update set": clause("when_matched_update"),
    "when_matched_update value": setting("when_matched_update"),
    "when_matched_update condition": clause("when_matched_update", {"rider": "s.rider"}),
    "when_matched_delete": clause("when_matched_delete"),
    "when_not_matched_insert_all": clause("when_not_matched_insert_all"),
    "when_not_matched_insert values": clause("when_not_matched_insert"),
    "when_not_matched_insert value": setting("when_not_matched_insert", **KEYS),
    "when_not_matched_by_source_update set": clause("when_not_matched_by_source_update"),
    "when_not_matched_by_source_update value": setting("when_not_matched_by_source_update"),
    "when_not_matched_by_source_delete": clause("when_not_matched_by_source_delete"),
    **{f"scan {name}": lambda t, it, n=name: read(t.scan(**{n: it})) for name in (*SCAN, "as_of", "mode")},
    **{
        f"changes {name}": lambda t, it, n=name: read(t.changes(**{n: it}))
        for name in (*SCAN, "after", "until", "format", "options")
    },
    **each("lookup", ("keys",)),
    **each("lookup", ("columns", "meta", "as_of"), keys=["a"]),
    **each("rollback", ("instant",)),
    **each("rollback", ("options", "dry_run"), instant="20200101000000000"),
    **each("restore", ("instant",), dry_run=True),
    **each("restore", ("options", "dry_run"), instant="20190101000000000"),
    **each("savepoint", ("instant",), dry_run=True),
    **each("savepoint", ("comment", "options", "dry_run"), instant="20200101000000000"),
    **each("delete_savepoint", ("instant",), dry_run=True),
    **each("delete_savepoint", ("options", "dry_run"), instant="20200101000000000"),
    **each("add_columns", ("columns",), **PLANNED),
    **each("add_columns", ("options", "commit_metadata"), columns={"uuid": pa.string()}),
    **each("widen_columns", ("columns",), **PLANNED),
    **each("widen_columns", ("options", "commit_metadata"), columns={"uuid": pa.int32()}),
    "set_options kept": lambda t, it: create().set_options(it),
    "set_options value": lambda t, it: create().set_options({"hoodie.keep.max.commits": it}),
    "set_options options": lambda t, it: create().set_options({}, options=it),
    **each("clean", ("options", "dry_run"), schedule=False),
    **each("clean", ("schedule",)),
    **each("compact", ("options", "dry_run", "schedule")),
    **each("cluster", ("order_by", "layout", "options"), dry_run=True),
    **each("cluster", ("dry_run", "schedule")),
    **each("check", ("all_keys",)),
    **each("log_compact", ("options", "dry_run", "schedule")),
    **each("archive", ("options", "dry_run")),
    **each("repair", ("partition", "options", "dry_run")),
    **each("create_index", ("index",), dry_run=True),
    **each("create_index", ("column", "name", "expr", "kind"), index="expression", dry_run=True),
    **each("create_index", ("options", "dry_run", "schedule", "spark"), index="column_stats"),
    **each("drop_index", ("name",), dry_run=True),
    **each("drop_index", ("options", "dry_run"), name="column_stats"),
    **each("index", ("options", "spark")),
    **each("run_due_services", ("options",)),
    **{f"pin {name}": lambda t, it, n=name: pinned(t, **{n: it}) for name in ("as_of", "expires_in_s", "options")},
    "unchanged_since timeline": lambda t, it: t.unchanged_since(it).upsert([trip("a")], dry_run=True),
    **{
        f"sql {name}": lambda t, it, n=name: pyhudi.sql(**{"text": "select 1", n: it})
        for name in inspect.signature(pyhudi.sql).parameters
    },
    "resolve": lambda t, it: t.resolve(it),
    "history": lambda t, it: t.history(it),
    "commits": lambda t, it: t.inspect.commits(it),
    "head": lambda t, it: t.scan().head(it),
    "to_duckdb connection": lambda t, it: t.scan().to_duckdb(it, "view"),
    "to_duckdb name": lambda t, it: t.scan().to_duckdb(duckdb.connect(), it),
    "to_spark": lambda t, it: t.scan().to_spark(it),
}
"""By name, a call with one hostile argument. Those that could spoil the table are dry runs, or make their own."""


@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(it=HOSTILE)
def test_a_hostile_argument_is_an_error_of_ours(table, name, it):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            CALLS[name](table, it)
        except InternalError:
            raise
        except HudiError:
            return


def test_every_public_function_that_takes_an_argument_is_called():
    names = [name for name in pyhudi.__all__ if inspect.isfunction(getattr(pyhudi, name))]
    for kind in (pyhudi.Table, pyhudi.Scan, MergeBuilder):
        for name, one in inspect.getmembers(kind, inspect.isfunction):
            is_built = "NotBuilt: " not in (one.__doc__ or "")
            if not name.startswith("_") and is_built and len(inspect.signature(one).parameters) > 1:
                names.append(name)
    assert {name for name in names if not any(call.split()[0] == name for call in CALLS)} == set()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda t: t.scan(columns="uuid"), r"put brackets around it: \['uuid'\]"),
        (lambda t: t.scan(columns=["uuid", "uuid"]), "named twice"),
        (lambda t: t.scan(as_of=0), "a text, a datetime or a date"),
        (lambda t: t.update(set={"rider": "bob"}), "for a text, put it in quotes: 'bob'"),
        (lambda t: t.update(set={"rider": "new york"}), "quote it: \"'new york'\""),
        (lambda t: t.merge([trip("a")], on=["uuid"]).when_matched_delete().execute(), "an expression is a text"),
        (lambda t: t.upsert([trip("a")], commit_metadata={"run": 5}), "is a text; give str"),
        (lambda t: t.upsert([trip("a")], commit_metadata={"schema": "x"}), "another name"),
        (lambda t: t.upsert([trip("a")], options=["hoodie.index.type"]), "options is a mapping"),
        (lambda t: t.upsert([trip("a", "x\\y")]), "backslash.*urlencode"),
        (lambda t: t.lookup("a"), r"brackets around it: \['a'\]"),
        (lambda t: t.delete(keys=["\ud800"]), "surrogate"),
        (lambda t: t.upsert(frame(rider=object())), "cannot be read as Arrow"),
        (lambda t: create(table_version=9.0), "a whole number: 9, 8 or 6"),
        (lambda t: create(schema=frame()), "write_table"),
        (lambda t: create(path="s3:\\\\bucket\\table"), "slashes, not backslashes"),
        (lambda t: create(options={"hoodie.parquet.max.file.size": 0}), "from 1 to"),
        (lambda t: create(options={"hoodie.index.bloom.fpp": 1.5}), "from 1e-30 to 0.99"),
    ],
)  # fmt: skip
def test_an_error_says_what_to_do(table, call, said):
    with pytest.raises(InvalidInput, match=said):
        call(table)


def test_a_function_of_the_callers_that_fails_is_told_with_its_traceback():
    def no_keys(rows):
        raise LookupError("no keys today")

    register_key_generator("hostile", no_keys)
    with pytest.raises(InvalidInput, match="the key generator failed: LookupError: no keys today") as caught:
        write_new(record_key=["uuid"], options={KEYGEN: "hostile"})
    assert isinstance(caught.value.__cause__, LookupError)
    with pytest.raises(InvalidInput, match="cannot be read as Arrow: a failure of the caller's own") as caught:
        write_new(records=FailingStream())
    assert isinstance(caught.value.__cause__, ValueError)

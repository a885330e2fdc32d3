"""Every public function of pyhudi.spark with arguments that no caller should give: it works, or an error of ours."""

import inspect
import os

import pyarrow as pa
import pytest
from tests.amounts import amount
from tests.building import TRIPS, trip
from tests.table.test_hostile_arguments import CONTAINERS, HALF, RECORDS, SCALARS, TEXTS

import pyhudi
import pyhudi.spark
from pyhudi.errors import HudiError, InternalError, InvalidInput
from pyhudi.spark.releases import frame_of

HOSTILE = [*SCALARS, *TEXTS, *CONTAINERS, *RECORDS[::3]]
APART = 1 if os.environ.get("PYHUDI_TEST_ENGINE") == "spark" else 3
"""Each argument is given one of so many; the next argument begins with the next, and `make test-spark` gives all."""
FUNCTIONS = ("write", "read", "into", "explain", "streaming_sink", "install", "sql")


@pytest.fixture(scope="module")
def good(spark, tmp_path_factory):
    """Return arguments by name, with which no call writes: the table is there."""
    path = str(tmp_path_factory.mktemp("hostile") / "table")
    made = pyhudi.create_table(path, TRIPS, record_key=["uuid"], partition_by=["city"])
    made.upsert([trip("a")])
    df = frame_of(spark, pa.Table.from_pylist([trip("a")], TRIPS))
    return {"spark": spark, "df": df, "path": path, "mode": "errorifexists", "query": "select 1"}


@pytest.fixture
def _as_it_was(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # a text is a path
    yield
    pyhudi.spark.uninstall()


def arguments():
    functions = {name: inspect.signature(getattr(pyhudi.spark, name)).parameters for name in FUNCTIONS}
    return [(function, name) for function, names in functions.items() for name in names]


def call(good, function, **said):
    one = getattr(pyhudi.spark, function)
    return one(**{name: good[name] for name in inspect.signature(one).parameters if name in good} | said)


@pytest.mark.usefixtures("_as_it_was")
@pytest.mark.parametrize(("function", "name"), list(arguments())[:: amount(1, 1, 1, everyday=4)])
def test_a_hostile_argument_is_an_error_of_ours(good, function, name):
    given = HOSTILE[arguments().index((function, name)) % APART :: APART]
    if (function, name) == ("write", "path"):
        given = HOSTILE[::8]  # each may make a table
    elif name == "query":
        given = [HALF, *(it for it in HOSTILE if not isinstance(it, str))]  # a text may be wrong for Spark
    for it in given:
        try:
            call(good, function, **{name: it})
        except InternalError:
            raise
        except HudiError:
            pass


@pytest.mark.parametrize("it", [None, "1", 1.5, -1, [1]])
def test_a_hostile_batch_is_an_error_of_ours(good, it):
    sink = pyhudi.spark.streaming_sink(good["path"], "delete_partition", query_id="q")
    with pytest.raises(HudiError):
        sink(good["df"], it)
    with pytest.raises(HudiError):
        sink(it, 1)


def test_every_public_function_that_takes_an_argument_is_called():
    taking = {name for name in pyhudi.spark.__all__ if inspect.signature(getattr(pyhudi.spark, name)).parameters}
    assert taking == set(FUNCTIONS)


@pytest.mark.parametrize(
    "write",
    [
        lambda table, rows: table.upsert(rows),
        lambda table, rows: table.merge(rows, "t.uuid = s.uuid").when_matched_delete().execute(),
        lambda table, rows: pyhudi.write_table(table.path, rows),
        lambda table, rows: pyhudi.spark.write(rows, table.path),
    ],
)
def test_a_pandas_on_spark_frame_is_refused_with_the_way_round(good, write):
    rows = good["df"].pandas_api()
    with pytest.raises(InvalidInput, match=r"\.to_spark\(\)"):
        write(pyhudi.open_table(good["path"]), rows)


@pytest.mark.parametrize("it", [None, 5, "spark", object()])
def test_a_scan_is_read_in_a_session(good, it):
    with pytest.raises(InvalidInput, match="SparkSession"):
        pyhudi.open_table(good["path"]).scan().to_spark(it)

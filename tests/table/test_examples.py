"""The examples in the docstrings of what users call run, and show what comes back."""

import doctest
import inspect

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pyhudi
from pyhudi.table import Table

TRIPS = pa.schema([("uuid", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("fare", pa.float64())])
FUNCTIONS = {
    name: getattr(pyhudi, name)
    for name in (
        "create_table",
        "drop_table",
        "locks",
        "open_table",
        "pending",
        "register_key_generator",
        "sql",
        "table_exists",
        "write_table",
    )
}
METHODS = {
    name: method
    for name, method in inspect.getmembers(Table, inspect.isfunction)
    if not name.startswith("_") and not (method.__doc__ or "").startswith("Raise NotBuilt")
}
VERBS = FUNCTIONS | METHODS


@pytest.fixture
def known(path):
    trips = pyhudi.create_table(path, TRIPS, name="trips", record_key=["uuid"], partition_by=["city"], ordering=["ts"])
    first = trips.upsert([{"uuid": "a", "city": "oslo", "ts": 1, "fare": 10.0}])
    trips.upsert(
        [{"uuid": "a", "city": "oslo", "ts": 2, "fare": 12.5}, {"uuid": "b", "city": "lima", "ts": 2, "fare": 7.0}]
    )
    return {"pyhudi": pyhudi, "pa": pa, "pc": pc, "path": path, "trips": trips, "first": first}


@pytest.mark.parametrize("name", VERBS)
def test_the_example_shows_what_comes_back(name, known):
    found = doctest.DocTestParser().get_doctest(inspect.getdoc(VERBS[name]), known, name, None, 0)
    assert found.examples, "a verb has an example"
    told = []
    doctest.DocTestRunner(verbose=False).run(found, out=told.append)
    assert not told, "".join(told)


@pytest.mark.parametrize("name", VERBS)
def test_every_argument_is_described(name):
    text = inspect.getdoc(VERBS[name])
    arguments = [one for one in inspect.signature(VERBS[name]).parameters if one != "self"]
    assert [one for one in arguments if f"    {one}: " not in text] == []

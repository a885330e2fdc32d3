"""A write on Spark and others that commit while it works."""

import threading

import pytest
from tests.amounts import amount
from tests.building import TINY_FILTERS, TRIPS, trip
from tests.commit.test_retry import Stopping, tokens, upsert
from tests.spark.building import SparkTableBuilder

import pyhudi.spark
from pyhudi.env import SystemEnv
from pyhudi.txn.commit import Txn


@pytest.fixture
def builder(spark, tmp_path):
    return SparkTableBuilder(spark, tmp_path)


@pytest.fixture
def table(builder):
    made = builder.create(TRIPS)
    made.upsert([trip("a1", "a"), trip("a2", "a"), trip("b1", "b")], options=TINY_FILTERS)
    return made


@pytest.fixture
def meddle(monkeypatch):
    """Return a function that lets something happen when the next write has its plan."""
    started = Txn.start

    def arrange(happening):
        def start(txn, *args):
            monkeypatch.setattr(Txn, "start", started)
            happening()
            started(txn, *args)

        monkeypatch.setattr(Txn, "start", start)

    return arrange


@pytest.mark.everyday
def test_a_new_key_that_another_inserted_meanwhile_stays_one_row(builder, table, meddle):
    meddle(lambda: upsert(trip("new", "c", fare=5.0))(table))
    table.upsert(builder.rows([trip("new", "c", ts=2, fare=7.0)]), options=TINY_FILTERS)
    assert builder.rows_of(table, "uuid", "fare", filter="city = 'c'") == [("new", 7.0)]


def merge(table, rows):
    merging = table.merge(rows, "t.uuid = s.uuid and t.city = s.city", options=TINY_FILTERS)
    return merging.when_matched_update_all().when_not_matched_insert_all().execute()


MOVING = {**TINY_FILTERS, "hoodie.index.type": "GLOBAL_SIMPLE"}
VERBS = {
    "upsert": lambda table, rows: table.upsert(rows, options=TINY_FILTERS),
    "merge": merge,
    "upsert that moves": lambda table, rows: table.upsert(rows, options=MOVING),
    "insert without duplicates": lambda table, rows: table.insert(rows, duplicates="drop", options=TINY_FILTERS),
}


@pytest.mark.parametrize("verb", amount(*[list(VERBS)] * 3, everyday=["merge"]))
def test_only_the_file_groups_that_an_earlier_writer_rewrote_are_written_again(builder, table, meddle, verb):
    began, may_go = threading.Event(), threading.Event()
    if verb == "upsert that moves":  # kept before: an index that a write names first changes the table for all others
        table.upsert([trip("a1", "a")], options=MOVING)

    def stop():
        began.set()
        assert may_go.wait(120)

    early = builder.reopen(table, Stopping(table.state.storage, stop))
    thread = threading.Thread(target=upsert(trip("a1", "a", ts=2, fare=5.0)), args=(early,))
    thread.start()
    assert began.wait(60)

    def finish():
        may_go.set()
        thread.join(60)

    meddle(finish)
    city = "b" if verb == "upsert that moves" else "a"
    rows = [trip("a2", city, ts=2, fare=7.0), trip("b1", "b", ts=2, fare=7.0), trip("a3", "a"), trip("b3", "b")]
    result = VERBS[verb](table, builder.rows(rows))
    assert sorted(token.split("-")[1] for token in tokens(result)) == ["0", "1"]
    fare = 1.0 if verb.startswith("insert") else 7.0
    assert dict(builder.rows_of(table, "uuid", "fare")) == {"a1": 5.0, "a2": fare, "b1": fare, "a3": 1.0, "b3": 1.0}
    assert all(one.is_completed and one.action == "commit" for one in table.timeline.instants)


@pytest.mark.parametrize("isolation", ["write_serializable", "serializable"])
def test_isolation_is_an_option_of_the_writer(builder, meddle, isolation):
    builder.env = SystemEnv()
    table = builder.create(TRIPS)
    table.upsert([trip("a1", "a"), trip("a2", "a"), trip("b1", "b")], options=TINY_FILTERS)
    meddle(lambda: table.delete(keys=["a1"], options=TINY_FILTERS))
    options = {
        **TINY_FILTERS,
        "hoodie.parquet.small.file.limit": 0,
        "hoodie.datasource.insert.dup.policy": "drop",
        "pyhudi.isolation": isolation,
    }
    rows = builder.rows([trip("a1", "a", fare=7.0), trip("a9", "a")])
    pyhudi.spark.write(rows, table.state.storage.url, "insert", options=options)
    expected = {"a2": 1.0, "b1": 1.0, "a9": 1.0} | ({"a1": 7.0} if isolation == "serializable" else {})
    assert dict(builder.rows_of(table, "uuid", "fare")) == expected

"""Indexes that are built beside writers, and beside each other: an index of each kind."""

from tests.simulation.explorer.scenario import Scenario, Verb
from tests.simulation.explorer.verbs import build_index, delete, look_up, upsert
from tests.simulation.scenarios.in_place import APART, ONCE
from tests.simulation.scenarios.pairs import KEYS

ALONE = {
    "hoodie.metadata.enable": True,
    "hoodie.metadata.index.column.stats.enable": False,
    "hoodie.metadata.index.partition.stats.enable": False,
    "hoodie.metadata.global.record.level.index.min.filegroup.count": 1,
}
"""The table has no index but the one that is built, and those that it rests on."""
RECORDS = build_index("record_index")
OWN_RECORDS = build_index("record_index", options={"hoodie.metadata.record.level.index.enable": True})
VALUES = build_index("secondary", "rider")
ONE = upsert(k1_b=5.0, n1_b=1.0)


def beside_a_writer(about: str, index: Verb, *before: Verb, events: tuple[str, ...] = ()) -> Scenario:
    """Build an index while a writer changes a row and adds one."""
    return Scenario(about=about, actors={"i": (index,), "w1": (ONE,)}, before=before, index=ALONE, events=events)


DEATHS = ("crash:i", "torn:i", "stall:i", "crash:w1")
SCENARIOS = {
    "index-records": beside_a_writer("the record index is built while a writer commits", RECORDS),
    "index-records-dies": beside_a_writer(
        "the same, and one of them dies, or the one that builds stands still", RECORDS, events=DEATHS
    ),
    "index-own-records": beside_a_writer(
        "the record index of each partition is built while a writer commits", OWN_RECORDS
    ),
    "index-values": beside_a_writer("a secondary index is built while a writer commits", VALUES, RECORDS),
    "index-values-dies": beside_a_writer(
        "the same, and one of them dies, or the one that builds stands still", VALUES, RECORDS, events=DEATHS
    ),
    "index-expression": beside_a_writer(
        "an expression index is built while a writer commits",
        build_index("expression", "uuid", expr="upper", name="up"),
    ),
    "index-expression-filters": beside_a_writer(
        "filters of an expression are built while a writer commits",
        build_index("expression", "uuid", expr="upper", name="up", kind="bloom_filters"),
    ),
    "index-filters": beside_a_writer("filters of keys are built while a writer commits", build_index("bloom_filters")),
    "index-columns": beside_a_writer(
        "statistics of columns are built while a writer commits", build_index("column_stats")
    ),
    "index-partitions": beside_a_writer(
        "statistics of partitions are built while a writer commits",
        build_index("partition_stats"),
        build_index("column_stats"),
    ),
    "index-append": Scenario(
        about="the record index is built of logs, too, while a writer appends to these",
        actors={"i": (RECORDS,), "w1": (delete("k1"), ONE)},
        before=(upsert(k3_b=7.0), delete("k2")),
        index=ALONE,
        table_type="mor",
    ),
    "index-index": Scenario(
        about="two build the record index, of which one may die or stand still",
        actors={"i1": (RECORDS,), "i2": (RECORDS,)},
        index=ALONE,
        events=("crash:i1", "stall:i1"),
    ),
    "index-adopted": Scenario(
        about="one that builds the record index stands still, and another adopts the plan, beside a writer",
        actors={"i1": (RECORDS,), "i2": (RECORDS,), "w1": (ONE,)},
        index=ALONE,
        events=("stall:i1",),
        is_object_store=True,
    ),
    "index-same-new-key": Scenario(
        about="two put one new key into files of their own, which the record index of its partition is asked for",
        actors={"w1": (ONE,), "w2": (upsert(n1_b=2.0),)},
        options={**APART, **ONCE},
        index={**ALONE, "hoodie.index.type": "RECORD_LEVEL_INDEX"},
    ),
    "index-read": Scenario(
        about="one looks keys up, by the record index where it is there, while it is built",
        actors={"r": (look_up(*KEYS),), "i": (RECORDS,), "w1": (ONE,)},
        index=ALONE,
    ),
}

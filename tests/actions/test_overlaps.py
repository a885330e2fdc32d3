"""Two random writes that overlap in time leave what the first and then the second would have left."""

import random

import pytest
from tests.amounts import amount
from tests.building import TINY_FILTERS, TRIPS, TableBuilder, trip
from tests.commit.test_retry import GLOBAL, STAYING, merge, overlapping

SMALL_FILES = {"hoodie.parquet.max.file.size": 4_000, "hoodie.copyonwrite.record.size.estimate": 1_500}
KEYS = [f"k{number}" for number in range(8)]


def some_rows(chance):
    keys = chance.sample(KEYS, chance.randint(1, 4))
    return [trip(key, chance.choice("ab"), chance.randint(1, 4), float(chance.randint(1, 99))) for key in keys]


def some_write(chance, kind, index):
    """Make a write of random rows, which may make new files or fill small ones."""
    rows = some_rows(chance)
    options = {**TINY_FILTERS, **index, **(SMALL_FILES if chance.random() < 0.4 else {})}
    on = "t.uuid = s.uuid" if index or chance.random() < 0.5 else "t.uuid = s.uuid and t.city = s.city"

    def write(table):
        if kind == "upsert":
            return table.upsert(rows, options=options)
        if kind == "insert":
            return table.insert(rows, duplicates="drop", options=options)
        if kind == "delete":
            return table.delete(keys=[row["uuid"] for row in rows], options=options)
        merging = merge(*rows, on=on, **options)(table)
        return merging.when_matched_update({"fare": "t.fare + s.fare"}).when_not_matched_insert_all().execute()

    return write


def filled(chance_of, version, index):
    builder = TableBuilder()
    table = builder.create(TRIPS, version=version)
    rows = [trip(key, chance_of.choice("ab")) for key in chance_of.sample(KEYS, 5)]
    table.upsert(rows, options={**TINY_FILTERS, **index})
    return builder, table


@pytest.mark.parametrize("late", ["upsert", "merge", "insert", "delete"])
@pytest.mark.parametrize("index", [{}, GLOBAL, STAYING], ids=["partition", "moves", "stays"])
def test_two_writes_are_as_one_after_the_other(late, index):
    for seed in range(amount(3, 3, 3, everyday=1)):
        chance = random.Random(f"{late}/{index}/{seed}")
        early = "upsert" if late == "insert" else chance.choice(["upsert", "delete"])  # what an insert reads may go
        writes = [some_write(chance, early, index), some_write(chance, late, index)]
        version, rows = chance.choice([6, 9]), chance.random()
        builder, table = filled(random.Random(rows), version, index)
        overlapping(builder, table, *writes)
        serial, other = filled(random.Random(rows), version, index)
        for write in writes:
            write(other)
        assert builder.rows_of(table) == serial.rows_of(other), f"seed {seed}"

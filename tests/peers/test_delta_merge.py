"""delta-rs merges the same source into the same rows by the same clauses, and ends with the same rows."""

import random

import pytest
from deltalake import DeltaTable, write_deltalake
from tests.building import TINY_FILTERS, TRIPS, TableBuilder, sorted_rows, trip, trips

ON = "t.uuid = s.uuid AND t.city = s.city"
OPTIONS = {**TINY_FILTERS, "hoodie.parquet.max.file.size": 2000, "hoodie.copyonwrite.record.size.estimate": 400}
CONDITIONS = [None, "s.fare > t.fare", "s.ts < 5", "t.rider = s.rider", "t.fare IS NULL", "s.fare + t.fare > 6"]
OF_SOURCE = [None, "s.fare > 3", "s.rider <> 'a'", "s.fare IS NOT NULL"]
OF_TARGET = [None, "t.fare < 4", "t.rider = 'b'", "t.fare IS NULL OR t.ts > 7"]


def rows(draw, count):
    """Draw rows with keys of their own; some fares and riders are null."""
    places = draw.sample([(f"k{number}", city) for number in range(12) for city in ("sf", "oslo")], count)
    return trips(
        *(
            trip(
                uuid,
                city,
                ts=draw.randrange(10),
                fare=draw.choice([None, *map(float, range(8))]),
                rider=draw.choice(["a", "b", "c", None]),
            )
            for uuid, city in places
        )
    )


def clauses(draw):
    """Draw a clause or two of each kind; one without a condition comes last."""
    kinds = {
        "when_matched_update": ({"fare": "s.fare + 1", "rider": "coalesce(s.rider, t.rider)"}, CONDITIONS),
        "when_matched_delete": (None, CONDITIONS),
        "when_not_matched_insert": ({name: f"s.{name}" for name in TRIPS.names}, OF_SOURCE),
        "when_not_matched_by_source_update": ({"ts": "t.ts * 10", "rider": "'left'"}, OF_TARGET),
        "when_not_matched_by_source_delete": (None, OF_TARGET),
    }
    drawn = [(kind, *kinds[kind]) for kind in draw.choices(list(kinds), k=draw.randrange(1, 6))]
    made, closed = [], set()
    for kind, values, conditions in drawn:
        group = kind.rpartition("_")[0]
        if group not in closed:
            condition = draw.choice(conditions)
            made.append((kind, values, condition))
            closed |= {group} if condition is None else set()
    return made


@pytest.mark.parametrize("seed", range(12))
def test_delta_ends_with_the_same_rows(seed, tmp_path):
    draw = random.Random(seed)
    stored, source, asked = rows(draw, 14), rows(draw, 10), clauses(draw)
    on = draw.choice([ON, f"{ON} AND t.ts <> s.ts"])
    asked = [one for one in asked if on == ON or "insert" not in one[0]]
    builder = TableBuilder()
    table = builder.create()
    table.upsert(stored, options=OPTIONS)
    write_deltalake(str(tmp_path), stored, partition_by=["city"])
    ours = table.merge(source, on, options=OPTIONS)
    theirs = DeltaTable(str(tmp_path)).merge(source, predicate=on, source_alias="s", target_alias="t")
    for kind, values, condition in asked or [("when_matched_delete", None, None)]:
        ours = getattr(ours, kind)(*filter(None, [values]), condition=condition)
        theirs = getattr(theirs, kind)(*filter(None, [values]), predicate=condition)
    ours.execute()
    theirs.execute()
    delta = DeltaTable(str(tmp_path)).to_pyarrow_table().select(TRIPS.names)
    assert builder.rows_of(table, *TRIPS.names) == sorted_rows(delta)

"""Savepoints, restores and rollbacks of either side, on a table that both go on writing."""

import pytest
from tests.peers.histories import Expected, Step, history
from tests.peers.kinds import COLUMNS, KINDS
from tests.peers.peer import NEWEST
from tests.peers.sides import Hudi, Ours, rows_of
from tests.peers.test_judged_releases import HEEDS_ORDER

from pyhudi.table import open_table

SIMPLE = next(kind for kind in KINDS if kind.name == "simple")
SIDES = [(NEWEST, 9), (NEWEST, 8), ("0.15.0", 6)]
"""The newest release cannot restore a table of version 6."""
TURNS = [
    ("hudi", "insert"), ("ours", "upsert"), ("ours", "save"), ("hudi", "upsert"), ("ours", "insert_overwrite"),
    ("ours", "restore"), ("hudi", "upsert"), ("ours", "upsert"),
    ("hudi", "save"), ("ours", "delete"), ("hudi", "insert"), ("ours", "delete_partition"),
    ("ours", "restore"), ("hudi", "upsert"),
    ("ours", "save"), ("hudi", "upsert"), ("ours", "upsert"),
    ("hudi", "restore"), ("ours", "upsert"), ("hudi", "upsert"),
    ("hudi", "release"), ("ours", "release"), ("hudi", "upsert"),
]  # fmt: skip
"""Ours goes back to its own savepoint and to Apache Hudi's, and Apache Hudi to ours."""


@pytest.mark.parametrize(("hudi", "version"), SIDES, indirect=["hudi"], ids=[f"{one}-v{two}" for one, two in SIDES])
def test_either_side_goes_back_and_both_write_on(hudi, version, tmp_path):
    path = tmp_path / "trips"
    said = HEEDS_ORDER if version == 6 else {}
    sides = {"ours": Ours(path, SIMPLE, version), "hudi": Hudi(hudi, path, SIMPLE, version, said)}
    expected = Expected(SIMPLE)

    def agree(step):
        found = rows_of(sides["ours"].read().select(COLUMNS.names))
        assert found == rows_of(sides["hudi"].read().select(COLUMNS.names)), step
        assert found == sorted(expected.rows.values(), key=repr), step

    for number, step in enumerate(history(SIMPLE, TURNS, seed=5)):
        sides[step.actor].do(step)
        expected.apply(step)
        agree((number, step.actor, step.verb))
    kept = dict(expected.rows)
    row = next(iter(expected.rows.values())) | {"ts": 5000, "note": "taken back"}
    for actor in ("hudi", "ours"):
        sides[actor].do(Step(actor, "upsert", [row]))
        table = open_table(str(path))
        table.rollback(table.latest_instant)
        expected.rows = dict(kept)
        agree(f"{actor} wrote, ours rolled back")
    sides["hudi"].do(last := Step("hudi", "upsert", [row]))
    expected.apply(last)
    agree("after the rollbacks")

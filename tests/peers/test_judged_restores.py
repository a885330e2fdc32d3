"""Savepoints, restores and rollbacks of either side, on a table that both go on writing."""

import pytest
from tests.peers.histories import Expected, Step, history
from tests.peers.kinds import COLUMNS, KINDS, crossed, laid_out
from tests.peers.peer import NEWEST
from tests.peers.sides import BOTH_WAYS, HEEDS_ORDER, Hudi, Ours, plain, rows_of

from pyhudi.table import open_table
from pyhudi.timeline.view import pending_instants

SIMPLE = next(kind for kind in KINDS if kind.name == "simple")
SIDES = [(NEWEST, 9), (NEWEST, 8), ("0.15.0", 6)]
"""The newest release cannot restore a table of version 6."""
METADATA = {"hoodie.metadata.enable": "true"}
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
        table.rollback(table.latest_instant, completed=True)
        expected.rows = dict(kept)
        agree(f"{actor} wrote, ours rolled back")
    sides["hudi"].do(last := Step("hudi", "upsert", [row]))
    expected.apply(last)
    agree("after the rollbacks")


@pytest.mark.parametrize(("hudi", "version"), SIDES, indirect=["hudi"], ids=[f"{one}-v{two}" for one, two in SIDES])
@pytest.mark.parametrize(("index", "logs"), [("SIMPLE", "parquet_logs"), ("BUCKET", "avro_logs")])
def test_log_files_of_a_delta_commit_that_failed_are_seen_by_neither(hudi, version, index, logs, tmp_path, monkeypatch):
    kind = crossed(laid_out("simple", "flat", "all"), "event_time", index, logs)
    path, said = tmp_path / "trips", HEEDS_ORDER if version == 6 else {}
    sides = {"ours": Ours(path, kind, version, METADATA), "hudi": Hudi(hudi, path, kind, version, said | METADATA)}
    turns = [("ours", "insert"), ("ours", "upsert"), ("ours", "save"), *[("ours", "upsert"), ("hudi", "upsert")] * 2]
    expected = Expected(kind)

    def agree(step):
        found = rows_of(sides["ours"].read().select(COLUMNS.names))
        assert found == sorted(expected.rows.values(), key=repr), step
        for read in hudi.reads(path, BOTH_WAYS):
            assert rows_of(plain(read).select(COLUMNS.names)) == found, step

    for step in history(kind, turns, seed=7):
        row = next(iter(expected.rows.values()), None)
        if row is not None:
            with monkeypatch.context() as patched:
                patched.setattr("pyhudi.txn.commit.Txn.commit", _die)
                with pytest.raises(KeyboardInterrupt):
                    sides["ours"].do(Step("ours", "upsert", [row | {"ts": 9000, "note": "never"}]))
            open_table(str(path)).rollback(
                max(one.requested_time for one in pending_instants(open_table(str(path)).timeline))
            )
        sides[step.actor].do(step)
        expected.apply(step)
        agree((step.actor, step.verb))
    open_table(str(path)).rollback(open_table(str(path)).latest_instant, completed=True)
    sides["ours"].do(Step("ours", "restore"))
    expected.apply(Step("ours", "restore"))
    agree("restored")
    sides["hudi"].do(last := Step("hudi", "upsert", [row | {"ts": 9001, "note": "after"}]))
    expected.apply(last)
    agree("after the restore")


def _die(*_):
    raise KeyboardInterrupt

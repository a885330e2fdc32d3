"""Writers that die before they commit: each side passes over the other's pending instant, and rolls it back."""

import contextlib
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.peers.histories import Expected, Step, alternating, history
from tests.peers.kinds import COLUMNS, KINDS
from tests.peers.sides import Hudi, Ours, rows_of

from pyhudi.table import Table, open_table

SIMPLE = next(kind for kind in KINDS if kind.name == "simple")


class Turns:
    """One table, both sides, and what must be in it."""

    def __init__(self, peer, path, version):
        self.path, self.version = path, version
        self.ours, self.hudi = Ours(path, SIMPLE, version), Hudi(peer, path, SIMPLE, version)
        self.expected = Expected(SIMPLE)
        for step in history(SIMPLE, alternating(SIMPLE, ["ours", "hudi"], 3), seed=3):
            self.take(step)
        self.row = next(iter(self.expected.rows.values())) | {"ts": 1000}

    def take(self, step):
        (self.ours if step.actor == "ours" else self.hudi).do(step)
        self.expected.apply(step)

    def agree(self):
        ours, theirs = self.ours.read(), self.hudi.read()
        assert rows_of(ours) == rows_of(theirs.select(ours.schema.names))
        assert rows_of(ours.select(COLUMNS.names)) == sorted(self.expected.rows.values(), key=repr)

    def files_of(self, instant):
        return [path.name for path in self.path.glob(f"*/*{instant}*.parquet")]


@pytest.fixture(params=[9, 8, 6])
def turns(hudi_1_2, tmp_path, request):
    return Turns(hudi_1_2, tmp_path / "trips", request.param)


def test_apache_hudi_rolls_our_dead_write_back(turns):
    state = open_table(str(turns.path)).state
    completed = "*.commit" if turns.version == 6 else "*_*.commit"
    crash = Fault(kind=FaultKind.CRASH_BEFORE, operations=frozenset({"put"}), path=completed)
    doomed = Table(replace(state, storage=FaultyStorage(state.storage, plan=[crash])))
    rows = pa.Table.from_pylist([turns.row | {"note": "lost"}], schema=COLUMNS)
    with contextlib.suppress(SimulatedCrash):
        doomed.upsert(rows)
    (pending,) = open_table(str(turns.path)).inspect.pending()["instant"].to_pylist()
    assert turns.files_of(pending)
    turns.agree()
    turns.take(Step("hudi", "upsert", [turns.row | {"note": "after", "ts": 1001}]))
    turns.agree()
    assert not turns.files_of(pending)
    turns.take(Step("ours", "upsert", [turns.row | {"note": "ours again", "ts": 1002}]))
    turns.agree()


def test_we_roll_apache_hudis_dead_write_back(turns):
    turns.hudi.do(Step("hudi", "upsert", [turns.row | {"note": "lost", "ts": 2000}]))
    folder = turns.path / ".hoodie" if turns.version == 6 else turns.path / ".hoodie" / "timeline"
    max(folder.glob("*.commit")).unlink()
    turns.agree()
    table = open_table(str(turns.path))
    (pending,) = table.inspect.pending()["instant"].to_pylist()
    table.rollback(pending)
    assert not turns.files_of(pending)
    turns.agree()
    turns.take(Step("hudi", "upsert", [turns.row | {"note": "after", "ts": 2001}]))
    turns.take(Step("ours", "upsert", [turns.row | {"note": "ours", "ts": 2002}]))
    turns.agree()

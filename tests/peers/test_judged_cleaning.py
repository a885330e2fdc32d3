"""Cleans of either side: the other reads what is left, finishes what is planned, and cleans on."""

import pytest
from tests.peers.histories import Expected, Step
from tests.peers.kinds import COLUMNS, KINDS
from tests.peers.sides import Hudi, Ours, rows_of

from pyhudi.errors import SnapshotExpired
from pyhudi.table import open_table
from pyhudi.timeline.cleans import last_clean
from pyhudi.timeline.instant import Action

SIMPLE = next(kind for kind in KINDS if kind.name == "simple")
POLICIES = {
    "commits": {"hoodie.clean.commits.retained": "1"},
    "versions": {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": "1"},
}
OLD_NAMES = {
    "hoodie.clean.commits.retained": "hoodie.cleaner.commits.retained",
    "hoodie.clean.policy": "hoodie.cleaner.policy",
    "hoodie.clean.fileversions.retained": "hoodie.cleaner.fileversions.retained",
}


class Turns:
    """One table that both sides write and clean."""

    def __init__(self, peer, path, version, policy):
        self.path, self.policy = path, policy
        self.ours = Ours(path, SIMPLE, version)
        self.ours.options = self.ours.options | policy
        old = {OLD_NAMES[key]: value for key, value in policy.items()}
        self.hudi = Hudi(peer, path, SIMPLE, version, {**policy, **old, "hoodie.clean.automatic": "true"})
        self.expected = Expected(SIMPLE)

    def take(self, actor, number):
        rows = [
            dict.fromkeys(COLUMNS.names) | {"id": f"k{one}", "city": ("sf", "rio")[one % 2], "ts": number, "at": 0}
            for one in range(4)
        ]
        step = Step(actor, "upsert", rows)
        (self.ours if actor == "ours" else self.hudi).do(step)
        self.expected.apply(step)

    def agree(self):
        ours, theirs = self.ours.read(), self.hudi.read()
        assert rows_of(ours) == rows_of(theirs.select(ours.schema.names))
        assert rows_of(ours.select(COLUMNS.names)) == sorted(self.expected.rows.values(), key=repr)

    @property
    def table(self):
        return open_table(str(self.path))

    def cleans(self):
        return [one for one in self.table.timeline.instants if one.action is Action.CLEAN]

    def files_count(self):
        return len(list(self.path.glob("*/*.parquet")))


@pytest.fixture(params=[(version, policy) for version in (9, 8, 6) for policy in POLICIES], ids=str)
def turns(hudi_1_2, tmp_path, request):
    version, policy = request.param
    return Turns(hudi_1_2, tmp_path / "trips", version, POLICIES[policy])


def test_either_side_reads_and_goes_on_after_the_others_cleans(turns):
    bound = 4 if "hoodie.clean.commits.retained" in turns.policy else 2
    for number in range(5):
        turns.take("ours", number)
    turns.agree()
    ours = len(turns.cleans())
    assert (turns.files_count(), ours > 0) == (bound, True)
    for number in range(5, 8):
        turns.take("hudi", number)
    turns.agree()
    theirs = len(turns.cleans())
    assert (turns.files_count(), theirs > ours) == (bound, True)
    state = turns.table.state
    assert "pyhudi.bytes" not in (last_clean(state, turns.table.timeline).extra or {})
    turns.take("ours", 8)
    turns.take("ours", 9)
    turns.agree()
    assert (turns.files_count(), len(turns.cleans()) > theirs) == (bound, True)
    assert {one.is_completed for one in turns.cleans()} == {True}
    first = turns.table.history()["instant"].to_pylist()[-1]
    with pytest.raises(SnapshotExpired):
        turns.table.scan(as_of=first).to_arrow()


def test_apache_hudi_finishes_a_clean_that_we_have_planned(turns):
    for number in range(5):
        turns.ours.options = turns.ours.options | {"hoodie.clean.automatic": "false"}
        turns.take("ours", number)
    planned = turns.table.clean(options=turns.policy, schedule=True)
    assert planned.files
    turns.take("hudi", 5)
    turns.agree()
    done = next(one for one in turns.cleans() if one.requested_time == planned.instants[0])
    assert done.is_completed
    assert not [path for path in planned.files if (turns.path / path).exists()]
    turns.take("ours", 6)
    turns.agree()


def test_we_finish_a_clean_that_apache_hudi_has_begun(turns):
    for number in range(5):
        turns.take("hudi", number)
    folder = (
        turns.path / ".hoodie" if turns.table.state.layout.timeline_layout == 1 else turns.path / ".hoodie/timeline"
    )
    max(folder.glob("*.clean")).unlink()
    pending = [one for one in turns.cleans() if not one.is_completed]
    assert len(pending) == 1
    turns.take("ours", 5)
    turns.agree()
    assert {one.is_completed for one in turns.cleans()} == {True}
    turns.take("hudi", 6)
    turns.agree()

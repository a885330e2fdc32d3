"""What is held against a table when its writers are gone, by a process that knows only the journal.

Start at `judged`.
"""

import json

from tests.simulation.world import archived_commits, require_clean
from tests.soak.actors import NOTE, meaning, rows_of

from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.instant import Action
from pyhudi.timeline.view import pending_instants


class Journal:
    """What writers were told, of one table: token to how it ended, and the instant if it was acknowledged."""

    def __init__(self):
        self.told = {}

    def add(self, ended, token, instant):
        """Note how a write ended."""
        self.told[token] = ended, instant

    @property
    def acked(self):
        """Return token to instant of what was acknowledged."""
        return {token: instant for token, (ended, instant) in self.told.items() if ended == "ok"}

    @property
    def failed(self):
        """Return the tokens whose writers were told that they failed."""
        return {token for token, (ended, _) in self.told.items() if ended not in {"ok", "unknown"}}


def committed(table):
    """Return (note, instant) of every commit by a writer, in the order in which they became visible."""
    said = {time: (done, metadata.extra or {}) for time, (done, metadata) in archived_commits(table.state).items()}
    for one in table.timeline.completed.values():
        said[one.requested_time] = one.completion_time or "", read_commit_metadata(table.state, one).extra or {}
    found = sorted((done, time) for time, (done, extra) in said.items() if NOTE in extra)
    return [(json.loads(said[time][1][NOTE]), time) for _, time in found]


def judged(place, journal, first):
    """Check a table against what was told and against its own timeline; `first` is what it began with.

    Lets one more writer in, which recovers, and where log compactions are left to keepers one more of these; then looks
    for whatever is left over. Gives how many commits there are.
    """
    table = place.table()
    require_told(journal, committed(table))
    table.upsert([{"uuid": "last", "ts": 1, "rider": "r", "fare": 0.0, "city": "z"}], options=place.asked)
    history = committed(table)
    require_told(journal, history)
    pending = {one.action for one in pending_instants(place.table().timeline)}
    assert pending <= {Action.LOGCOMPACTION}, pending
    if pending:
        place.table().log_compact(options=place.asked)
    expected = first
    for note, _ in history:
        expected = meaning(expected, note)
    found = rows_of(place.table())
    assert found.pop(("last", "z")) == 0.0
    assert found == expected, difference(found, expected)
    require_clean(place.table(), may_times_meet=bool(place.storage_options))
    return len(history)


def require_told(journal, history):
    """Nothing acknowledged is missing, nothing that failed is there, nothing is there twice."""
    instants = {note["token"]: instant for note, instant in history}
    assert len(instants) == len(history), "a write was committed twice"
    missing = {token: instant for token, instant in journal.acked.items() if instants.get(token) != instant}
    assert not missing, f"acknowledged, and not there: {missing}"
    assert not journal.failed & instants.keys(), f"failed, and there: {journal.failed & instants.keys()}"


def difference(found, expected):
    """Describe what is wrong with rows."""
    wrong = {place: (found.get(place), expected.get(place)) for place in found.keys() | expected.keys()}
    return {place: both for place, both in wrong.items() if both[0] != both[1]}

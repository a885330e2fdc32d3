"""`as.of.instant` and the bounds of incremental reads mean what they mean in Apache Hudi, at every version.

Read with the same options by both sides, at each commit's requested and completion time and a millisecond around them.
"""

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.faulty import FaultyStorage
from tests.peers.histories import Step, alternating, history
from tests.peers.kinds import COLUMNS, KINDS
from tests.peers.sides import Hudi, Ours, plain, rows_of

from pyhudi.engine.local import LocalEngine
from pyhudi.engine.registry import engine_on
from pyhudi.options import Settings
from pyhudi.queries.scan import Scan
from pyhudi.queries.source_options import plan_read
from pyhudi.storage.api import PutMode
from pyhudi.table import Table, open_table
from pyhudi.timeline.view import completed_writes

TWO_WRITERS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
SIMPLE = next(kind for kind in KINDS if kind.name == "simple")
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}


class Interrupted(FaultyStorage):
    """Does something when the first data file is written: after the instant was requested, before it is complete."""

    def __init__(self, inner, meanwhile):
        super().__init__(inner)
        self._meanwhile = [meanwhile]

    def open_output(self, path, mode=PutMode.OVERWRITE):
        while self._meanwhile:
            self._meanwhile.pop()()
        return super().open_output(path, mode)


def overlap(sides, path):
    """Let Apache Hudi begin and end a commit inside one of ours, in another partition."""
    rows = [
        {"id": f"overlap {city}", "line": 0, "ts": 1, "city": city, "day": "d", "at": 0, "note": city, "fare": 1.0}
        for city in SIMPLE.cities
    ]
    state = open_table(str(path)).state
    theirs = Step("hudi", "upsert", rows[1:])
    storage = Interrupted(state.storage, lambda: sides["hudi"].do(theirs))
    Table(replace(state, storage=storage)).upsert(pa.Table.from_pylist(rows[:1], schema=COLUMNS))
    first, second = completed_writes(open_table(str(path)).timeline)[-2:]
    assert first.completion_time > second.completion_time
    sides["ours"].do(Step("ours", "upsert", [rows[0] | {"id": "after"}]))


@pytest.fixture(scope="module", params=["9-ours", "8-hudi", "6-ours", "6-hudi"])
def read(hudi_1_2, tmp_path_factory, request):
    """Return a table with a history, and a function that reads it by both sides."""
    version, first = request.param.split("-")
    path = tmp_path_factory.mktemp("reads") / "trips"
    sides = {"ours": Ours(path, SIMPLE, int(version)), "hudi": Hudi(hudi_1_2, path, SIMPLE, int(version), TWO_WRITERS)}
    second = next(name for name in sides if name != first)
    for step in history(SIMPLE, alternating(SIMPLE, [first, second] * 4, 2), seed=2):
        sides[step.actor].do(step)
    overlap(sides, path)
    state = open_table(str(path)).state

    def both(options):
        plan = plan_read(state, Settings.of(options))
        ours = Scan(plan=plan, engine=LocalEngine(state.storage), engine_on=engine_on).to_arrow()
        theirs = plain(hudi_1_2.read(path, options))
        assert rows_of(ours) == rows_of(theirs.select(ours.schema.names)), options
        return ours.num_rows

    return both, completed_writes(open_table(str(path)).timeline)


def millisecond_before(time):
    return f"{int(time) - 1:017d}"


def in_words(time):
    return f"{time[:4]}-{time[4:6]}-{time[6:8]} {time[8:10]}:{time[10:12]}:{time[12:14]}"


def test_as_of_goes_by_requested_time(read):
    both, writes = read
    for write in writes[::2] + writes[-3:]:
        for time in (write.requested_time, write.completion_time, millisecond_before(write.requested_time)):
            both({"as.of.instant": time})


def test_as_of_seconds_is_their_beginning_as_digits_and_their_end_in_words(read):
    both, writes = read
    time = writes[4].requested_time
    for text in (time[:14], in_words(time), in_words(time) + "." + time[14:], in_words(time)[:10], "2000-01-01"):
        both({"as.of.instant": text})


def test_incremental_begin_is_out_and_its_end_is_in(read):
    both, writes = read
    for write in writes[1::3] + writes[-3:]:
        for time in (write.requested_time, write.completion_time, millisecond_before(write.completion_time)):
            both(INCREMENTAL | {BEGIN: time})
    for end in (writes[4].requested_time, writes[4].completion_time, millisecond_before(writes[4].completion_time)):
        both(INCREMENTAL | {BEGIN: writes[1].completion_time, END: end})
        both(INCREMENTAL | {BEGIN: "000", END: end})


def test_incremental_bounds_may_be_seconds(read):
    both, writes = read
    time = writes[5].completion_time
    for text in (time[:14], in_words(time), in_words(time)[:10]):
        both(INCREMENTAL | {BEGIN: "000", END: text})
        both(INCREMENTAL | {BEGIN: text})

"""`as.of.instant` and the bounds of incremental reads mean what they mean in Apache Hudi, at every version.

Read with the same options by both sides, at each commit's requested and completion time and a millisecond around them.
"""

import pytest
from tests.peers.histories import history
from tests.peers.kinds import KINDS
from tests.peers.sides import Hudi, Ours, plain, rows_of

from pyhudi.engine.api import engine_on
from pyhudi.engine.local import LocalEngine
from pyhudi.options import Settings
from pyhudi.queries.scan import Scan
from pyhudi.spark.reading import plan_read
from pyhudi.table import open_table
from pyhudi.timeline.view import completed_writes

SIMPLE = next(kind for kind in KINDS if kind.name == "simple")
BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}


@pytest.fixture(scope="module", params=["9-ours", "8-hudi", "6-ours", "6-hudi"])
def read(hudi_1_2, tmp_path_factory, request):
    """Give a table with a history, and a function that reads it by both sides."""
    version, first = request.param.split("-")
    path = tmp_path_factory.mktemp("reads") / "trips"
    sides = {"ours": Ours(path, SIMPLE, int(version)), "hudi": Hudi(hudi_1_2, path, SIMPLE, int(version))}
    second = next(name for name in sides if name != first)
    for step in history(SIMPLE, [first, second] * 4, seed=2):
        sides[step.actor].do(step)
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
    for write in writes[::2]:
        for time in (write.requested_time, write.completion_time, millisecond_before(write.requested_time)):
            both({"as.of.instant": time})


def test_as_of_seconds_is_their_beginning_as_digits_and_their_end_in_words(read):
    both, writes = read
    time = writes[4].requested_time
    for text in (time[:14], in_words(time), in_words(time) + "." + time[14:], in_words(time)[:10], "2000-01-01"):
        both({"as.of.instant": text})


def test_incremental_begin_is_out_and_its_end_is_in(read):
    both, writes = read
    for write in writes[1::3]:
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

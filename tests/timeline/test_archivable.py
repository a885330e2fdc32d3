"""What stays on the active timeline, and what may leave it."""

import pytest
from tests.building import TIMELINE_LAYOUTS

from pyhudi.timeline.archivable import ArchiveBounds, plan_archive
from pyhudi.timeline.instant import Action, Instant, State, collapse
from pyhudi.timeline.view import timeline_of

SMALL = {"keep_least": 2, "keep_most": 4}
DONE, PENDING = State.COMPLETED, State.INFLIGHT


def time_of(number):
    return f"20260101{number:09d}"


def at(number, action=Action.COMMIT, state=DONE, done=None):
    completion = time_of(done or number) if state is DONE else None
    return Instant(requested_time=time_of(number), action=action, state=state, completion_time=completion)


def commits(*numbers):
    return [at(number) for number in numbers]


def archived(*instants, layout=2, **bounds):
    timeline = timeline_of(collapse(instants), TIMELINE_LAYOUTS[layout])
    found = plan_archive(timeline, ArchiveBounds(**{**SMALL, **bounds}))
    return [(int(one.requested_time[8:]), str(one.action)) for one in found]


def numbers(*instants, layout=2, **bounds):
    return [number for number, _ in archived(*instants, layout=layout, **bounds)]


@pytest.mark.parametrize("layout", [1, 2])
def test_nothing_leaves_until_there_are_more_than_the_most(layout):
    assert numbers(*commits(1, 2, 3, 4), layout=layout) == []
    assert numbers(*commits(1, 2, 3, 4, 5), layout=layout) == [1, 2, 3]


def test_what_cleaning_retains_stays_and_two_commits_more():
    assert numbers(*commits(*range(1, 11)), retained=time_of(6)) == [1, 2, 3, 4]
    assert numbers(*commits(*range(1, 9)), retained=time_of(4)) == []


def test_the_last_commit_before_a_pending_write_stays():
    assert numbers(*commits(1, 2, 4, 5, 6), at(3, state=PENDING)) == [1]
    assert numbers(*commits(2, 3, 4, 5, 6), at(1, state=PENDING)) == []
    assert numbers(*commits(1, 2, 4, 5, 6), at(3, Action.COMPACTION, PENDING)) == [1]
    assert numbers(*commits(1, 2, 4, 5, 6), at(3, Action.CLEAN, PENDING)) == [1, 2, 4]


def test_nothing_leaves_while_a_restore_is_pending():
    assert numbers(*commits(1, 2, 3, 4, 5), at(6, Action.RESTORE, PENDING)) == []


def test_a_replacecommit_stays_until_what_it_replaced_was_cleaned():
    replaced = at(2, Action.REPLACECOMMIT)
    assert numbers(*commits(1, 3, 4, 5), replaced) == [1]
    assert numbers(*commits(1, 3, 4, 5), replaced, replaced_since=time_of(2)) == [1]
    assert numbers(*commits(1, 3, 4, 5), replaced, replaced_since=time_of(3)) == [1, 2, 3]


def test_delta_commits_stay_that_make_a_compaction_due():
    deltas = [at(number, Action.DELTACOMMIT) for number in (1, 2, 3, 5, 6, 7)]
    assert numbers(*deltas, deltas_to_compact=None) == [1, 2, 3, 5]
    assert numbers(*deltas, deltas_to_compact=4) == [1, 2]
    assert numbers(*deltas, at(4), deltas_to_compact=3) == [1, 2, 3, 4]
    assert numbers(*deltas, at(4), deltas_to_compact=5) == [1, 2, 3]
    assert numbers(*deltas, deltas_to_compact=9) == []


def test_what_was_committed_since_the_metadata_table_was_compacted_stays():
    late = at(2, done=9)
    history = [*commits(1, 3, 4, 5), late]
    assert numbers(*history, has_metadata_table=True) == []
    assert numbers(*history, has_metadata_table=True, metadata_compacted=time_of(3)) == [1]
    assert numbers(*history, has_metadata_table=True, metadata_compacted=time_of(3), layout=1) == [1, 2]


def test_what_its_data_table_shows_stays_on_a_metadata_table():
    assert numbers(*commits(1, 2, 3, 4, 5), data_timeline_from=time_of(3)) == [1, 2]


def test_what_a_reader_has_pinned_stays():
    assert numbers(*commits(1, 2, 3, 4, 5), pinned=time_of(2)) == [1]


@pytest.mark.parametrize("state", [DONE, PENDING])
@pytest.mark.parametrize("layout", [1, 2])
def test_a_savepoint_stops_it_or_is_passed_by(layout, state):
    history = [*commits(1, 2, 3, 4, 5), at(2, Action.SAVEPOINT, state)]
    assert numbers(*history, layout=layout) == [1]
    assert numbers(*history, layout=layout, is_beyond_savepoint=True) == [1, 3, 4]


def test_cleans_and_rollbacks_go_with_the_commits_before_them_and_the_newest_clean_stays():
    others = [at(2, Action.CLEAN), at(4, Action.ROLLBACK), at(6, Action.CLEAN), at(8, Action.ROLLBACK)]
    history = commits(1, 3, 5, 7, 9)
    assert archived(*history, *others) == [
        (1, "commit"), (2, "clean"), (3, "commit"), (4, "rollback"), (5, "commit"),
    ]  # fmt: skip
    assert numbers(*history, at(2, Action.CLEAN)) == [1, 3, 5]
    assert numbers(*history, at(2, Action.SAVEPOINT), at(4, Action.INDEXING), is_beyond_savepoint=True) == [1, 3, 5]


def test_in_layout_1_cleans_and_rollbacks_are_counted_by_themselves():
    cleans = [at(10 + number, Action.CLEAN) for number in range(5)]
    assert numbers(*commits(1, 2), *cleans, layout=1) == [10, 11, 12]
    assert numbers(*commits(1, 2), *cleans[:4], layout=1) == []
    assert numbers(*commits(1, 2), *cleans, layout=1, has_metadata_table=True, metadata_compacted=time_of(11)) == [10]

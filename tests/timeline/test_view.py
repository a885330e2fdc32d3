from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.building import TIMELINE_LAYOUTS

from pyhudi.errors import InstantNotFound, InvalidInput, OptionError
from pyhudi.timeline.instant import Instant, InstantTime, collapse, parse_name
from pyhudi.timeline.metadata import CommitMetadata
from pyhudi.timeline.view import (
    HollowCommits,
    Timeline,
    as_of,
    as_of_requested,
    changed_between,
    changed_between_requested,
    completed_after,
    completed_writes,
    find_instant,
    is_committed,
    latest_write,
    newest_time,
    pending_instants,
    replaced_file_groups,
    resolve_as_of,
    timeline_of,
)


def day(number: int) -> InstantTime:
    return InstantTime(f"202501{number:02}000000000")


def timeline(*names: str, layout: int = 2, dates: dict[str, InstantTime] | None = None) -> Timeline:
    """Spell instants as `3_5.commit`: days of January."""
    instants = []
    for name in names:
        times, _, rest = name.partition(".")
        spelled = "_".join(day(int(one)) for one in times.split("_"))
        instant = parse_name(f"{spelled}.{rest}")
        assert instant is not None
        instants.append(instant)
    ready = [_dated(one, dates) for one in instants]
    return timeline_of(collapse(ready), TIMELINE_LAYOUTS[layout])


def _dated(instant: Instant, dates: dict[str, InstantTime] | None) -> Instant:
    if dates is None or not instant.is_completed:
        return instant
    return replace(instant, completion_time=dates[instant.requested_time])


def days(instants: object) -> list[int]:
    return [int(one.requested_time[6:8]) for one in instants]  # type: ignore[attr-defined]


def test_the_most_advanced_file_of_an_action_is_its_state():
    seen = timeline("1.commit.requested", "1.inflight", "1_2.commit", "3.commit.requested", "3.inflight")
    assert days(completed_writes(seen)) == [1]
    assert days(pending_instants(seen)) == [3]
    assert find_instant(seen, day(3)).file_name == f"{day(3)}.inflight"
    assert find_instant(seen, day(9)) is None


def test_a_compaction_is_a_commit_when_it_is_done():
    seen = timeline("1.compaction.requested", "1.compaction.inflight", "1_2.commit", "3.compaction.requested")
    assert days(completed_writes(seen)) == [1]
    assert days(pending_instants(seen)) == [3]


def test_an_instant_is_committed_when_completed_or_archived():
    seen = timeline("4_5.commit", "6.commit.requested", "7_8.clean")
    assert is_committed(seen, day(4))
    assert is_committed(seen, day(3))
    assert not is_committed(seen, day(6))
    assert not is_committed(seen, day(5))
    assert not is_committed(seen, day(7))


def test_an_old_pending_instant_is_never_taken_for_archived():
    seen = timeline("2.commit.requested", "2.inflight", "4_5.commit")
    assert not is_committed(seen, day(2))
    assert not is_committed(seen, day(3))
    assert is_committed(seen, day(1))


def test_a_savepointed_commit_does_not_begin_the_active_timeline():
    seen = timeline("2_3.commit", "2_4.savepoint", "6_7.commit")
    assert is_committed(seen, day(2))
    assert is_committed(seen, day(5))


def test_nothing_is_committed_on_an_empty_timeline():
    assert not is_committed(timeline(), day(1))
    assert newest_time(timeline()) is None
    assert latest_write(timeline()) is None


def test_the_newest_time_counts_requests_and_completions_of_every_action():
    assert newest_time(timeline("1_9.commit", "3_4.clean")) == day(9)
    assert newest_time(timeline("1_9.commit", "10.rollback.requested")) == day(10)
    assert newest_time(timeline("1.commit", "2.commit", layout=1, dates={day(1): day(20), day(2): day(21)})) == day(2)


def test_the_latest_write_is_the_one_that_became_visible_last():
    seen = timeline("1_9.commit", "3_4.commit", "10_11.clean")
    assert days([latest_write(seen)]) == [1]


def test_in_layout_1_requested_times_stand_for_completion():
    seen = timeline("1.commit", "3.commit", layout=1, dates={day(1): day(9), day(3): day(4)})
    assert days([latest_write(seen)]) == [3]
    assert days(as_of(seen, day(2)).completed.values()) == [1]


def test_the_concurrent_set_is_what_an_earlier_reading_did_not_show():
    before = timeline("1_2.commit", "3.commit.requested")
    after = timeline("1_2.commit", "3_6.commit", "4_5.commit")
    assert days(completed_after(after, frozenset(before.completed))) == [3, 4]


def test_as_of_hides_what_completed_later_whenever_it_began():
    seen = timeline("1_2.commit", "3_9.commit", "4_5.commit", "6_7.commit")
    then = as_of(seen, day(5))
    assert days(completed_writes(then)) == [1, 4]
    assert not is_committed(then, day(3))
    assert not is_committed(then, day(6))


def test_as_of_before_the_active_timeline_keeps_the_archived_part_up_to_it():
    seen = timeline("5_6.commit", "7_8.commit")
    then = as_of(seen, day(3))
    assert is_committed(then, day(2))
    assert not is_committed(then, day(4))
    assert not is_committed(then, day(5))


def test_what_is_older_stays_committed_where_savepoints_keep_all_that_is_active():
    """As after a restore to a savepoint that kept the archive from going on."""
    seen = timeline("2_3.commit", "2_4.savepoint", "6_7.commit", "6_8.savepoint")
    assert is_committed(seen, day(1))
    assert is_committed(seen, day(2))
    assert is_committed(seen, day(6))
    assert not is_committed(seen, day(9))


def test_as_of_hides_a_savepointed_commit_of_the_archived_part_that_completed_later():
    then = as_of(timeline("2_9.commit", "2_4.savepoint", "6_7.commit"), day(8))
    assert not is_committed(then, day(2))
    assert is_committed(then, day(3))


def test_hudis_as_of_counts_requested_times():
    seen = timeline("1_2.commit", "3_9.commit", "4_5.commit", "6_7.commit")
    assert days(completed_writes(as_of_requested(seen, day(4)))) == [1, 3, 4]


def test_changes_come_by_completion_and_are_open_at_the_start():
    seen = timeline("1_2.commit", "3_9.commit", "4_5.replacecommit", "6_7.commit", "6_8.clean")
    assert days(changed_between(seen, None, None)) == [1, 4, 6, 3]
    assert days(changed_between(seen, day(2), day(7))) == [4, 6]
    assert days(changed_between(seen, day(7), None)) == [3]


HOLLOW = ("1.commit", "2.commit.requested", "3.commit", "4.commit")
DATES = {day(1): day(11), day(3): day(14), day(4): day(13)}


def test_a_hollow_commit_fails_blocks_or_orders_by_dates():
    seen = timeline(*HOLLOW, layout=1, dates=DATES)
    with pytest.raises(OptionError, match=day(2)):
        changed_between_requested(seen, None, None, HollowCommits.FAIL)
    assert days(changed_between_requested(seen, None, None, HollowCommits.BLOCK)) == [1]
    assert days(changed_between_requested(seen, day(11), None, HollowCommits.USE_TRANSITION_TIME)) == [4, 3]


def test_a_pending_instant_behind_all_others_is_no_hollow_commit():
    seen = timeline("1.commit", "3.commit", "4.commit.requested", layout=1, dates={day(1): day(9), day(3): day(9)})
    assert days(changed_between_requested(seen, day(1), day(4), HollowCommits.FAIL)) == [3]


def test_replaced_groups_come_from_completed_replacecommits_only():
    seen = timeline("1_2.commit", "3_4.replacecommit", "5.replacecommit.requested")
    asked = []

    def metadata_of(instant: Instant) -> CommitMetadata:
        asked.append(instant.requested_time)
        return CommitMetadata(operation=None, replaced={"p": ("a-0", "b-0"), "q": ("a-0",)})

    assert replaced_file_groups(seen, metadata_of) == {
        ("p", "a-0"): day(3),
        ("p", "b-0"): day(3),
        ("q", "a-0"): day(3),
    }
    assert asked == [day(3)]


def test_text_that_is_an_instant_means_that_instant():
    seen = timeline("1_2.commit", "3_9.commit", "4_5.commit")
    assert resolve_as_of(seen, day(3), UTC).completion_time == day(9)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("2025-01-08", 4),
        ("2025-01-09", 3),
        ("2025-01-04 23:59", 1),
        (datetime(2025, 1, 31, tzinfo=UTC), 3),
        (day(8), 4),
    ],
)
def test_any_other_text_is_wall_time_and_means_the_latest_visible_write(given, found):
    seen = timeline("1_2.commit", "3_9.commit", "4_5.commit")
    assert days([resolve_as_of(seen, given, UTC)]) == [found]


@pytest.mark.parametrize("text", [day(5), "20250103000000001", "2025-01-03", "2024-01-01"])
def test_a_pending_instant_or_a_time_before_everything_is_not_found(text):
    with pytest.raises(InstantNotFound):
        resolve_as_of(timeline("3_4.commit", "5.commit.requested"), text, UTC)


def test_other_text_is_invalid():
    with pytest.raises(InvalidInput):
        resolve_as_of(timeline("3_4.commit"), "last week", UTC)


_histories = st.lists(
    st.tuples(st.integers(1, 15), st.integers(0, 9), st.booleans()), max_size=8, unique_by=lambda one: one[0]
)


@given(_histories, st.integers(1, 28))
def test_reading_as_of_a_point_is_reading_the_timeline_that_was_there(history, point):
    """What `as_of` shows equals the timeline of only those actions that were complete at that point."""
    names = [f"{at}_{at + took}.commit" if is_done else f"{at}.commit.requested" for at, took, is_done in history]
    then = as_of(timeline(*names), day(point))
    expected = {day(at) for at, took, is_done in history if is_done and at + took <= point}
    assert {one.requested_time for one in completed_writes(then)} == expected
    first = min((at for at, _, _ in history), default=99)
    assert all(is_committed(then, day(at)) == (day(at) in expected) for at in range(first, 29))

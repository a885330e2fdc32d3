"""The planner, on histories that are only names; a brute force of ten lines says what must stay."""

from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.building import TIMELINE_LAYOUTS

from pyhudi.filegroup.file_index import FILES
from pyhudi.filegroup.model import FileGroupId
from pyhudi.filegroup.view import latest_file_slices
from pyhudi.services.clean.plan import BYTES, HELD, SAVEPOINTS, CleanSnapshot, plan_clean
from pyhudi.services.clean.retention import Retention, earliest_retained, horizon_of, pending_writes
from pyhudi.timeline.cleaning import CleaningPolicy
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.view import as_of, timeline_of

COMMITS, HOURS, VERSIONS = CleaningPolicy


def at(number):
    return f"2026010100{number:07d}"


def commit(number, done=None, action=Action.COMMIT):
    """Make a write that was requested and completed at these numbers; pending without the second."""
    state = State.COMPLETED if done is not None else State.INFLIGHT
    completion = at(done) if done is not None else None
    return Instant(requested_time=at(number), action=action, state=state, completion_time=completion)


def base(group, number, partition="p"):
    return partition, f"{group}_0-0-0_{at(number)}.parquet", 100


def log(group, number, partition="p"):
    return partition, f".{group}_{at(number)}.log.1_0-0-0", 10


def listed(*files):
    columns = list(zip(*sorted(files), strict=True)) or [(), (), ()]
    return pa.table([pa.array(column, kind.type) for column, kind in zip(columns, FILES, strict=True)], schema=FILES)


def retention(policy=COMMITS, *, commits=2, hours=24, versions=1, most=10**9):
    return Retention(policy=policy, commits=commits, hours=hours, versions=versions, most_commits=most)


def snapshot(instants, files, kept=None, *, layout=2, cutoff=0, **more):
    kept, timeline = kept or retention(), timeline_of(instants, TIMELINE_LAYOUTS[layout])
    partitions = sorted({one[0] for one in files})
    return CleanSnapshot(
        timeline=timeline,
        retention=kept,
        earliest=earliest_retained(timeline, kept, at(cutoff)),
        files=listed(*files),
        partitions=partitions,
        **more,
    )


def taken(given):
    """Return the files that a plan takes, as (partition, name)."""
    return {(where, name) for where, names in plan_clean(given).files.items() for name in names}


def serial(count):
    """Return commits one after the other: the n-th is requested at 10n and completed at 10n + 5."""
    return [commit(10 * n, 10 * n + 5) for n in range(1, count + 1)]


def names(*files):
    return {one[:2] for one in files}


def test_the_state_before_the_earliest_retained_commit_stays_readable():
    files = [base("g", 10 * n) for n in range(1, 6)]
    found = plan_clean(snapshot(serial(5), files))
    assert found.earliest.time == at(40)
    assert found.earliest.state == "COMPLETED"
    assert found.last_completed == at(50)
    assert set(found.files["p"]) == {one[1] for one in files[:2]}
    assert found.extra == {BYTES: "200"}


def test_the_newest_slice_stays_however_old():
    assert taken(snapshot(serial(9), [base("g", 10), base("h", 20)])) == set()


def test_by_hours_the_state_before_the_window_stays_too():
    files = [base("g", 10 * n) for n in (1, 2, 3, 5)]
    assert taken(snapshot(serial(5), files, retention(HOURS), cutoff=40)) == names(*files[:2])


def test_by_versions_so_many_slices_of_a_group_stay():
    files = [base("g", 10 * n) for n in range(1, 6)]
    found = plan_clean(snapshot(serial(5), files, retention(VERSIONS, versions=2)))
    assert found.earliest is None
    assert set(found.files["p"]) == {one[1] for one in files[:3]}


def test_logs_go_with_their_slice():
    files = [base("g", 10), log("g", 20), log("g", 30), base("g", 40), log("g", 50)]
    assert taken(snapshot(serial(8), files)) == names(*files[:3])


def test_in_layout_1_a_log_goes_with_the_slice_that_its_name_says():
    files = [base("g", 10), log("g", 10), base("g", 40), log("g", 40)]
    assert taken(snapshot(serial(8), files, layout=1)) == names(*files[:2])


def test_a_slice_of_logs_alone_is_superseded_by_a_base_file():
    files = [log("g", 10), log("g", 20), base("g", 40)]
    assert taken(snapshot(serial(8), files)) == names(*files[:2])


def test_files_of_writes_that_are_not_committed_are_left_to_their_writer():
    files = [base("g", 10), base("g", 20), base("g", 95), base("h", 95)]
    instants = [*serial(8), commit(95)]
    assert taken(snapshot(instants, files)) == names(files[0])


def test_what_a_pending_write_reads_stays():
    """It began when only the first was visible; the second was requested earlier, and completed later."""
    files = [base("g", 10), base("g", 20), base("g", 60)]
    instants = [commit(10, 15), commit(20, 35), commit(30), *(commit(n, n + 5) for n in (40, 50, 60, 70))]
    found = plan_clean(snapshot(instants, files))
    assert (found.earliest.time, found.earliest.state) == (at(30), "INFLIGHT")
    assert found.files == {}


def test_what_a_pending_write_reads_stays_also_where_versions_are_counted():
    files = [base("g", 10), base("g", 20), base("g", 40)]
    instants = [commit(10, 15), commit(20, 25), commit(30), commit(40, 45)]
    kept = retention(VERSIONS)
    moments = [one.requested_time for one in pending_writes(timeline_of(instants, TIMELINE_LAYOUTS[2]))]
    assert taken(snapshot(instants, files, kept, moments=moments)) == names(files[0])


def test_a_commit_that_was_requested_later_and_seen_earlier_moves_the_horizon():
    instants = [commit(10, 15), commit(20, 65), commit(30, 35), commit(40, 45), commit(50, 95)]
    files = [base("g", 10), base("g", 20), base("g", 50)]
    given = snapshot(instants, files, retention(commits=2))
    assert horizon_of(given.timeline, given.earliest) == at(45)
    assert taken(given) == set()  # as of 45 the first is what readers see


@pytest.mark.parametrize("policy", [COMMITS, VERSIONS])
def test_a_pinned_moment_stays_readable_and_its_partition_is_looked_at_again(policy):
    files = [base("g", 10 * n) for n in range(1, 6)]
    given = snapshot(serial(9), files, retention(policy), moments=[at(25)])
    assert taken(given) == names(files[0], *files[2:4])
    assert plan_clean(given).extra[HELD] == '["p"]'


def test_a_pinned_moment_that_the_policy_keeps_holds_nothing():
    files = [base("g", 10 * n) for n in range(1, 6)]
    assert HELD not in plan_clean(snapshot(serial(5), files, moments=[at(55)])).extra


def test_files_that_a_savepoint_names_stay_with_their_slice():
    files = [base("g", 10), log("g", 10), base("g", 20), base("g", 30), base("g", 40)]
    saved = {at(20): {"p": frozenset({files[2][1]})}, at(10): {"other": frozenset({files[0][1]})}}
    given = snapshot(serial(9), files, savepoints=saved)
    assert taken(given) == names(*files[:2], files[3])
    assert plan_clean(given).extra[SAVEPOINTS] == f"{at(10)},{at(20)}"
    assert plan_clean(given).extra[HELD] == '["p"]'


def test_groups_that_a_plan_names_stay_whole():
    files = [base("g", 10), base("g", 20), base("h", 10), base("h", 20)]
    given = snapshot(serial(9), files, planned=frozenset({FileGroupId(partition="p", file_id="g")}))
    assert taken(given) == names(files[2])


@pytest.mark.parametrize(("replaced_at", "is_taken"), [(20, True), (80, False), (90, False)])
def test_a_replaced_group_goes_whole_once_its_replacement_is_older_than_what_is_retained(replaced_at, is_taken):
    files = [base("g", 10), log("g", 10), base("h", 50)]
    instants = [one for one in serial(9) if one.requested_time != at(replaced_at)]
    instants.append(commit(replaced_at, replaced_at + 5, Action.REPLACECOMMIT))
    given = snapshot(sorted(instants), files, replaced={("p", "g"): at(replaced_at)})
    assert taken(given) == (names(*files[:2]) if is_taken else set())


def test_by_versions_a_replaced_group_goes_at_once():
    files = [base("g", 10), base("h", 50)]
    instants = [*serial(8), commit(90, 95, Action.REPLACECOMMIT)]
    kept = retention(VERSIONS, versions=3)
    assert taken(snapshot(instants, files, kept, replaced={("p", "g"): at(90)})) == names(files[0])


def test_a_partition_in_which_nothing_is_left_goes_and_the_root_never():
    files = [base("g", 10, "p"), base("g", 10, ""), base("h", 10, "q"), base("i", 50, "q")]
    instants = [*serial(1), commit(20, 25, Action.REPLACECOMMIT), *serial(9)[2:]]
    gone = {(where, "g"): at(20) for where in ("p", "")} | {("q", "h"): at(20)}
    found = plan_clean(snapshot(instants, files, replaced=gone))
    assert (found.partitions, set(found.files)) == (("p",), {"", "p", "q"})


def test_a_partition_with_files_of_a_pending_write_stays():
    files = [base("g", 10), base("h", 95)]
    instants = [*serial(1), commit(20, 25, Action.REPLACECOMMIT), *serial(9)[2:], commit(95)]
    assert plan_clean(snapshot(instants, files, replaced={("p", "g"): at(20)})).partitions == ()


def test_a_partition_that_was_empty_before_goes_without_files():
    given = snapshot(serial(9), [base("g", 10)])
    found = plan_clean(CleanSnapshot(**{**_fields(given), "partitions": ["p", "q"]}))
    assert (found.partitions, found.files) == (("q",), {})


def test_very_many_partitions_are_not_named_one_by_one():
    files = [base("g", 10 * n, f"p{number}") for number in range(1001) for n in (1, 2, 3)]
    given = snapshot(serial(9), files, moments=[at(15)])
    assert plan_clean(given).extra[HELD] == '["*"]'


def _fields(given):
    return {name: getattr(given, name) for name in given.__slots__}


# against brute force


@dataclass
class History:
    """Instants and files that a table may have."""

    layout: int
    instants: list = field(default_factory=list)
    files: list = field(default_factory=list)
    replaced: dict = field(default_factory=dict)


@st.composite
def histories(draw, *, is_serial=False):
    """Draw writes of three file groups; some write logs, some replace a group.

    Serial ones write to no group that was replaced; the others overlap, or are pending.
    """
    history = History(draw(st.sampled_from([1, 2])))
    times = list(range(1, 17)) if is_serial else draw(st.permutations(range(1, 17)))
    for first, second in zip(times[::2], times[1::2], strict=True):
        number, done = sorted((first, second))
        is_pending = not is_serial and draw(st.integers(0, 9)) == 0
        replaces = draw(st.integers(0, 9)) == 0
        action = Action.REPLACECOMMIT if replaces else Action.COMMIT
        history.instants.append(commit(number, None if is_pending else done, action))
        taken_away = draw(st.sampled_from("ghi")) if replaces and not is_pending else None
        if is_serial and ("p", taken_away) in history.replaced:
            taken_away = None
        gone = {group for _, group in history.replaced} | {taken_away} if is_serial else set()
        for group in sorted(draw(st.sets(st.sampled_from("ghi"), max_size=3)) - gone):
            is_log = history.layout == 2 and draw(st.integers(0, 3)) == 0
            history.files.append(log(group, number) if is_log else base(group, number))
        if taken_away is not None:
            history.replaced.setdefault(("p", taken_away), at(number))
    history.instants.sort()
    return history


def seen(history, timeline):
    """Return the files that readers of a cut timeline open."""
    slices = latest_file_slices(listed(*history.files), timeline, history.replaced)
    return {("p", file.name) for one in slices for file in (one.base, *one.logs) if file is not None}


def needed(history, timeline, earliest):
    """Return what readers need of every moment from right before the horizon on: brute force over all points."""
    horizon = horizon_of(timeline, earliest)
    points = sorted(timeline.point(one) for one in timeline.completed.values())
    before = [point for point in points if point < horizon][-1:]
    moments = before + [point for point in points if point >= horizon]
    return set().union(*(seen(history, as_of(timeline, moment)) for moment in moments))


def judged(history, commits):
    """Return what goes, and what brute force says must stay; None where nothing may go."""
    timeline, kept = timeline_of(history.instants, TIMELINE_LAYOUTS[history.layout]), retention(commits=commits)
    earliest = earliest_retained(timeline, kept, at(0))
    if earliest is None:
        return None
    given_ = snapshot(history.instants, history.files, kept, layout=history.layout, replaced=history.replaced)
    return taken(given_), needed(history, timeline, earliest)


@given(histories(), st.integers(1, 4))
def test_nothing_goes_that_a_retained_moment_needs(history, commits):
    found = judged(history, commits)
    assert found is None or not found[0] & found[1]


@given(histories(is_serial=True), st.integers(1, 4))
def test_where_writes_follow_each_other_exactly_what_no_retained_moment_needs_goes(history, commits):
    found = judged(history, commits)
    if found is not None:
        gone, stays = found
        assert gone == names(*history.files) - stays


@given(histories(), st.integers(1, 3), st.integers(0, 17))
def test_by_versions_nothing_goes_that_is_newest_or_pinned(history, versions, moment):
    timeline = timeline_of(history.instants, TIMELINE_LAYOUTS[history.layout])
    kept = retention(VERSIONS, versions=versions)
    moments = [at(moment), *(one.requested_time for one in pending_writes(timeline))]
    given_ = snapshot(
        history.instants, history.files, kept, layout=history.layout, replaced=history.replaced, moments=moments
    )
    stays = seen(history, timeline).union(*(seen(history, as_of(timeline, one)) for one in moments))
    assert not taken(given_) & stays

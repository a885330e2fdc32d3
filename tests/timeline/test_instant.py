import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import CorruptData, InternalError
from pyhudi.timeline.instant import Action, Instant, InstantTime, State, collapse, file_name, parse_name

T, C = InstantTime("20260307162648587"), InstantTime("20260307162649803")


def instant(action: Action, state: State, completion: InstantTime | None = None) -> Instant:
    return Instant(requested_time=T, action=action, state=state, completion_time=completion)


@pytest.mark.parametrize(
    ("action", "state", "layout_1", "layout_2"),
    [
        (Action.COMMIT, State.REQUESTED, f"{T}.commit.requested", f"{T}.commit.requested"),
        (Action.COMMIT, State.INFLIGHT, f"{T}.inflight", f"{T}.inflight"),
        (Action.COMMIT, State.COMPLETED, f"{T}.commit", f"{T}_{C}.commit"),
        (Action.DELTACOMMIT, State.INFLIGHT, f"{T}.deltacommit.inflight", f"{T}.deltacommit.inflight"),
        (Action.COMPACTION, State.COMPLETED, f"{T}.commit", f"{T}_{C}.commit"),
        (Action.LOGCOMPACTION, State.COMPLETED, f"{T}.deltacommit", f"{T}_{C}.deltacommit"),
        (Action.CLUSTERING, State.REQUESTED, f"{T}.replacecommit.requested", f"{T}.clustering.requested"),
        (Action.CLUSTERING, State.INFLIGHT, f"{T}.replacecommit.inflight", f"{T}.clustering.inflight"),
        (Action.CLUSTERING, State.COMPLETED, f"{T}.replacecommit", f"{T}_{C}.replacecommit"),
        (Action.SAVEPOINT, State.COMPLETED, f"{T}.savepoint", f"{T}_{C}.savepoint"),
    ],
)
def test_each_layout_has_its_names(action, state, layout_1, layout_2):
    one = instant(action, state, C if state is State.COMPLETED else None)
    assert (file_name(one, 1), file_name(one, 2)) == (layout_1, layout_2)


@given(st.sampled_from(Action), st.sampled_from(State), st.sampled_from([1, 2]))
def test_a_name_reads_back_as_what_completes_it(action, state, layout):
    one = instant(action, state, C if state is State.COMPLETED else None)
    found = parse_name(file_name(one, layout))
    assert found is not None
    assert (found.requested_time, found.state, found.comparable_action) == (T, state, one.comparable_action)
    assert found.completion_time == (C if state is State.COMPLETED and layout == 2 else None)


@pytest.mark.parametrize(
    "name", ["", "hoodie.properties", f"{T}", f"{T}.", f"{T}.commit.done", f"{T}_{C}.commit.requested", f".{T}.commit"]
)
def test_other_names_are_no_instants(name):
    assert parse_name(name) is None


@given(st.text(max_size=40))
def test_any_text_is_read_or_left_alone_or_corrupt(text):
    with contextlib.suppress(CorruptData):
        found = parse_name(text)
        assert found is None or found.file_name == text


@pytest.mark.parametrize(
    "time",
    [
        "001",
        "00000000000001",
        "00000000000000010",
        "00000000000000011001",
        "20260307162648",
        T,
        f"{T}001",
        f"{T}010001",
    ],
)
def test_times_of_every_writer_are_read(time):
    assert parse_name(f"{time}.deltacommit").requested_time == time


@pytest.mark.parametrize("time", ["99991231235959999", "100000101000000000", "20260230000000000", "9" * 200])
@pytest.mark.parametrize("name", ["{}.commit", "{}.inflight", "{}.clean.requested", f"{T}_{{}}.commit"])
def test_a_time_that_no_clock_shows_is_corrupt_data_that_names_the_file(name, time):
    with pytest.raises(CorruptData, match=time):
        parse_name(name.format(time))


def test_two_completions_of_one_action_collapse_to_the_later():
    names = [f"{T}.clean.requested", f"{T}_{C}.clean", f"{T}_{C[:-1]}9.clean"]
    (one,) = collapse(found for name in names if (found := parse_name(name)))
    assert one.completion_time == f"{C[:-1]}9"


def test_a_savepoint_stays_beside_the_commit_it_keeps():
    names = [f"{T}_{C}.commit", f"{T}_{C}.savepoint"]
    assert len(collapse(found for name in names if (found := parse_name(name)))) == 2


def test_a_completed_instant_of_layout_2_needs_its_completion_time():
    with pytest.raises(InternalError):
        file_name(instant(Action.COMMIT, State.COMPLETED), 2)


def test_a_name_is_read_once():
    assert parse_name(f"{T}.commit") is parse_name(f"{T}.commit"), "a write lists the timeline several times"

import pytest
from tests.faulty import FaultyStorage
from tests.new_states import new_state
from tests.queries.cleaning import clean_metadata, clean_plan, put_instant
from tests.timeline.test_history import archive
from tests.txn.writing import through

from pyhudi.errors import CorruptData
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.cleaning import CleanMetadata
from pyhudi.timeline.cleans import cleaned_since, files_being_cleaned, last_clean
from pyhudi.timeline.codec import encode_clean_metadata
from pyhudi.timeline.instant import Action, State
from pyhudi.timeline.view import as_of

FIRST, SECOND, THIRD, FOURTH = (f"2027010{day}000000000" for day in (1, 2, 3, 4))


@pytest.fixture(params=[6, 8, 9])
def state(request):
    return new_state(request.param)


def since(state, point):
    """Read what was taken since a point, as files by partition."""
    return dict(cleaned_since(state, as_of(load_timeline(state), point)))


@pytest.mark.parametrize("kind", ["deletePathPatterns", "successDeleteFiles", "failedDeleteFiles"])
def test_a_file_counts_as_taken_whichever_list_names_it(state, kind):
    data = clean_metadata({"sf": ["one.parquet", "file:/tables/sf/two.parquet"], "": ["three.parquet"]}, kind)
    put_instant(state, SECOND, Action.CLEAN, data)
    assert since(state, FIRST) == {"sf": {"one.parquet", "two.parquet"}, "": {"three.parquet"}}


def test_the_files_of_several_cleans_are_put_together(state):
    put_instant(state, SECOND, Action.CLEAN, clean_metadata({"sf": ["one"]}))
    put_instant(state, THIRD, Action.CLEAN, clean_metadata({"sf": ["two"], "rio": ["three"]}))
    put_instant(state, FOURTH, Action.CLEAN, clean_plan({"rio": ["four"]}), progress=State.REQUESTED)
    assert since(state, FIRST) == {"sf": {"one", "two"}, "rio": {"three", "four"}}


@pytest.mark.parametrize("version", [8, 9])
def test_a_clean_that_was_completed_before_the_moment_is_not_read(version):
    state = new_state(version)
    put_instant(state, FIRST, Action.CLEAN, b"is not read", done=SECOND)
    put_instant(state, THIRD, Action.CLEAN, clean_metadata({"sf": ["one"]}))
    faulty = FaultyStorage(state.storage)
    assert since(through(state, faulty), SECOND) == {"sf": {"one"}}
    history = state.layout.history_path
    assert not [one for one in faulty.operations if one.path.startswith(history)]


@pytest.mark.parametrize("version", [8, 9])
def test_archived_cleans_count_where_none_before_the_moment_is_active(version):
    state = new_state(version)
    rows = [
        (FIRST, FIRST, "clean", clean_metadata({"sf": ["early"]}), b"", 1),
        (SECOND, SECOND, "commit", b"", b"", 1),
        (SECOND, THIRD, "clean", clean_metadata({"sf": ["one"]}), b"", 1),
    ]
    archive(state, *rows)
    put_instant(state, FOURTH, Action.CLEAN, clean_metadata({"rio": ["two"]}))
    assert since(state, FIRST) == {"sf": {"one"}, "rio": {"two"}}


def test_a_clean_that_says_something_else_is_corrupt_by_name(state):
    done = put_instant(state, SECOND, Action.CLEAN, b"not Avro")
    with pytest.raises(CorruptData) as refused:
        since(state, FIRST)
    assert refused.value.values["file"].endswith(done.file_name)
    state.storage.delete(f"{state.layout.timeline_path}/{done.file_name}")
    for data in (b'{"partitionMetadata": [1]}', b'{"partitionMetadata": {"sf": {"successDeleteFiles": [1]}}}'):
        put_instant(state, SECOND, Action.CLEAN, data)
        with pytest.raises(CorruptData) as refused:
            since(state, FIRST)
        assert refused.value.values["file"].endswith(done.file_name)


def test_the_newest_clean_that_is_completed_is_the_last_one(state):
    assert last_clean(state, load_timeline(state)) is None
    for time in (FIRST, THIRD):
        said = CleanMetadata(start_time=time, time_taken_ms=1, earliest=time, last_completed="", extra={})
        put_instant(state, time, Action.CLEAN, encode_clean_metadata(said, b"n" * 16))
    put_instant(state, FOURTH, Action.CLEAN, clean_plan({"rio": ["four"]}), progress=State.REQUESTED)
    assert last_clean(state, load_timeline(state)).earliest == THIRD


def test_a_clean_that_was_archived_since_is_passed_over(version):
    state = new_state(version)
    for time in (FIRST, THIRD):
        said = CleanMetadata(start_time=time, time_taken_ms=1, earliest=time, last_completed="", extra={})
        put_instant(state, time, Action.CLEAN, encode_clean_metadata(said, b"n" * 16))
    timeline = load_timeline(state)
    state.storage.delete(f"{state.layout.timeline_path}/{timeline.instants[-1].file_name}")
    assert last_clean(state, timeline).earliest == FIRST


def test_what_pending_cleans_name_may_be_gone(state):
    put_instant(state, SECOND, Action.CLEAN, clean_metadata({"sf": ["one"]}))
    assert files_being_cleaned(state, load_timeline(state)) == set()
    put_instant(state, FOURTH, Action.CLEAN, clean_plan({"rio": ["four"]}), progress=State.REQUESTED)
    assert files_being_cleaned(state, load_timeline(state)) == {("rio", "four")}

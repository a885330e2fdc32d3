"""The history is what was archived, whatever a crash cut short: nothing is lost, nothing comes twice."""

import itertools

import pyarrow as pa
import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage, SimulatedCrash
from tests.new_states import new_state
from tests.txn.writing import through

from pyhudi.errors import CorruptData, WriteConflict
from pyhudi.options import Settings
from pyhudi.timeline.lsm import (
    ARCHIVED,
    append_history,
    compact_history,
    load_archived,
    read_manifest,
)

SMALL = Settings.of({"hoodie.timeline.compaction.batch.size": 2})
STEPS = frozenset({"put", "open_output", "delete"})


@pytest.fixture
def state():
    return new_state()


def held():
    """The lock is held."""


def time_of(number):
    return f"20260101{number:09d}"


def rows_of(*numbers, action="commit"):
    rows = [
        {
            "instantTime": time_of(number),
            "completionTime": time_of(number + 1),
            "action": action,
            "metadata": b"m%d" % number,
            "plan": None,
            "version": 1,
        }
        for number in numbers
    ]
    return pa.Table.from_pylist(rows, ARCHIVED)


def loaded(state, **bounds):
    return [one["instantTime"] for one in load_archived(state, ["instantTime"], **bounds).to_pylist()]


def files_of(state):
    return {name for name in state.storage.list_names(state.layout.history_path) if name.endswith(".parquet")}


def test_what_was_archived_is_loaded_with_the_columns_that_are_asked_for(state):
    append_history(state, rows_of(3, 1, 2), held)
    append_history(state, rows_of(5, 4, action="clean"), held)
    assert load_archived(state, ARCHIVED.names).equals(
        pa.concat_tables([rows_of(1, 2, 3), rows_of(4, 5, action="clean")])
    )
    assert load_archived(state, ["completionTime"]).schema.names == ["completionTime"]
    assert read_manifest(state).version == 2


def test_nothing_was_archived_from_a_new_table(state):
    assert load_archived(state, ARCHIVED.names).equals(ARCHIVED.empty_table())
    compact_history(state, Settings.of({}), held)
    assert state.storage.list_names(state.layout.history_path) == ()


@pytest.mark.parametrize(("first", "last"), list(itertools.product((None, 0, 2, 5, 9), repeat=2)))
def test_only_files_of_the_range_are_opened(state, first, last):
    for pair in ((1, 2), (3, 4), (5, 6)):
        append_history(state, rows_of(*pair), held)
    counted = FaultyStorage(state.storage)
    bounds = {
        "first": None if first is None else time_of(first),
        "last": None if last is None else time_of(last),
    }

    def is_wanted(number):
        return (first is None or number >= first) and (last is None or number <= last)

    wanted = [number for number in range(1, 7) if is_wanted(number)]
    assert loaded(through(state, counted), **bounds) == [time_of(number) for number in wanted]
    opened = [one for one in ((1, 2), (3, 4), (5, 6)) if any(map(is_wanted, one))]
    assert counted.count("open_input") == len(opened)


def test_what_the_history_has_is_not_archived_again(state):
    append_history(state, rows_of(1, 2), held)
    append_history(state, rows_of(1, 2, 3), held)
    append_history(state, rows_of(2), held)
    assert loaded(state) == [time_of(1), time_of(2), time_of(3)]
    assert [one.name for one in read_manifest(state).files] == [
        f"{time_of(1)}_{time_of(2)}_0.parquet",
        f"{time_of(3)}_{time_of(3)}_0.parquet",
    ]


def test_an_instant_that_another_writer_archived_twice_comes_once(state):
    append_history(state, rows_of(1, 2), held)
    copy = state.storage.get(f"{state.layout.history_path}/{time_of(1)}_{time_of(2)}_0.parquet")
    name = f"{time_of(0)}_{time_of(2)}_0.parquet"
    state.storage.put(f"{state.layout.history_path}/{name}", copy)
    manifest = state.storage.get(f"{state.layout.history_path}/manifest_1").decode()
    both = manifest.replace("[ {", f'[ {{"fileName": "{name}", "fileLen": {len(copy)}}}, {{')
    state.storage.put(f"{state.layout.history_path}/manifest_1", both.encode())
    assert loaded(state) == [time_of(1), time_of(2)]


def test_files_are_joined_level_by_level_and_old_ones_go(state):
    for number in range(1, 9):
        append_history(state, rows_of(number), held)
        compact_history(state, SMALL, held)
        assert loaded(state) == [time_of(one) for one in range(1, number + 1)]
    assert [one.name for one in read_manifest(state).files] == [f"{time_of(1)}_{time_of(8)}_3.parquet"]
    named = {one for one in files_of(state) if one.endswith("_3.parquet")}
    manifests = [name for name in state.storage.list_names(state.layout.history_path) if name.startswith("manifest_")]
    assert len(manifests) == 3 + 3
    assert named
    compact_history(state, SMALL, held)
    assert len([name for name in state.storage.list_names(state.layout.history_path) if "manifest" in name]) == 3


def test_files_of_the_size_that_is_aimed_at_are_not_joined(state):
    for number in range(1, 4):
        append_history(state, rows_of(number), held)
    compact_history(state, SMALL, held)
    large = Settings.of(
        {"hoodie.timeline.compaction.batch.size": 2, "hoodie.timeline.compaction.target.file.max.bytes": 1}
    )
    before = read_manifest(state)
    compact_history(state, large, held)
    assert read_manifest(state) == before


def test_a_file_whose_name_is_no_range_is_looked_into(state):
    """An upgrade from version 6 writes rows in no order, and names the file by the first and the last row."""
    append_history(state, rows_of(1, 5, 9), held)
    directory, odd = state.layout.history_path, f"{time_of(5)}_{time_of(3)}_0.parquet"
    state.storage.put(f"{directory}/{odd}", state.storage.get(f"{directory}/{time_of(1)}_{time_of(9)}_0.parquet"))
    manifest = state.storage.get(f"{directory}/manifest_1").decode()
    state.storage.put(f"{directory}/manifest_1", manifest.replace(f"{time_of(1)}_{time_of(9)}_0", odd[:-8]).encode())
    assert loaded(state, first=time_of(9)) == [time_of(9)]
    append_history(state, rows_of(11), held)
    compact_history(state, SMALL, held)
    assert [one.name for one in read_manifest(state).files] == [f"{time_of(1)}_{time_of(11)}_1.parquet"]


@pytest.mark.parametrize("kind", [FaultKind.CRASH_BEFORE, FaultKind.CRASH_AFTER])
def test_a_crash_at_any_step_loses_nothing_and_the_next_writer_goes_on(kind):
    for at in itertools.count(1):
        state = new_state()
        for number in (1, 2, 3):
            append_history(state, rows_of(number), held)
            compact_history(state, SMALL, held)
        stopped = through(
            state, FaultyStorage(state.storage, plan=[Fault(kind=kind, operations=STEPS, path="*history*", at=at)])
        )
        has_ended = False
        try:
            append_history(stopped, rows_of(4, 5), held)
            compact_history(stopped, SMALL, held)
            has_ended = True
        except SimulatedCrash:
            pass
        before, after = [time_of(one) for one in (1, 2, 3)], [time_of(one) for one in (1, 2, 3, 4, 5)]
        assert loaded(state) in ((after,) if has_ended else (before, after))
        append_history(state, rows_of(4, 5, 6), held)
        compact_history(state, SMALL, held)
        assert loaded(state) == [*after, time_of(6)]
        named = {one.name for one in read_manifest(state).files}
        assert named <= files_of(state)
        if has_ended:
            assert at > 4
            return


def test_two_archivers_of_which_one_lost_its_lock_do_not_take_each_others_instants(state):
    append_history(state, rows_of(1), held)
    turn = iter([True])

    def overtaken():
        if next(turn, False):
            append_history(state, rows_of(2), held)

    with pytest.raises(WriteConflict):
        append_history(state, rows_of(2, 3), overtaken)
    assert loaded(state) == [time_of(1), time_of(2)]


def test_a_reader_whose_file_was_joined_reads_the_manifest_again(state):
    append_history(state, rows_of(1), held)
    append_history(state, rows_of(2), held)

    class Meanwhile:
        is_due = True

        def __getattr__(self, name):
            return getattr(state.storage, name)

        def open_input(self, path):
            if self.is_due:
                self.is_due = False
                compact_history(state, SMALL, held)
                state.storage.delete(path)
            return state.storage.open_input(path)

    assert loaded(through(state, Meanwhile())) == [time_of(1), time_of(2)]


def test_a_file_that_is_lost_is_named(state):
    append_history(state, rows_of(1), held)
    name = read_manifest(state).files[0].name
    state.storage.delete(f"{state.layout.history_path}/{name}")
    with pytest.raises(CorruptData) as refused:
        loaded(state)
    assert refused.value.values["path"].endswith(name)

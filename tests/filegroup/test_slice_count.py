"""Counts of file slices: what a read of all rows would yield, by few columns of few rows."""

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.filegroup.slices import BY_COMMIT, BY_EVENT, Change, History, random_history
from tests.filegroup.test_reader import read, spec_of
from tests.filegroup.test_writer import LAYOUT
from tests.kernels.test_fold import FILLS, SPECS

from pyhudi.filegroup import slice_count
from pyhudi.filegroup.slice_count import count_slice
from pyhudi.kernels.mergers import Merger
from pyhudi.schema.meta_fields import RECORD_KEY


def count(history, **said):
    return count_slice(history.slice, storage=history.storage, spec=spec_of(history.merge, **said))


@pytest.fixture
def seen(monkeypatch):
    """Note which columns of a base file are read, and of how many rows; no slice is read as a whole."""
    found = []

    def noting(read_some):
        def reads(source, wanted, footer, parts, **how):
            numbers = slice_count.rows_of_parts(footer, parts)
            found.append((wanted.names, len(numbers)))
            return read_some(source, wanted, footer, parts, **how)

        return reads

    for name in ("stored_columns", "read_columns"):
        monkeypatch.setattr(slice_count, name, noting(getattr(slice_count, name)))
    monkeypatch.setattr(slice_count, "read_slice", None)
    return found


@pytest.mark.parametrize("merge", [*SPECS, *FILLS], ids=str)
@pytest.mark.parametrize("has_positions", [False, True])
def test_a_random_history_has_as_many_rows_as_are_read(merge, has_positions):
    for seed in range(12):
        history = random_history(seed, merge, has_positions=has_positions)
        assert count(history) == read(history).num_rows, seed


@pytest.mark.parametrize("merge", [BY_EVENT, BY_COMMIT], ids=["event", "commit"])
@pytest.mark.parametrize("seed", range(30))
def test_a_random_history_has_as_many_rows_as_a_dict_of_them(seed, merge):
    history = random_history(seed, merge)
    assert count(history) == len(history.rows())


def stored(merge=BY_EVENT, rows=70):
    history = History(merge=merge)
    history.write_base(*(Change(f"k{number:03}", 5, 1.0) for number in range(rows)))
    return history


def test_only_keys_near_those_of_the_logs_are_read(seen):
    history = stored()
    history.append(Change("k010", 6), Change("k011", 1), Change("new", 1))
    assert count(history) == 71
    assert seen == [([RECORD_KEY], 7)]


def test_ordering_values_are_read_of_rows_that_a_delete_meets(seen):
    history = stored()
    history.append(Change("k010", 6), Change("k030", 4, is_delete=True), Change("k031", 5, is_delete=True))
    assert count(history) == 69
    assert [names for names, _ in seen] == [[RECORD_KEY], ["ts"]]
    assert seen[1][1] <= 14


@pytest.mark.parametrize(
    ("merge", "is_unordered"), [(BY_EVENT, True), (BY_COMMIT, False)], ids=["without value", "by commits"]
)
def test_a_delete_that_always_wins_asks_for_no_ordering_value(seen, merge, is_unordered):
    history = stored(merge)
    history.append(Change("k030", 1, is_delete=True, is_unordered=is_unordered))
    assert count(history) == 69
    assert [names for names, _ in seen] == [[RECORD_KEY]]


def test_positions_tell_without_a_key(seen):
    history = stored(BY_COMMIT)
    history.append(Change("k010", 6), Change("k030", 1, is_delete=True), has_positions=True)
    assert count(history) == 69
    assert seen == []


def test_each_row_of_a_key_that_is_stored_twice_counts():
    history = History()
    history.write_base(Change("a", 1), Change("a", 5), Change("b", 1))
    history.append(Change("a", 2), Change("b", 2, is_delete=True))
    assert count(history) == read(history).num_rows == 2
    history.append(Change("a", 3, is_delete=True))
    assert count(history) == read(history).num_rows == 1


def test_logs_alone_are_counted():
    history = History()
    history.append(Change("a", 1), Change("b", 1))
    history.append(Change("a", 2, is_delete=True))
    assert count(history) == 1


def test_keys_that_are_not_stored_are_computed():
    layout = replace(LAYOUT, has_meta_values=False)
    history = History(layout=layout)
    history.write_base(Change("a", 1), Change("b", 1))
    history.append(Change("b", 2), Change("a", 0, is_delete=True, is_unordered=True), Change("c", 1))
    assert count(history, layout=layout) == 2


def test_logs_that_do_not_fit_into_memory_are_counted_by_shares():
    history = random_history(3, BY_EVENT)
    assert count(history, memory_bytes=2_000) == len(history.rows())


def test_a_function_of_the_user_may_delete_what_it_likes():
    def drops_all(older, newer):
        return newer.select(["uuid"]).append_column("_hoodie_is_deleted", pa.array([True] * newer.num_rows))

    history = stored()
    history.append(Change("k010", 6))
    merging = replace(history.merge, merger=Merger(name="drops", function=drops_all))
    assert count(replace(history, merge=merging)) == 69

"""Keys of which logs alone say what becomes of them: what is read among them is what is read of everything."""

import random
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.filegroup.slices import BY_COMMIT, BY_EVENT, Change, History, random_history
from tests.filegroup.test_reader import MODES, rows_of, spec_of

from pyhudi.filegroup import reader
from pyhudi.filegroup.reader import read_slice
from pyhudi.kernels.rules import Fill


def read_among(history, keys, merge=None):
    spec = spec_of(merge or history.merge)
    batches = read_slice(history.slice, storage=history.storage, spec=spec, among=pa.array(keys, pa.string()))
    return pa.Table.from_batches(batches, spec.shown)


@pytest.fixture
def reads(monkeypatch):
    """Return the base files whose columns were read, one entry a time."""
    seen = []
    read = reader.stored_columns

    def watched(source, *args, **said):
        seen.append(source)
        return read(source, *args, **said)

    monkeypatch.setattr(reader, "stored_columns", watched)
    return seen


@MODES
@pytest.mark.parametrize("has_positions", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_rows_among_keys_are_those_of_the_whole_read(seed, merge, has_positions, reads):
    history = random_history(seed, merge, has_positions=has_positions)
    choices, newest = random.Random(seed), history.commits[-1]
    for count in (1, 2, 5):
        keys = [one.key for one in choices.sample(newest, min(count, len(newest)))]
        found = [row for row in rows_of(read_among(history, keys)) if row[0] in keys]
        assert found == [row for row in history.rows() if row[0] in keys]


@pytest.fixture(params=[BY_EVENT, BY_COMMIT], ids=["event", "commit"])
def history(request):
    """Return a base file of a, b and c with ordering values up to 5, and a log of a and b."""
    history = History(merge=request.param)
    history.write_base(Change("a", 1), Change("b", 5), Change("c", 2))
    history.append(Change("a", 5, 10.0), Change("b", 6, 11.0))
    return history


@pytest.mark.parametrize("keys", [["a"], ["a", "b"]])
def test_keys_that_logs_have_are_read_without_the_base_file(history, keys, reads):
    assert [row[0] for row in rows_of(read_among(history, keys))] == ["a", "b"]
    assert reads == []


def test_a_key_that_only_the_base_file_has_is_found(history, reads):
    assert [row[0] for row in rows_of(read_among(history, ["a", "c"]))] == ["a", "b", "c"]
    assert len(reads) == 1


def test_a_key_that_a_log_deletes_is_looked_for_in_the_base_file(history, reads):
    history.append(Change("b", 7, is_delete=True))
    assert [row[0] for row in rows_of(read_among(history, ["a", "b"]))] == ["a", "c"]
    assert len(reads) == 1


def test_a_row_that_a_stored_one_may_win_over_meets_it(reads):
    history = History(merge=BY_EVENT)
    history.write_base(Change("a", 1, 1.0), Change("b", 5, 2.0))
    history.append(Change("a", 4, 10.0), Change("b", 4, 11.0))
    assert [row[2] for row in rows_of(read_among(history, ["a", "b"]))] == [10.0, 2.0]
    assert len(reads) == 1


def test_a_row_whose_cells_a_stored_one_fills_meets_it(history, reads):
    merge = type(history.merge)(ordering=("ts",), is_event_time=True, fill=Fill.NULLS)
    read_among(history, ["a"], merge)
    assert len(reads) == 1


def test_statistics_of_floats_do_not_settle_what_a_nan_may_win(reads):
    merge = type(BY_EVENT)(ordering=("fare",), is_event_time=True)
    history = History(merge=merge)
    history.write_base(Change("a", 1, 1.0), Change("b", 5, float("nan")))
    history.append(Change("a", 4, 10.0), Change("b", 4, 11.0))
    assert [row[1] for row in rows_of(read_among(history, ["a", "b"]))] == [4, 5]
    assert len(reads) == 1


def test_a_row_that_is_equal_to_a_stored_one_meets_it_where_the_first_stays(history, reads):
    merge = replace(BY_EVENT, keeps_ties=True)
    assert rows_of(read_among(history, ["a"], merge))[0][:3] == ("a", 5, 10.0)
    assert reads

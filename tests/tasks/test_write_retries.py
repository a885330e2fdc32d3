"""Tasks that run twice, too late, or die halfway: one file a file group and instant, by name."""

from dataclasses import replace
from unittest import mock

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip
from tests.faulty import Fault, FaultKind, FaultyStorage

from pyhudi.actions import write
from pyhudi.storage.local import LocalStorage
from pyhudi.tasks.write import write_buckets

ROWS = [trip("k2", "a", ts=2, fare=11.0), trip("k9", "a", fare=9.0), trip("k8", "c", fare=8.0)]


@pytest.fixture
def table(tmp_path):
    builder = TableBuilder()
    table = builder.create(storage=LocalStorage(str(tmp_path / "trips")))
    table.upsert([trip(f"k{n}", "ab"[n % 2], fare=float(n)) for n in range(4)], options=TINY_FILTERS)
    return table


def rows_of(table):
    return {
        (row["uuid"], row["city"]): row["fare"] for row in table.scan(["uuid", "city", "fare"]).to_arrow().to_pylist()
    }


def judge_rows(table):
    """Read the table with hudi-rs."""
    hudi = pytest.importorskip("hudi")
    reader = hudi.HudiTableBuilder.from_base_uri(table.state.storage.url.removeprefix("file://")).build()
    batches = reader.read_snapshot() if hasattr(reader, "read_snapshot") else reader.read()
    return {(row["uuid"], row["city"]): row["fare"] for batch in batches for row in batch.to_pylist()}


def require_one_file_each(table):
    """One base file a file group and instant; and another reader sees the same rows."""
    paths = [status.path for status in table.state.storage.list("") if status.path.endswith(".parquet")]
    names = [(path.rpartition("/")[0], path.rsplit("/", 1)[-1].split("_")) for path in paths]
    slices = [(partition, parts[0], parts[2]) for partition, parts in names]
    assert len(set(slices)) == len(slices), paths
    assert judge_rows(table) == rows_of(table)


def upsert_with(table, task):
    """Upsert with tasks that run as `task` says: it is given the real task's call."""
    with mock.patch.object(write, "write_buckets", task):
        return table.upsert(ROWS, options=TINY_FILTERS)


class Twice:
    """Runs every task again after it has ended, as a speculative attempt does, and keeps it for later."""

    def __init__(self):
        self.late = []

    def __call__(self, attempt, batches, **constants):
        held = list(batches)
        first = list(write_buckets(attempt, iter(held), **constants))
        second = list(write_buckets(replace(attempt, attempt=attempt.attempt + 1), iter(held), **constants))
        assert first == second
        self.late.append(lambda: list(write_buckets(attempt, iter(held), **constants)))
        return iter(second)


def test_a_task_that_runs_twice_writes_one_file_and_reports_the_same(table):
    result = upsert_with(table, Twice())
    assert (result.inserted, result.updated) == (2, 1)
    require_one_file_each(table)


def test_a_zombie_attempt_after_the_commit_changes_nothing(table):
    task = Twice()
    upsert_with(table, task)
    before = {status.path: table.state.storage.get(status.path) for status in table.state.storage.list("")}
    for again in task.late:
        again()
    require_one_file_each(table)
    after = {status.path: table.state.storage.get(status.path) for status in table.state.storage.list("")}
    assert {path for path in after if path not in before and not path.startswith(".hoodie/.temp/")} == set()
    assert {path: after[path] for path in before} == before
    table.upsert([trip("next", "z")], options=TINY_FILTERS)
    assert table.state.storage.list(".hoodie/.temp") == []
    require_one_file_each(table)


def test_an_attempt_that_fails_is_followed_by_one_that_does_not(table):
    def flaky(attempt, batches, *, storage, **constants):
        held = list(batches)
        fault = Fault(kind=FaultKind.IO_ERROR, operations=frozenset({"open_output"}), after_bytes=100)
        with pytest.raises(OSError, match="did not answer"):
            list(write_buckets(attempt, iter(held), storage=FaultyStorage(storage, plan=[fault]), **constants))
        return write_buckets(attempt, iter(held), storage=storage, **constants)

    upsert_with(table, flaky)
    require_one_file_each(table)


def test_attempts_at_the_same_time_leave_one_file(table):
    from concurrent.futures import ThreadPoolExecutor

    def racing(attempt, batches, **constants):
        held = list(batches)
        with ThreadPoolExecutor(3) as pool:
            done = list(pool.map(lambda _: list(write_buckets(attempt, iter(held), **constants)), range(3)))
        counts = [[batch.column("rows_count").to_pylist() for batch in one] for one in done]
        assert counts[0] == counts[1] == counts[2]
        return iter(done[-1])

    upsert_with(table, racing)
    require_one_file_each(table)


def test_an_attempt_of_a_plan_that_writes_other_files_is_cleaned_away(table):
    """A task whose status never arrived, because its job was planned anew, leaves files that no commit names."""

    def strayed(attempt, batches, *, files, **constants):
        held = list(batches)
        other = tuple(replace(file, write_token=file.write_token.replace("-0-", "-1-")) for file in files)
        list(write_buckets(attempt, iter(held), files=other, **constants))
        return write_buckets(attempt, iter(held), files=files, **constants)

    upsert_with(table, strayed)
    require_one_file_each(table)


def test_nothing_of_this_would_show_if_the_judge_were_blind(table):
    """Two files of one file group and instant are what the judge must refuse."""
    upsert_with(table, write_buckets)
    storage = table.state.storage
    path = next(status.path for status in storage.list("a") if status.path.endswith(".parquet"))
    newest = max(status.path for status in storage.list("a") if status.path.endswith(".parquet"))
    copied = newest.replace("_0-0-0_", "_7-7-7_").replace("_1-0-0_", "_7-7-7_")
    assert path != copied != newest
    storage.put(copied, storage.get(newest))
    with pytest.raises(AssertionError):
        require_one_file_each(table)

"""Which files commits say they wrote, read once a process."""

from dataclasses import replace

import pytest
from tests.building import TINY_FILTERS, trip, trips
from tests.queries.test_committed_checks import OPTIONS, newest, three_partitions

from pyhudi.errors import CorruptData
from pyhudi.metadata.listing import file_index
from pyhudi.queries import committed_files
from pyhudi.queries.slices import visible_slices
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.process import RecentlyUsed


def test_commits_are_read_once_a_process(engine, version, tmp_path):
    class Counting(LocalStorage):
        """Local storage that notes which commits are read."""

        read = 0

        def get(self, path):
            self.read += path.endswith(".commit")
            return super().get(path)

    storage = Counting(str(tmp_path / "trips"), engine.env)
    table = engine.create(version=version, storage=storage)
    for ts in (1, 2, 3):
        table.upsert(trips(trip("a", ts=ts)), options=OPTIONS)
    storage.read = 0
    for _ in range(3):
        assert table.scan().count() == 1
    assert storage.read <= 1  # the first two were read by the writes


def test_a_commit_that_is_archived_meanwhile_is_not_looked_for(engine, version):
    table = three_partitions(engine, version)
    timeline = table.timeline
    first = next(iter(timeline.completed.values()))
    table.state.storage.delete(f"{table.state.layout.timeline_path}/{first.file_name}")
    index = file_index(table.state, timeline)
    assert {one.group.partition for one in visible_slices(index, ["oslo", "rome", "sf"])} == {"oslo", "rome", "sf"}


def test_only_the_newest_commits_are_looked_at(engine, monkeypatch):
    table = three_partitions(engine, 9)
    path = newest(table, "rome")
    table.state.storage.delete(path)
    monkeypatch.setattr(committed_files, "_MOST_COMMITS", 1)
    assert len(engine.rows_of(table)) == 6
    monkeypatch.undo()
    with pytest.raises(CorruptData):
        table.scan()


def test_logs_are_told_with_what_their_slice_goes_by(version, engine):
    table = engine.create(version=version, table_type="mor")
    done = [table.upsert(trips(trip("a", ts=ts)), options=TINY_FILTERS) for ts in (1, 2, 3)]
    timeline = table.timeline
    found = committed_files.committed_files(table.state, timeline)
    assert set(found.bases) == {(row["partition"], row["file_id"]) for row in found.logs.to_pylist()}
    assert found.logs["instant"].to_pylist() == [done[2].instant, done[1].instant]
    completed = [timeline.completed[one.instant].completion_time for one in (done[2], done[1])]
    assert found.logs["slice"].to_pylist() == ([done[0].instant] * 2 if version == 6 else completed)
    sizes = {one["path"]: one["size_bytes"] for one in table.inspect.files().to_pylist()}
    assert all(sizes[row["path"]] == row["size_bytes"] for row in found.logs.to_pylist())


def test_a_log_with_fewer_rows_than_its_commit_wrote_is_named(version, engine, monkeypatch):
    table = engine.create(version=version, table_type="mor")
    table.upsert(trips(trip("a"), trip("b")))
    table.upsert(trips(trip("a", ts=2)))
    table.delete(keys=["b"])
    assert engine.rows_of(table, "uuid") == [("a",)]
    read = committed_files.read_commit_metadata

    def with_one_more(state, instant):
        found = read(state, instant)
        more = {
            where: tuple(replace(one, num_deletes=one.num_deletes + 1) if one.is_log else one for one in stats)
            for where, stats in found.stats.items()
        }
        return replace(found, stats=more)

    monkeypatch.setattr(committed_files, "read_commit_metadata", with_one_more)
    monkeypatch.setattr(committed_files, "_known", RecentlyUsed(8))
    for options in (None, {"hoodie.memory.merge.max.size": 1}):
        with pytest.raises(CorruptData, match="fewer rows and deletes") as refused:
            engine.read(table.scan(options=options))
        assert ".log." in refused.value.values["path"]
    with pytest.raises(CorruptData, match="fewer rows and deletes"):
        table.compact()


def test_of_commits_that_appended_to_one_log_the_last_tells_its_length(engine, monkeypatch):
    table = engine.create(version=6, table_type="mor")
    for ts in (1, 2, 3):
        table.upsert(trips(trip("a", ts=ts)), options=TINY_FILTERS)
    read = committed_files.read_commit_metadata
    (first, *_) = [path for path in sorted(one.path for one in table.state.storage.list("sf")) if ".log.1_" in path]

    def as_one_file(state, instant):
        """Return metadata of commits that append to the first log, each a hundred bytes."""
        found = read(state, instant)
        number = list(table.timeline.completed).index(instant.requested_time)
        (stats,) = found.stats.values()
        logs = [replace(one, path=first, file_size_in_bytes=number * 100) for one in stats if one.is_log]
        return replace(found, stats={"sf": tuple(logs)}) if logs else found

    monkeypatch.setattr(committed_files, "read_commit_metadata", as_one_file)
    found = committed_files.committed_files(table.state, table.timeline).logs
    assert (found["path"].to_pylist(), found["size_bytes"].to_pylist()) == ([first], [200])

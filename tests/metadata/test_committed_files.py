"""A file of an index of rows that is gone or cut off hides no row and lets no key come twice."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips
from tests.metadata.checking import metadata_of

from pyhudi.errors import CorruptData

OPTIONS = {
    **TINY_FILTERS,
    "hoodie.metadata.enable": True,
    "hoodie.metadata.global.record.level.index.min.filegroup.count": 1,
    "hoodie.metadata.compact.max.delta.commits": 20,
}
BY_PARTITION = {
    **TINY_FILTERS,
    "hoodie.metadata.enable": True,
    "hoodie.metadata.record.level.index.enable": True,
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
}
BY_INDEX = {**OPTIONS, "hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX"}


def indexed(version):
    """Return a table with both indexes of rows and some logs of each."""
    table = TableBuilder("cow").create(version=version)
    table.upsert(trips(trip("a"), trip("b")), options=OPTIONS)
    table.create_index("record_index", options=OPTIONS)
    if version > 6:
        table.create_index("secondary", "rider", options=OPTIONS)
    table.upsert(trips(trip("c", rider="x")), options=OPTIONS)
    table.upsert(trips(trip("d", rider="x")), options=OPTIONS)
    return table


def logs_of(table, partition):
    own = metadata_of(table).state.storage
    return own, [one.path for one in own.list(partition) if ".log." in one.path]


def shorten(storage, path, left):
    data = storage.get(path)
    storage.delete(path)
    if left is not None:
        storage.put(path, data[:left])
    return data


def wrong(table):
    """Return the parts of the metadata table that `check` says are to be built anew."""
    return {one["repair"] for one in table.check().problems.to_pylist()}


def require_missed(table, keys, caplog):
    """Check that a file of the record index is missed: reads do without, a write refuses, and a repair helps."""
    assert table.lookup(keys).num_rows == len(keys)
    assert "table.repair('record_index')" in caplog.text
    assert wrong(table) == {"record_index"}
    with pytest.raises(CorruptData):
        table.upsert(trips(trip("d", ts=9)), options=BY_INDEX)
    table.repair("record_index", options=OPTIONS)
    assert table.upsert(trips(trip("d", ts=9)), options=BY_INDEX).updated == 1
    assert sorted(table.scan(["uuid"]).to_arrow()["uuid"].to_pylist()) == keys
    assert table.check().ok


@pytest.mark.parametrize("left", [None, 0, -1], ids=["gone", "empty", "cut off"])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_no_row_is_hidden_and_no_key_comes_twice(version, left, caplog):
    table = indexed(version)
    storage, logs = logs_of(table, "record_index")
    shorten(storage, max(logs), left)
    require_missed(table, ["a", "b", "c", "d"], caplog)


@pytest.mark.parametrize("left", [None, 0, -1], ids=["gone", "empty", "cut off"])
@pytest.mark.parametrize("is_compacted", [False, True], ids=["built", "compacted"])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_base_file_is_missed_too(version, is_compacted, left, caplog):
    """That of the build, and that of a compaction, whose logs and former base file are cleaned away."""
    table = indexed(version)
    for ts in range(2, 9 if is_compacted else 2):
        table.upsert(trips(trip("a", ts=ts)), options={**OPTIONS, "hoodie.metadata.compact.max.delta.commits": 1})
    table.upsert(trips(trip("e")), options=OPTIONS)
    storage = metadata_of(table).state.storage
    bases = [one.path for one in storage.list("record_index") if one.path.endswith(".hfile")]
    shorten(storage, max(bases, key=lambda path: path.rpartition("_")[2]), left)
    require_missed(table, ["a", "b", "c", "d", "e"], caplog)


@pytest.mark.parametrize("left", [None, 0, -1], ids=["gone", "empty", "cut off"])
@pytest.mark.parametrize("version", [8, 9])
def test_no_row_of_a_value_is_hidden(version, left, caplog):
    table = indexed(version)
    storage, logs = logs_of(table, "secondary_index_rider")
    shorten(storage, max(logs), left)
    assert table.scan(filter="rider = 'x'").count() == 2
    assert "table.repair('secondary_index_rider')" in caplog.text
    assert wrong(table) == {"secondary_index_rider"}
    table.repair("secondary_index_rider", options=OPTIONS)
    caplog.clear()
    assert table.scan(filter="rider = 'x'").count() == 2
    assert not caplog.text


@pytest.mark.parametrize("left", [None, 0, -1], ids=["gone", "empty", "cut off"])
@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_commit_that_makes_the_file_groups_of_a_partition_may_lose_its_log_too(version, left, caplog):
    options = BY_PARTITION
    table = TableBuilder("cow").create(version=version)
    table.upsert(trips(trip("a"), trip("b", "rio")), options=options)
    table.upsert(trips(trip("c", "oslo")), options=options)
    storage, logs = logs_of(table, "record_index")
    shorten(storage, max((one for one in logs if "oslo" in one), key=lambda one: storage.head(one).size_bytes), left)
    assert table.lookup(["a", "b", "c"]).num_rows == 3
    assert "table.repair('record_index')" in caplog.text
    assert wrong(table) == {"record_index"}
    table.repair("record_index", options=options)
    assert table.upsert(trips(trip("c", "oslo", ts=9)), options=options).updated == 1
    assert sorted(table.scan(["uuid"]).to_arrow()["uuid"].to_pylist()) == ["a", "b", "c"]
    assert table.check().ok


@pytest.mark.parametrize("version", [8, 9])
def test_a_file_group_whose_only_log_is_gone_is_missed(version):
    """At version 6 no completion tells that it was not of an index that was built anew since."""
    options = {**BY_PARTITION, "hoodie.parquet.max.file.size": 1}  # else the rows could only be in one file
    table = TableBuilder("cow").create(version=version)
    table.upsert(trips(trip("a"), trip("b", "rio")), options=options)
    storage, logs = logs_of(table, "record_index")
    for path in logs:
        storage.delete(path)
    assert table.lookup(["a", "b"]).num_rows == 2
    assert wrong(table) == {"record_index"}
    with pytest.raises(CorruptData):
        table.upsert(trips(trip("a", ts=9)), options=options)
    table.repair("record_index", options=options)
    assert table.upsert(trips(trip("a", ts=9)), options=options).updated == 1
    assert table.check().ok


@pytest.mark.parametrize("version", [8, 9])
def test_the_log_of_the_commit_by_which_the_index_is_compacted_is_missed(version, caplog):
    """The compaction has the time at which that commit was completed, and leaves its logs to the next slice."""
    table = indexed(version)
    table.upsert(trips(trip("e")), options={**OPTIONS, "hoodie.metadata.compact.max.delta.commits": 1})
    storage, logs = logs_of(table, "record_index")
    assert any(one.base is not None and one.logs for one in metadata_of(table).file_groups("record_index"))
    shorten(storage, max(logs), None)
    assert table.lookup(["a", "d", "e"]).num_rows == 3
    assert wrong(table) == {"record_index"}


def test_a_log_is_missed_where_the_commit_that_built_its_file_group_is_archived():
    """At version 8 a file group without records has no base file: what began it is the commit that built it."""
    options = {**BY_INDEX, "hoodie.metadata.global.record.level.index.min.filegroup.count": 4}
    table = TableBuilder("cow").create(version=8)
    archive_builds(table, options)
    storage, built = logs_of(table, "record_index")
    keys = [f"b{number}" for number in range(20)]
    table.upsert(trips(*map(trip, keys)), options=options)
    _, logs = logs_of(table, "record_index")
    [log] = [one for one in logs if one.startswith(min(built).split("_0000")[0]) and one not in built]
    storage.delete(log)
    assert table.lookup(keys).num_rows == len(keys)
    assert wrong(table) == {"record_index"}
    with pytest.raises(CorruptData):
        table.upsert(trips(*map(trip, keys)), options=options)


@pytest.mark.parametrize("version", [8, 9])
def test_a_log_is_missed_where_the_commit_that_built_its_base_file_is_archived(version):
    """Another partition of the metadata table is compacted, as this one would not be, and what was before is archived.

    So it was found: seed 4146640122.
    """
    table = TableBuilder("cow").create(version=version)
    table.upsert(trips(trip("a")), options=OPTIONS)
    table.create_index("record_index", options=OPTIONS)
    table.upsert(trips(trip("b")), options=OPTIONS)
    storage, logs = logs_of(table, "record_index")
    data = shorten(storage, max(logs), None)
    archive_builds(table, OPTIONS)
    assert wrong(table) == {"record_index"}
    assert table.lookup(["a", "b"]).num_rows == 2
    storage.put(max(logs), data)
    assert table.check().ok


@pytest.mark.parametrize("version", [8, 9])
def test_a_file_group_that_is_made_again_misses_its_only_log(version):
    """A write that asks no index makes it again: seed 151568."""
    table = TableBuilder("cow").create(version=version)
    table.upsert(trips(trip("a", "oslo")), options=BY_PARTITION)
    storage, logs = logs_of(table, "record_index")
    for log in logs:
        storage.delete(log)
    table.bulk_insert(trips(trip("b", "oslo")), options=BY_PARTITION)
    assert wrong(table) == {"record_index"}
    assert table.scan(filter="uuid = 'a'").count() == 1


@pytest.mark.parametrize("version", [8, 9])
def test_a_file_group_whose_only_log_is_gone_is_missed_where_builds_are_archived(version):
    table = TableBuilder("cow").create(version=version)
    archive_builds(table, BY_PARTITION)
    table.upsert(trips(trip("b", "oslo")), options=BY_PARTITION)
    storage, logs = logs_of(table, "record_index")
    for log in logs:
        if "oslo" in log:
            storage.delete(log)
    assert table.lookup(["a", "b"]).num_rows == 2
    assert wrong(table) == {"record_index"}
    assert table.upsert(trips(trip("b", "oslo", ts=9)), options=BY_PARTITION).updated == 1  # it could be in one file


@pytest.mark.parametrize("version", [6, 8, 9])
def test_the_only_log_of_a_file_group_that_was_built_without_records_is_missed(version, caplog):
    """Of the last one: without it there would be fewer file groups, and keys would be hashed to other ones."""
    options = {**BY_INDEX, "hoodie.metadata.global.record.level.index.min.filegroup.count": 3}
    table = TableBuilder("cow").create(version=version)
    table.upsert(trips(trip("a"), trip("d")), options=OPTIONS)
    table.create_index("record_index", options=options)
    storage, logs = logs_of(table, "record_index")
    groups = metadata_of(table).file_groups("record_index")
    assert groups[-1].base is None
    shorten(storage, max(logs), None)
    require_missed(table, ["a", "d"], caplog)


@pytest.mark.parametrize("version", [8, 9])
def test_the_only_log_of_a_file_group_that_a_commit_makes_without_records_is_missed(version, caplog):
    options = {**BY_PARTITION, "hoodie.metadata.record.level.index.min.filegroup.count": 3}
    table = TableBuilder("cow").create(version=version)
    table.upsert(trips(trip("a"), trip("b", "rio")), options=options)
    storage, _ = logs_of(table, "record_index")
    groups = [one for one in metadata_of(table).file_groups("record_index") if "sf" in one.group.file_id]
    [log] = groups[-1].logs  # the row is in another one
    shorten(storage, log.path, None)
    assert table.lookup(["a", "b"]).num_rows == 2
    assert "table.repair('record_index')" in caplog.text
    assert wrong(table) == {"record_index"}
    table.repair("record_index", options=options)
    assert table.check().ok


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_file_is_missed_of_an_index_that_had_none_when_the_metadata_table_was_cleaned(version, caplog):
    """A clean drops no partition of it: what is missed goes by when that was built (seed 300213)."""
    options = {**BY_PARTITION, "hoodie.metadata.compact.max.delta.commits": 1}
    options["hoodie.clean.incremental.enabled"] = False
    table = TableBuilder("cow").create(version=version)
    for _ in range(3):
        table.upsert(trips(), options=options)
    for key in "ab":
        table.upsert(trips(trip(key)), options=options)
    storage = metadata_of(table).state.storage
    bases = [one.path for one in storage.list("record_index") if one.path.endswith(".hfile")]
    storage.delete(max(bases, key=lambda path: path.rpartition("_")[2]))
    assert table.lookup(["a", "b"]).num_rows == 2
    assert "table.repair('record_index')" in caplog.text


@pytest.mark.parametrize(("version", "left"), [(6, None), (8, None), (9, None), (9, -1)])
def test_a_file_that_compactions_leave_as_it_is_is_missed(version, left, caplog):
    """The commit that wrote it is archived, and others of its index were compacted since."""
    options = {**BY_INDEX, "hoodie.metadata.global.record.level.index.min.filegroup.count": 3}
    table = TableBuilder("cow").create(version=version)
    table.upsert(trips(trip("a"), trip("b"), trip("d")), options=OPTIONS)
    table.create_index("record_index", options=options)
    archive_builds(table, options)
    storage = metadata_of(table).state.storage
    old = [one for group in metadata_of(table).file_groups("record_index") for one in [group.base, *group.logs] if one]
    shorten(storage, min(old, key=lambda one: one.instant).path, left)
    require_missed(table, ["a", "b", "d"], caplog)


def archive_builds(table, options):
    """Write until the metadata table has archived the commits that built its partitions."""
    for ts in range(30):
        table.upsert(trips(trip("a", ts=ts)), options={**options, "hoodie.metadata.compact.max.delta.commits": 2})
    assert not any(one.startswith("0000") for one in metadata_of(table).timeline.completed)


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_lost_log_is_not_compacted_away(version, caplog):
    table = indexed(version)
    storage, logs = logs_of(table, "record_index")
    shorten(storage, max(logs), None)
    for ts in range(2, 6):
        table.upsert(trips(trip("a", ts=ts)), options={**OPTIONS, "hoodie.metadata.compact.max.delta.commits": 2})
    assert "its index is not compacted" in caplog.text
    assert table.lookup(["a", "c", "d"]).num_rows == 3
    table.repair("record_index", options=OPTIONS)
    assert table.check().ok


@pytest.mark.parametrize("version", [6, 8, 9])
def test_logs_that_a_compaction_or_a_rebuild_took_over_are_not_missed(version, caplog):
    table = indexed(version)
    table.repair("record_index", options=OPTIONS)
    table.upsert(trips(trip("e")), options={**BY_INDEX, "hoodie.metadata.compact.max.delta.commits": 1})
    for ts in range(3):
        table.upsert(trips(trip(f"f{ts}")), options={**BY_INDEX, "hoodie.metadata.compact.max.delta.commits": 1})
    if version > 6:
        table.drop_index("rider", options=OPTIONS)
    table.drop_index("record_index", options=OPTIONS)
    table.create_index("record_index", options=OPTIONS)
    table.upsert(trips(trip("g")), options=BY_INDEX)
    assert table.lookup(["a", "d", "e", "f0", "f2", "g"]).num_rows == 6
    assert "cannot be read" not in caplog.text

import pyarrow as pa
import pytest
from tests.building import TINY_FILTERS, TableBuilder, trips
from tests.building import trip as row
from tests.faulty import FaultyStorage
from tests.filegroup.test_writer import FIRST, TASK, keyed, spec_at, trip

from pyhudi.engine.api import KEY, PARTITION, ScanFile
from pyhudi.filegroup.writer import create_base_file
from pyhudi.index.bloom import may_hold_told, prune_file
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.partitions import bloom_filters
from pyhudi.queries.slices import visible_slices
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.active import load_timeline


@pytest.fixture
def storage():
    return MemoryStorage()


def file_of(storage, *keys, **said):
    status = create_base_file(storage, spec_at(FIRST, **said), TASK, keyed(*(trip(key) for key in keys)))
    return ScanFile(path=status.path, size_bytes=status.size_bytes, partition="sf")


def may_hold(storage, file, *keys, partition="sf", by_partition=True):
    columns = [pa.array(keys, pa.string()), pa.array([partition] * len(keys), pa.string())]
    wanted = pa.table(columns, names=[KEY, PARTITION])
    return prune_file(file, storage=storage, keys=wanted, by_partition=by_partition)


def test_a_file_is_kept_for_keys_it_has_and_left_out_for_others(storage):
    file = file_of(storage, "b", "d", "f")
    assert may_hold(storage, file, "d")
    assert may_hold(storage, file, "a", "z", "f")
    assert not may_hold(storage, file, "a", "z")
    assert not may_hold(storage, file, "c", "e")
    assert not may_hold(storage, file)


def test_keys_of_other_partitions_count_only_for_global_indexes(storage):
    file = file_of(storage, "b")
    assert not may_hold(storage, file, "b", partition="oslo")
    assert may_hold(storage, file, "b", partition="oslo", by_partition=False)


def test_a_file_without_filter_may_hold_any_key_and_gives_none_away(storage):
    file = file_of(storage, "b", bloom=None)
    assert may_hold(storage, file, "x")


def new_table(table_type="cow", **options):
    table = TableBuilder(table_type).create()
    built = {"hoodie.metadata.enable": "true", "hoodie.metadata.index.bloom.filter.enable": "true", **TINY_FILTERS}
    for key in ("a", "c", "e", "g"):
        made = trips(row(key), row(f"{key}x", city="rio"))
        table.insert(made, options=built | {"hoodie.parquet.small.file.limit": "0"} | options)
    return table


def keys_of(*keys, city="sf"):
    return pa.table([pa.array(keys, pa.string()), pa.array([city] * len(keys), pa.string())], names=[KEY, PARTITION])


def told(table, keys, *, by_partition=True):
    index = file_index(table.state, load_timeline(table.state))
    bases = [one.base for one in visible_slices(index)]
    found = may_hold_told(index, keys, bases, by_partition=by_partition)
    return None if found is None else sum(found)


def test_the_metadata_table_leaves_out_the_files_that_footers_would():
    table = new_table()
    assert told(table, keys_of("c")) == 1
    assert told(table, keys_of("c", "g", "h")) == 2
    assert told(table, keys_of("b", "d")) == 0
    assert told(table, keys_of("c", city="rio")) == 0
    assert told(table, keys_of("c", city="rio"), by_partition=False) == 1


def test_without_filters_the_metadata_table_does_not_tell():
    table = new_table()
    table.drop_index("bloom_filters")
    assert told(TableBuilder().reopen(table), keys_of("c")) is None


def test_filters_alone_do_where_columns_have_no_statistics():
    table = new_table(**{"hoodie.metadata.index.column.stats.enable": "false"})
    assert told(table, keys_of("c")) == 1
    assert told(table, keys_of("b")) == 0


@pytest.mark.parametrize("kind", ["BLOOM", "GLOBAL_BLOOM"])
@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_a_write_that_goes_by_the_metadata_table_writes_the_same_rows(table_type, kind):
    options = {"hoodie.index.type": kind, "hoodie.bloom.index.use.metadata": "true", **TINY_FILTERS}
    table = new_table(table_type, **{"hoodie.index.type": kind})
    table.upsert(trips(row("c", ts=5), row("ex", ts=5, city="rio"), row("n", ts=5)), options=options)
    found = table.scan().to_arrow().sort_by("uuid").select(["uuid", "ts"]).to_pylist()
    assert [one["uuid"] for one in found] == ["a", "ax", "c", "cx", "e", "ex", "g", "gx", "n"]
    assert sorted(one["uuid"] for one in found if one["ts"] == 5) == ["c", "ex", "n"]


def test_no_footer_is_read_of_files_that_the_metadata_table_leaves_out():
    table = new_table()
    faulty = FaultyStorage(table.state.storage)
    options = {"hoodie.index.type": "BLOOM", "hoodie.bloom.index.use.metadata": "true", **TINY_FILTERS}
    fresh = TableBuilder().reopen(table, faulty)
    stored = {one.base.path for one in visible_slices(file_index(fresh.state, load_timeline(fresh.state)))}
    fresh.upsert(trips(row("c", ts=5)), options=options)
    assert len({one.path for one in faulty.operations if one.name == "open_input"} & stored) == 1
    before = len(faulty.operations)
    assert fresh.lookup(["g"])["uuid"].to_pylist() == ["g"]
    opened = {one.path for one in faulty.operations[before:] if one.name == "open_input"}
    assert len(opened & stored) == 1


def test_a_damaged_filter_is_a_look_into_files_and_no_missing_row(monkeypatch, caplog):
    of_file = bloom_filters.filter_of
    monkeypatch.setattr(bloom_filters, "filter_of", lambda file, kind, text: of_file(file, kind, "#" + text[1:]))
    table = new_table()
    monkeypatch.undo()
    assert table.lookup(["c"])["uuid"].to_pylist() == ["c"]
    assert "cannot be read" in caplog.text
    options = {"hoodie.index.type": "BLOOM", "hoodie.bloom.index.use.metadata": "true", **TINY_FILTERS}
    table.upsert(trips(row("c", ts=5)), options=options)
    assert table.scan().count() == 8

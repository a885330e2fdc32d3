"""The partition of the bloom filters of keys: a record for each base file, the filter that its footer has."""

from tests.building import TINY_FILTERS, TableBuilder
from tests.metadata import checking
from tests.metadata.checking import TYPES, VERSIONS, metadata_of, rows

from pyhudi.filegroup.file_index import storage_index
from pyhudi.formats.parquet import base_file_footer, read_footer
from pyhudi.metadata.filter_records import newest_filters
from pyhudi.metadata.keys import file_keys
from pyhudi.metadata.names import RecordKind
from pyhudi.metadata.partitions.bloom_filters import BloomFiltersKind
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.options import Settings

NAME = "bloom_filters"
BUILT = {"hoodie.metadata.enable": True, "hoodie.metadata.index.bloom.filter.enable": True, **TINY_FILTERS}


def new_table(table_type="cow", version=9, **said):
    return checking.new_table(version, table_type=table_type, built=BUILT, **said)


def told(table):
    """Return how many files have a filter, and check that each stored base file has the one of its footer."""
    opened = metadata_of(table)
    keys, values = newest_filters(read_entries(opened, NAME, Wanted()), table.state.config.table_version)
    found = dict(zip(keys.to_pylist(), values.to_pylist(), strict=True))
    files = storage_index(table.state, opened.owner_timeline)
    listed = files.files(files.partitions())
    is_base = [name.endswith(".parquet") for name in listed["name"].to_pylist()]
    bases = listed.filter(is_base)
    names = file_keys(bases["partition"].combine_chunks(), bases["name"].combine_chunks()).to_pylist()
    assert found.keys() == {*names}
    for key, where, name in zip(names, bases["partition"].to_pylist(), bases["name"].to_pylist(), strict=True):
        with table.state.storage.open_input(f"{where}/{name}") as source:
            footer = base_file_footer(read_footer(source).key_values)
        said = found[key]
        assert (said["bloomFilter"].decode(), said["type"]) == (footer.bloom_text, footer.bloom_type)
        assert said["timestamp"] == name.removesuffix(".parquet").rsplit("_", 1)[-1]
    return len(found)


@TYPES
@VERSIONS
def test_each_base_file_that_is_written_has_the_filter_of_its_footer(table_type, version):
    table = new_table(table_type, version)
    assert told(table) == 2
    table.upsert(rows("a", "aa", ts=2), options=TINY_FILTERS)
    assert told(table) == 3
    table.upsert(rows("a", ts=3), options=TINY_FILTERS)
    assert told(table) == (4 if table_type == "cow" else 3)
    if table_type == "mor":
        table.compact(options={"hoodie.compact.inline.max.delta.commits": "1"})
        assert told(table) == 4


@VERSIONS
def test_filters_go_with_their_files_and_survive_what_the_metadata_table_folds(version):
    table = new_table("cow", version)
    few = {**TINY_FILTERS, "hoodie.metadata.compact.max.delta.commits": "3"}
    for ts in range(2, 7):
        table.upsert(rows("a", ts=ts), options=few)
    before = told(table)
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    assert told(table) < before
    table.cluster(options=TINY_FILTERS)
    told(table)


def test_a_rollback_and_a_restore_take_filters_back():
    table = new_table()
    point = table.savepoint(max(table.timeline.completed))
    assert point is not None
    table.upsert(rows("a", "c", ts=2), options=TINY_FILTERS)
    table.rollback(max(table.timeline.completed), completed=True)
    assert told(table) == 2
    table.upsert(rows("a", ts=3), options=TINY_FILTERS)
    table.restore(min(table.timeline.completed))
    assert told(table) == 2
    assert TableBuilder().reopen(table).check().problems.to_pylist() == []


def test_they_are_built_for_a_table_that_has_none():
    table = TableBuilder().create()
    table.upsert(rows("a", "b"), options={"hoodie.metadata.enable": True, **TINY_FILTERS})
    assert table.create_index(NAME).is_built
    assert told(table) == 2
    table.upsert(rows("a", ts=2), options=TINY_FILTERS)
    assert told(table) == 3
    table.drop_index(NAME)
    table.upsert(rows("a", ts=3), options=BUILT)
    assert told(table) == 4


def test_a_file_without_a_filter_has_no_record():
    table = TableBuilder().create()
    table.upsert(rows("a"), options=BUILT)
    kind = BloomFiltersKind()
    assert set(kind.fold(metadata_of(table), read_entries(metadata_of(table), NAME, Wanted())).kinds.to_pylist()) == {
        RecordKind.BLOOM_FILTER
    }
    assert kind.groups(Settings()) == 4
    virtual = TableBuilder().create(options={"hoodie.populate.meta.fields": "false"})
    virtual.upsert(rows("a"), options=BUILT)
    assert NAME not in virtual.state.config.metadata_partitions

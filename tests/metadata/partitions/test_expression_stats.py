"""The partition of an expression index: records of files and of partitions."""

import pytest
from tests.building import TRIPS
from tests.metadata.checking import metadata_of, new_table, rows

from pyhudi.errors import OptionError
from pyhudi.metadata.definitions import define_index
from pyhudi.metadata.names import RecordKind
from pyhudi.metadata.partitions.kinds import kind_of, kinds_for, left_behind
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.options import Settings
from pyhudi.state.index_definition import IndexDefinition

X = "expr_index_x"


@pytest.fixture(params=[8, 9])
def table(request):
    made = new_table(request.param)
    made.create_index("expression", "uuid", name="x", expr="upper")
    return made


def stored(table):
    opened = metadata_of(table)
    kind = kind_of(X, opened.definitions)
    return kind.fold(opened, read_entries(opened, X, Wanted()))


def test_each_file_has_a_record_and_each_partition_bounds(table):
    table.upsert(rows("a", "c", ts=2))
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    found = stored(table)
    of_partitions = found.values.filter([kind == RecordKind.PARTITION_STATS for kind in found.kinds.to_pylist()])
    assert sorted(of_partitions.field("fileName").to_pylist()) == ["rio", "sf"]
    lengths = {len(key) for key in found.keys.to_pylist()}
    assert lengths == {36, 48}
    assert set(found.values.field("columnName").to_pylist()) == {"uuid"}


def test_records_of_deleted_files_go(table):
    before = sum(kind == RecordKind.COLUMN_STATS for kind in stored(table).kinds.to_pylist())
    for ts in range(2, 5):
        table.upsert(rows("a", ts=ts))
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    after = sum(kind == RecordKind.COLUMN_STATS for kind in stored(table).kinds.to_pylist())
    assert after == before + 1  # the newest file of `a`, and one before


def test_file_groups_are_named_after_the_index(table):
    kind = kind_of(X, metadata_of(table).definitions)
    assert kind.file_id_prefix == "expr-index-x"
    assert kind.groups(Settings({})) == 2
    with pytest.raises(OptionError):
        kind.groups(Settings({"hoodie.metadata.index.expression.file.group.count": "0"}))


def test_an_index_by_another_function_is_left_behind_and_said(table, caplog):
    assert left_behind(table.state, lambda: TRIPS) == []
    assert X in [kind.name for kind in kinds_for(table.state)]
    other = IndexDefinition(partition=X, type="column_stats", fields=("uuid",), options={"expr": "soundex"})
    define_index(table.state, other)
    assert left_behind(table.state, lambda: TRIPS) == [X]
    table.upsert(rows("a", ts=2))
    assert "dropped" in caplog.text
    assert X not in table.inspect.indexes()["partition"].to_pylist()

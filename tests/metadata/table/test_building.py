"""Partitions that are built beside writers."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips
from tests.metadata.checking import metadata_of, new_table, rows

from pyhudi.errors import Unsupported, WriteConflict
from pyhudi.metadata.definitions import define_index
from pyhudi.metadata.partitions.api import first_groups
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.record_places import read_places
from pyhudi.metadata.table.building import FilledGroups, OpenedGroups, close_groups, open_groups, show_groups
from pyhudi.options import Settings
from pyhudi.services import indexing
from pyhudi.state.index_definition import IndexDefinition
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline

X = "expr_index_x"
BY_PARTITION = "hoodie.metadata.record.level.index.enable"
LATE = "20990101000000000"


def opened(table, *, column="uuid"):
    definition = IndexDefinition(partition=X, type="column_stats", fields=(column,), options={"expr": "upper"})
    state = open_state(table.state.storage, table.state.env)
    define_index(state, definition)
    groups = first_groups(kind_of(X, {X: definition}), Settings(), {})
    return open_groups(state, load_timeline(state), {X: groups}, LATE)[0]


def test_writers_tell_a_partition_that_is_being_built_of_their_files():
    table = new_table()
    state = opened(table)
    assert (state.config.partitions_being_built, X in state.config.metadata_partitions) == ((X,), False)
    table.upsert(rows("c"))
    names = [one.path.rsplit("/", 1)[-1] for one in table.state.storage.list(f".hoodie/metadata/{X}")]
    written = [name for name in names if ".log.1_" in name and not name.endswith("_0-0-0")]
    assert len(written) >= 1
    assert table.scan(filter="upper(uuid) = 'C'").count() == 1  # no reader asks it


def test_no_write_begins_beside_an_index_of_values_that_only_apache_hudi_computes():
    table = new_table()
    opened(table, column="fare")  # Spark casts a number to text first
    with pytest.raises(Unsupported, match="a metadata table that is being built"):
        table.upsert(rows("c"))
    assert table.inspect.pending().num_rows == 0
    assert table.upsert(rows("c"), options={"hoodie.metadata.enable": "false"}).inserted == 1


def test_what_was_opened_before_is_opened_anew():
    table = new_table()
    opened(table)
    table.state.storage.put(f".hoodie/metadata/{X}/left", b"by a process that died")
    state = opened(table)
    names = [one.path.rsplit("/", 1)[-1] for one in table.state.storage.list(f".hoodie/metadata/{X}")]
    assert "left" not in names
    assert state.config.partitions_being_built == (X,)


def test_a_partition_is_shown_once_and_only_after_it_was_opened():
    table = new_table()
    nothing = OpenedGroups(groups=(), time="20260101000000000")
    filled = [FilledGroups(partition=X, opened=nothing, written=(), records_count=0)]
    with pytest.raises(WriteConflict):
        show_groups(table.state, filled, "20260101000000000", LATE)
    state = opened(table)
    shown = show_groups(state, filled, "20260101000000000", LATE)
    assert X in shown.config.metadata_partitions
    assert shown.config.partitions_being_built == ()
    assert show_groups(shown, filled, "20260101000000000", LATE) == shown
    closed = close_groups(shown, [X])
    assert X not in open_state(table.state.storage, table.state.env).config.metadata_partitions
    assert (X in closed.config.metadata_partitions, list(table.state.storage.list(f".hoodie/metadata/{X}"))) == (
        False,
        [],
    )


@pytest.mark.parametrize("version", [6, 9])
def test_an_index_that_was_planned_before_a_write_has_its_keys(version):
    """In layout 1 a log belongs to the base file of its time; those here begin behind the plan."""
    table = new_table(version)
    table.create_index("record_index", schedule=True)
    table.upsert(rows("c"))
    table.index()
    assert read_places(metadata_of(table)).column("key").to_pylist() == ["a", "b", "c"]
    table.upsert(rows("d"))
    assert read_places(metadata_of(table)).column("key").to_pylist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("version", [6, 9])
def test_a_writer_may_make_file_groups_while_an_index_by_partition_is_built(version, monkeypatch):
    """They begin later than those that were opened, whose base files are written behind them."""
    table = new_table(version)
    table.create_index("record_index", options={BY_PARTITION: True}, schedule=True)
    table.upsert(rows("c"))
    fill = indexing.fill_groups

    def beside(*given):
        monkeypatch.setattr(indexing, "fill_groups", fill)
        TableBuilder().reopen(table).upsert(trips(trip("d", city="oslo"), trip("e", city="sf")), options=TINY_FILTERS)
        return fill(*given)

    monkeypatch.setattr(indexing, "fill_groups", beside)
    table.index()
    assert read_places(metadata_of(table)).column("key").to_pylist() == ["a", "b", "c", "d", "e"]
    assert table.check().ok

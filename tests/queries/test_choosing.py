"""Slices chosen by paths and by statistics; statistics are those of the files, read from them here."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from tests.building import trip, trips

from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.stats.column_stats import read_column_stats
from pyhudi.metadata.stats.merging import partition_stats
from pyhudi.predicate import parse
from pyhudi.queries.choosing import choose_slices
from pyhudi.queries.slices import table_schema, visible_slices


@pytest.fixture
def table(engine):
    """A table whose cities have fares of their own hundred, in one file each."""
    found = engine.create(version=9)
    rows = [trip(f"{city}{at}", city, fare=100 * number + at) for number, city in enumerate("abc") for at in range(3)]
    found.upsert(engine.rows(trips(*rows)))
    return found


class Stats:
    """An index with statistics as the metadata table would have them, which notes what it was asked."""

    def __init__(self, table, has_stats: bool = True) -> None:
        self.index, self.table, self.has_stats = file_index(table.state, table.timeline), table, has_stats
        self.asked: list[tuple[str, list[str]]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.index, name)

    def stats(
        self, kind: str, columns: Sequence[str], partitions: Sequence[PartitionPath] | None = None
    ) -> pa.Table | None:
        self.asked.append((str(kind), sorted(columns)))
        if not self.has_stats:
            return None
        files = [(one.group.partition, one.base.name) for one in visible_slices(self.index, partitions) if one.base]
        found = read_column_stats(self.table.state.storage, files, columns, 9)
        return partition_stats(found, 9) if kind == MetadataPartition.PARTITION_STATS else found

    def choose(self, text: str):
        schema = table_schema(self.table.state, self.table.timeline)
        chosen = choose_slices(self, schema, parse(text) if text else None)
        return chosen.slices.column("partition").to_pylist(), chosen


def test_each_step_leaves_out_what_cannot_match(table):
    stats = Stats(table)
    partitions, chosen = stats.choose("city <> 'c' and ts >= 0 and fare = 101")
    assert partitions == ["b"]
    counts = chosen.partitions_count, chosen.partitions_by_path, len(chosen.partitions), chosen.slices_count
    assert counts == (3, 2, 2, 2)
    names = ["city", "fare", "ts"]
    assert stats.asked == [("partition_stats", names), ("column_stats", names)]


def test_partitions_are_left_out_before_their_files_are_listed(engine):
    table = engine.create(version=9)
    table.upsert(engine.rows(trips(trip("a", "a", ts=1), trip("b", "b", ts=20), trip("c", "c", ts=300))))
    partitions, chosen = Stats(table).choose("ts > 100")
    assert partitions == ["c"]
    assert (chosen.partitions_by_path, chosen.partitions, chosen.slices_count) == (3, ("c",), 1)


def test_without_a_filter_no_statistics_are_read(table):
    stats = Stats(table)
    assert stats.choose("")[0] == ["a", "b", "c"]
    assert stats.asked == []


def test_where_no_statistics_are_kept_only_paths_decide(table):
    assert Stats(table, has_stats=False).choose("city = 'a' and fare > 1000")[0] == ["a"]

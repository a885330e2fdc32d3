"""Slices chosen by paths and by statistics; statistics are those of the files, read from them here."""

from collections.abc import Sequence

import pyarrow as pa
import pytest
from tests.building import trip, trips

from pyhudi.metadata.column_stats import read_column_stats
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.partitions import MetadataPartition
from pyhudi.metadata.stats_merging import partition_stats
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
    """Reads statistics as the metadata table would have them, and notes what it was asked."""

    def __init__(self, table) -> None:
        self.table, self.asked = table, []

    def __call__(self, kind: MetadataPartition, columns: Sequence[str]) -> pa.Table | None:
        self.asked.append((str(kind), list(columns)))
        files = [(one.group.partition, one.base.name) for one in visible_slices(self.index()) if one.base]
        found = read_column_stats(self.table.state.storage, files, columns, 9)
        return partition_stats(found, 9) if kind is MetadataPartition.PARTITION_STATS else found

    def index(self):
        return file_index(self.table.state, self.table.timeline)

    def choose(self, text: str):
        schema = table_schema(self.table.state, self.table.timeline)
        chosen = choose_slices(self.index(), schema, parse(text) if text else None, stats=self)
        return chosen.slices.column("partition").to_pylist(), chosen


def test_each_step_leaves_out_what_cannot_match(table):
    stats = Stats(table)
    partitions, chosen = stats.choose("city <> 'c' and ts >= 0 and fare = 101")
    assert partitions == ["b"]
    counts = chosen.partitions_count, chosen.partitions_by_path, len(chosen.partitions), chosen.slices_count
    assert counts == (3, 2, 2, 2)
    names = ["city", "fare", "ts"]
    asked = [(kind, sorted(columns)) for kind, columns in stats.asked]
    assert asked == [("partition_stats", names), ("column_stats", names)]


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
    schema = table_schema(table.state, table.timeline)
    index = Stats(table).index()
    chosen = choose_slices(index, schema, parse("city = 'a' and fare > 1000"), stats=lambda *_: None)
    assert chosen.slices.column("partition").to_pylist() == ["a"]

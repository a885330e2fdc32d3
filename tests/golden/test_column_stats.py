"""The statistics that Apache Hudi stored in metadata tables, held against those we read from the same base files."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.golden.catalogue import kept_tables

import pyhudi
from pyhudi.formats.avro_rows import decode_rows
from pyhudi.formats.hfile import HFile, open_hfile
from pyhudi.formats.log import BlockKind, read_blocks
from pyhudi.formats.properties import parse_properties
from pyhudi.metadata.stats.column_stats import column_stats_schema, read_column_stats
from pyhudi.metadata.stats.merging import partition_stats
from pyhudi.predicate import Expression, IsNull, Not, binary, column, literal, mask
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.storage.local.store import LocalStorage

FIELD = "ColumnStatsMetadata"
NAMES = ["partition", "fileName", "columnName"]
TABLES = [
    pytest.param(one, id=one.name)
    for one in kept_tables()
    if one.script.name in ("cow_metadata", "cow_metadata_all", "cow_metadata_compacted", "mor_metadata_all")
    and one.name != "cow_metadata-v6"
]
"""Of version 6 those that asked for statistics."""


def hfiles(folder: Path) -> Iterator[HFile]:
    for file in sorted(folder.iterdir()):
        data = file.read_bytes()
        contents = [data] if file.suffix == ".hfile" else []
        if ".log." in file.name:
            blocks = list(read_blocks(lambda offset, length, data=data: data[offset : offset + length], len(data)))
            contents = [block.read_content() for block in blocks if block.kind is BlockKind.HFILE]
        for content in contents:
            yield open_hfile(lambda offset, length, content=content: content[offset : offset + length], len(content))


def stored(folder: Path, version: int) -> pa.Table:
    """Read all records of a metadata partition that are not deleted."""
    schema = column_stats_schema(version)
    tables = []
    for hfile in hfiles(folder):
        values = hfile.read().column("value").combine_chunks()
        rows = decode_rows(values, hfile.file_info["schema"].decode(), columns=[FIELD]).column(FIELD)
        columns = {name: rows.field(name) for name in schema.names[1:]}
        tables.append(pa.table({"partition": pa.nulls(len(rows), pa.string()), **columns}, schema=schema))
    found = pa.concat_tables(tables)
    return found.filter(pa.compute.invert(found.column("isDeleted")))


def shown(stats: pa.Table) -> dict[tuple[str, str], str]:
    """Show the records by file and column. A numeric column of nulls has no bounds here, and zeros in Java."""
    found = {}
    for row in stats.to_pylist():
        if row["valueCount"] == row["nullCount"]:
            row |= {"minValue": None, "maxValue": None}
        where = row["fileName"], row["columnName"]
        found[where] = repr({name: value for name, value in row.items() if name not in NAMES})
    return found


@pytest.mark.parametrize("golden", TABLES)
def test_statistics_of_files_are_those_that_apache_hudi_stored(unpacked, golden):
    path = unpacked(golden)
    version = int(parse_properties((path / ".hoodie/hoodie.properties").read_bytes())["hoodie.table.version"])
    theirs = stored(path / ".hoodie/metadata/column_stats", version)
    places = {file.name: file.parent.relative_to(path) for file in path.rglob("*") if ".hoodie" not in file.parts}
    files = [
        (places[name].as_posix().removeprefix("."), name)
        for name in theirs.column("fileName").unique().to_pylist()
        if name in places and not is_empty(path / places[name] / name)
    ]
    assert files
    assert golden.script.name != "mor_metadata_all" or [name for _, name in files if name.startswith(".")]
    columns = theirs.column("columnName").unique().to_pylist()
    ours = read_column_stats(LocalStorage(str(path)), files, columns, version)
    named = {name for _, name in files}
    expected = {where: row for where, row in shown(theirs).items() if where[0] in named}
    assert shown(ours) == expected
    if version > 6 and golden.script.name == "cow_metadata_all":
        assert shown(partition_stats(newest(ours), version)) == shown(
            stored(path / ".hoodie/metadata/partition_stats", version)
        )


@pytest.mark.parametrize("golden", [one for one in TABLES if one.id.startswith("cow_metadata_all")])
def test_no_filter_leaves_out_a_file_with_a_matching_row(unpacked, golden):
    table = pyhudi.open_table(str(unpacked(golden)))
    rows = table.scan(meta=True).to_arrow()
    skipped = 0
    for expression in conditions(rows.drop_columns(META_FIELDS)):
        plan = table.scan(filter=expression).plan
        skipped += sum(one.slices_count for one in plan.left_out)
        opened = {one.path.rpartition("/")[2] for one in plan.files}
        assert opened >= set(rows.filter(mask(expression, rows)).column("_hoodie_file_name").to_pylist())
    assert skipped


def conditions(rows: pa.Table) -> Iterator[Expression]:
    for name in rows.column_names:
        for value in [literal(one) for one in rows.column(name).unique().to_pylist()[:1]]:
            for operator in ("=", "<>", "<"):
                yield binary(operator, column(name), value)
                yield Not(value=binary(operator, column(name), value))
        yield IsNull(value=column(name))


def is_empty(file: Path) -> bool:
    return file.suffix == ".parquet" and pq.read_metadata(file).num_rows == 0


def newest(stats: pa.Table) -> pa.Table:
    """Keep the statistics of the newest file of each file group."""
    names = stats.column("fileName").to_pylist()
    last: dict[str, str] = {}
    for name in names:
        group, _, rest = name.partition("_")
        last[group] = max(last.get(group, rest), rest, key=lambda one: one.partition("_")[2])
    return stats.filter(pa.array([last[name.partition("_")[0]] == name.partition("_")[2] for name in names]))

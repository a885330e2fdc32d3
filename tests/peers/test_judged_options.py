"""Options that a table of ours keeps: Apache Hudi writes beside them, other values and all, and leaves them there.

And options of bulk_insert, by which both sides lay out rows alike.
"""

import random
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.peers.crafted import asked_of
from tests.peers.peer import PeerError

from pyhudi.state.config import KEPT_PREFIX
from pyhudi.state.properties_file import update_properties
from pyhudi.table import create_table, open_table

COLUMNS = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("note", pa.string()), ("city", pa.string())])
KEPT = {
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "2",
    "hoodie.clean.commits.retained": "7",
    "hoodie.parquet.compression.codec": "gzip",
    "hoodie.compaction.partition.path.regex": "a:b=c\\d #!",
}
OTHERS = {
    "hoodie.compact.inline": "false",
    "hoodie.compact.inline.max.delta.commits": "9",
    "hoodie.clean.commits.retained": "3",
    "hoodie.cleaner.commits.retained": "3",
    "hoodie.parquet.compression.codec": "snappy",
}
TYPES = {"cow": "COPY_ON_WRITE", "mor": "MERGE_ON_READ"}


def row(key, ts, note, **more):
    return {"id": key, "ts": ts, "note": note, "city": "sf", **more}


def made(path, table_type, version):
    table = create_table(
        path,
        COLUMNS,
        name="crafted",
        record_key=["id"],
        partition_by=["city"],
        ordering=["ts"],
        table_type=table_type,
        table_version=version,
        options={key: KEPT[key] for key in ("hoodie.compact.inline", "hoodie.compaction.partition.path.regex")},
    )
    table.upsert([row("a", 1, "ours"), row("b", 1, "ours")])
    table.set_options({key: text for key, text in KEPT.items() if key not in dict(kept(table))})
    return table


def written(version, table_type):
    return {
        "hoodie.table.name": "crafted",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "city",
        "hoodie.datasource.write.table.type": TYPES[table_type],
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.auto.upgrade": "false",
        "hoodie.write.table.version": str(version),
        **OTHERS,
    }


def kept(table):
    shown = table.options().to_pylist()
    return [(one["key"], one["value"]) for one in shown if one["where_from"] == "table" and one["key"] in KEPT]


def notes(rows):
    return dict(sorted(zip(rows["id"].to_pylist(), rows["note"].to_pylist(), strict=True)))


@pytest.mark.parametrize("table_type", ["cow", "mor"])
@asked_of("1.2.0", "0.15.0")
def test_apache_hudi_writes_with_other_values_beside_what_a_table_keeps(hudi, version, table_type, tmp_path):
    path = str(tmp_path / "t")
    table = made(path, table_type, version)
    assert notes(hudi.read(path)) == {"a": "ours", "b": "ours"}
    hudi.write(
        path, pa.Table.from_pylist([row("b", 2, "hudi"), row("c", 2, "hudi")], COLUMNS), written(version, table_type)
    )
    hudi.write(path, pa.Table.from_pylist([row("c", 3, "again")], COLUMNS), written(version, table_type))
    assert dict(kept(table)) == KEPT
    table.upsert([row("a", 3, "ours again")])
    expected = {"a": "ours again", "b": "hudi", "c": "again"}
    assert notes(table.scan().to_arrow()) == notes(hudi.read(path)) == expected
    if table_type == "mor":
        assert "COMPACT" in table.history()["operation"].to_pylist()
    assert table.check().ok


@asked_of("1.2.0", "0.15.0")
def test_statements_of_apache_hudi_leave_what_a_table_keeps_but_for_create_table_before_1_0(hudi, version, tmp_path):
    path = str(tmp_path / "t")
    table = made(path, "cow", version)
    name = f"t_{hudi.release.replace('.', '_')}_{version}"
    hudi.run(f"create table {name} using hudi location '{path}'")
    if hudi.release == "0.15.0":  # it writes the properties anew, of those that it knows
        assert kept(table) == []
        table.set_options(KEPT)
    for said in OTHERS.items():
        hudi.run("set {}={}".format(*said))
    hudi.run(f"update {name} set note = 'sql' where id = 'b'")
    for key in OTHERS:
        hudi.run(f"reset {key}")
    hudi.run(f"drop table {name}")
    assert dict(kept(table)) == KEPT
    assert notes(table.scan().to_arrow()) == {"a": "ours", "b": "sql"}


@pytest.mark.parametrize("table_type", ["cow", "mor"])
@asked_of("1.2.0", "0.15.0")
def test_apache_hudi_takes_columns_that_were_added_without_rows(hudi, version, table_type, tmp_path):
    path = str(tmp_path / "t")
    table = made(path, table_type, version)
    table.add_columns({"tip": pa.float64()})
    assert hudi.read(path)["tip"].to_pylist() == [None, None]
    wider = COLUMNS.append(pa.field("tip", pa.float64()))
    rows = pa.Table.from_pylist([row("b", 2, "hudi", tip=0.5)], wider)
    hudi.write(path, rows, written(version, table_type))
    assert dict(zip(*table.scan(["id", "tip"]).to_arrow().to_pydict().values(), strict=True)) == {"a": None, "b": 0.5}
    assert table.check().ok


@asked_of(6)
def test_what_a_table_keeps_outlives_an_upgrade_by_apache_hudi(hudi, version, tmp_path):
    if hudi.release == "0.15.0":
        pytest.skip("it knows no later version")
    path = str(tmp_path / "t")
    table = made(path, "cow", version)
    said = written(9, "cow") | {"hoodie.write.auto.upgrade": "true"}
    hudi.write(path, pa.Table.from_pylist([row("c", 2, "hudi")], COLUMNS), said)
    table = open_table(path)
    assert table.config.table_version == 9
    assert dict(kept(table)) == KEPT


@asked_of("1.2.0", "0.15.0")
def test_apache_hudi_refuses_a_write_whose_option_differs_from_a_property_of_that_name(hudi, version, tmp_path):
    """Why the properties have a name of ours."""
    path = str(tmp_path / "t")
    table = made(path, "cow", version)
    update_properties(table.state.storage, table.state.env, {"hoodie.compact.inline": "true"})
    rows = pa.Table.from_pylist([row("c", 2, "hudi")], COLUMNS)
    with pytest.raises(PeerError, match="Config conflict"):
        hudi.write(path, rows, written(version, "cow"))
    prefixed = {"hoodie.compact.inline": None, KEPT_PREFIX + "hoodie.compact.inline": "true"}
    update_properties(table.state.storage, table.state.env, prefixed)
    hudi.write(path, rows, written(version, "cow"))
    assert table.count() == 3


SORT_MODE = "hoodie.bulkinsert.sort.mode"
SORTED_BY = {
    "NONE": "came",
    "GLOBAL_SORT": "id",
    "PARTITION_SORT": "id",
    "PARTITION_PATH_REPARTITION": "came",
    "PARTITION_PATH_REPARTITION_AND_SORT": None,
    "columns": "rank",
}
"""The column by which rows are in order, within files and over the files of a partition. Of the last mode Apache Hudi
promises files of one partition only, where ours sorts by keys."""
BY_COLUMNS = {
    "hoodie.bulkinsert.user.defined.partitioner.class": (
        "org.apache.hudi.execution.bulkinsert.RowCustomColumnsSortPartitioner"
    ),
    "hoodie.bulkinsert.user.defined.partitioner.sort.columns": "rank",
}
"""Ours needs no class, and says that it has no effect."""
BULK_INSERT = {
    "hoodie.table.name": "crafted",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "city",
    "hoodie.datasource.write.operation": "bulk_insert",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.embed.timeline.server": "false",
}


def shuffled_rows(count=4_000):
    """Return rows whose keys and ranks are in another order than that in which they come."""
    chance = random.Random(count)
    ids, ranks = list(range(count)), list(range(count))
    chance.shuffle(ids)
    chance.shuffle(ranks)
    return pa.table(
        {
            "id": [f"k{number:05}" for number in ids],
            "city": [chance.choice(["rio", "sf"]) for _ in ids],
            "rank": ranks,
            "came": list(range(count)),
            "note": [chance.randbytes(50).hex() for _ in ids],
        }
    )


def files_by_city(path):
    """Return the rows of each file, by partition."""
    files = {}
    for file in sorted(Path(path).glob("*/*.parquet")):
        rows = pq.ParquetFile(file).read()
        [city] = set(rows["city"].to_pylist())
        files.setdefault(city, []).append(rows)
    return files


def overlaps(files, column):
    """Return whether the ranges of a column in some two files have values in common."""
    ranges = sorted((min(values), max(values)) for values in (rows[column].to_pylist() for rows in files))
    return any(after[0] <= before[1] for before, after in pairwise(ranges))


@pytest.mark.parametrize("mode", SORTED_BY)
def test_both_sides_lay_out_rows_alike_in_each_sort_mode(hudi_1_2, mode, tmp_path):
    """Each partition has several files; of so small ones Apache Hudi makes more, as it closes them by plain bytes."""
    rows, column = shuffled_rows(), SORTED_BY[mode]
    options = BY_COLUMNS if mode == "columns" else {SORT_MODE: mode}
    options = {**options, "hoodie.parquet.max.file.size": "100000", "hoodie.metadata.enable": "false"}
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    table = create_table(ours, rows.schema, name="crafted", record_key=["id"], partition_by=["city"])
    table.bulk_insert(rows, options=options)
    hudi_1_2.write(theirs, rows, BULK_INSERT | options)
    for path in (ours, theirs):
        files = files_by_city(path)
        assert {city: len(found) > 1 for city, found in files.items()} == {"rio": True, "sf": True}
        for found in files.values() if column is not None else ():
            assert all(one[column].to_pylist() == sorted(one[column].to_pylist()) for one in found)
            assert [name for name in ("id", "rank", "came") if not overlaps(found, name)] == [column]
        read = hudi_1_2.read(path).select(rows.column_names).sort_by("came")
        assert read.to_pydict() == table.scan().to_arrow().sort_by("came").to_pydict() == rows.to_pydict()

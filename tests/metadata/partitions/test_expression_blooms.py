"""The partition of an expression index of bloom filters: records of base files, and files that they leave out."""

import itertools

import pyarrow as pa
import pytest
from tests.metadata.checking import metadata_of

import pyhudi
from pyhudi.errors import InvalidInput
from pyhudi.metadata.filters import files_holding
from pyhudi.metadata.names import RecordKind
from pyhudi.metadata.partitions.expression_blooms import has_same_text
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.reader import Wanted, read_entries

X = "expr_index_x"
APART = {"hoodie.parquet.small.file.limit": "0"}
SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("n", pa.int64())])
NUMBERS = itertools.count()


def row(key, city="a", n=1):
    return {"id": key, "city": city, "n": n}


@pytest.fixture(params=["cow", "mor"])
def table(request):
    made = pyhudi.create_table(
        f"memory://blooms/{next(NUMBERS)}",
        SCHEMA,
        name="t",
        record_key=["id"],
        partition_by=["city"],
        table_type=request.param,
    )
    for key in ("Ab", "Cd", "Ef"):
        made.insert([row(key), row(key + "x", "b")], options=APART)
    made.create_index("expression", "id", name="x", expr="lower", kind="bloom_filters")
    return made


def read(table, text):
    scan = table.scan(filter=text)
    counts = str(scan.explain()).split("file groups: ")[1].split()
    return sorted(scan.to_arrow()["id"].to_pylist()), int(counts[0])


def test_files_without_the_value_are_left_out(table):
    assert read(table, "lower(id) = 'cd'") == (["Cd"], 1)
    assert read(table, "'cd' = lower(id) and n = 1") == (["Cd"], 1)
    assert read(table, "lower(id) in ('cd', 'efx', 'q')") == (["Cd", "Efx"], 2)
    assert read(table, "lower(id) = 'none'") == ([], 0)


def test_what_is_no_equality_leaves_out_nothing(table):
    for text in ("lower(id) <> 'cd'", "lower(id) = 'cd' or n = 1", "lower(id) not in ('cd')", "lower(id) > 'a'"):
        assert read(table, text)[1] == 6


def test_rows_that_come_later_are_found_and_those_in_logs_too(table):
    table.upsert([row("Cd", n=2), row("Zz")], options=APART)
    assert read(table, "lower(id) = 'zz'")[0] == ["Zz"]
    assert read(table, "lower(id) = 'cd'")[0] == ["Cd"]
    table.compact()
    table.cluster()
    assert read(table, "lower(id) = 'zz'")[0] == ["Zz"]
    for n in range(3, 14):  # as many as make the metadata table compact
        table.upsert([row("Cd", n=n)], options=APART)
    table.clean(options={"hoodie.clean.commits.retained": "1"})
    assert read(table, "lower(id) = 'cd'")[0] == ["Cd"]
    assert read(table, "lower(id) = 'efx'")[0] == ["Efx"]
    assert table.check().problems.to_pylist() == []


def test_records_are_those_of_filters(table):
    opened = metadata_of(table)
    found = kind_of(X, opened.definitions).fold(opened, read_entries(opened, X, Wanted()))
    assert set(found.kinds.to_pylist()) == {RecordKind.BLOOM_FILTER}
    assert {len(key) for key in found.keys.to_pylist()} == {36}
    assert set(found.values.field("type").to_pylist()) == {"DYNAMIC_V0"}
    times = {one.requested_time for one in table.timeline.completed.values()}
    assert set(found.values.field("timestamp").to_pylist()) <= times


def test_a_file_without_a_filter_may_hold_anything(table):
    files = pa.table({"partition": ["a"], "name": ["x_0_20260101000000000.parquet"]})
    assert files_holding(metadata_of(table), X, files, pa.array(["q"])).to_pylist() == [True]


def test_only_texts_and_whole_numbers_have_filters(table):
    assert has_same_text(pa.int32())
    assert not has_same_text(pa.float64())
    with pytest.raises(InvalidInput, match="texts and whole numbers"):
        table.create_index("expression", "id", name="y", expr="to_date", kind="bloom_filters")


def test_values_themselves_may_be_indexed(table):
    table.create_index("expression", "n", name="y", expr="identity", kind="bloom_filters")
    assert table.scan(filter="n = 1").count() == 6
    for key in ("Gh", "Kl"):
        table.insert([row(key, n=1), row(f"{key}9", n=9 if key == "Gh" else 8)], options=APART)
    assert read(table, "n = 9") == (["Gh9"], 1)
    assert read(table, "n in (4, 5)") == ([], 0)  # which the bounds of both files hold
    assert read(table, "n between 4 and 5") == ([], 2)

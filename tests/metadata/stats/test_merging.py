import math
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.metadata.stats.test_column_stats import FILE, bounds_of, read

from pyhudi.metadata.stats.column_stats import column_stats_schema
from pyhudi.metadata.stats.merging import fold_stats, partition_stats, widen

VERSIONS = [6, 8, 9]


def of(partition: str, version: int, **columns: pa.Array) -> pa.Table:
    """Return the statistics of a file in a partition."""
    stats = read(pa.table(columns), version)
    return stats.set_column(0, "partition", pa.array([partition] * stats.num_rows, pa.string()))


def row_of(stats: pa.Table, column: str, partition: str = "p") -> pa.Table:
    names, where = stats.column("columnName").to_pylist(), stats.column("partition").to_pylist()
    (at,) = [at for at, one in enumerate(zip(names, where, strict=True)) if one == (column, partition)]
    return stats.slice(at, 1)


def replaced(stats: pa.Table, **columns: object) -> pa.Table:
    for name, value in columns.items():
        at = stats.schema.get_field_index(name)
        field = stats.schema.field(at)
        stats = stats.set_column(at, field, pa.array([value] * stats.num_rows, field.type))
    return stats


@pytest.mark.parametrize("version", VERSIONS)
def test_a_partition_encloses_its_files(version):
    dec = pa.decimal128(5, 2)
    files = [
        of("p", version, i=pa.array([1, None]), t=pa.array(["b", "c"]), d=pa.array([Decimal("1.5"), None], dec)),
        of(
            "p", version, i=pa.array([-5, 9]), t=pa.array([None, None], pa.string()), d=pa.array([Decimal(-2)] * 2, dec)
        ),
        of("", version, i=pa.array([100]), t=pa.array(["z"]), d=pa.array([None], dec)),
    ]
    found = partition_stats(pa.concat_tables(files), version)
    assert found.schema == column_stats_schema(version)
    assert found.num_rows == 6
    assert bounds_of(row_of(found, "i"), pa.int64()) == (-5, 9)
    assert bounds_of(row_of(found, "t"), pa.string()) == ("b", "c")
    assert bounds_of(row_of(found, "d"), dec) == (Decimal("-2.00"), Decimal("1.50"))
    assert bounds_of(row_of(found, "d", ""), dec) == (None, None)
    row = row_of(found, "i").to_pylist()[0]
    assert (row["fileName"], row["valueCount"], row["nullCount"], row.get("isTightBound", True)) == ("p", 4, 1, True)
    assert row["totalSize"] == sum(row_of(one, "i").to_pylist()[0]["totalSize"] for one in files[:2])
    assert row_of(found, "i", "").column("fileName").to_pylist() == ["."]


@pytest.mark.parametrize("version", VERSIONS)
def test_bounds_that_are_not_known_make_the_widest(version):
    """Java takes null bounds for a column without values, and leaves its rows out."""
    odd = of("p", version, t=pa.array(["\uffff"]), f=pa.array([1.0]))
    plain = of("p", version, t=pa.array(["a", None]), f=pa.array([math.nan, -3.0]))
    found = partition_stats(pa.concat_tables([odd, plain]), version)
    row = row_of(found, "t").to_pylist()[0]
    assert row["minValue"]["StringWrapper"]["value"] == ""
    assert row["maxValue"]["StringWrapper"]["value"] == "\U0010ffff" * 4
    assert repr(bounds_of(row_of(found, "f"), pa.float64())) == "(-3.0, nan)"
    only = partition_stats(of("p", version, f=pa.array([math.nan])), version)
    assert repr(bounds_of(only, pa.float64())) == "(nan, nan)"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["in time", "otherwise"])
def test_a_column_that_changed_its_type_is_merged_in_the_wider_one(order):
    files = of("p", 9, i=pa.array([-7], pa.int32())), of("p", 9, i=pa.array([2**40]))
    found = partition_stats(pa.concat_tables([files[at] for at in order]), 9)
    assert bounds_of(found, pa.int64()) == (-7, 2**40)
    assert found.column("valueType").to_pylist() == [{"typeOrdinal": 4, "additionalInfo": None}]


@pytest.mark.parametrize("version", VERSIONS)
def test_statistics_of_partitions_are_widened_by_newer_ones(version):
    older = partition_stats(of("p", version, i=pa.array([1, 2])), version)
    newer = partition_stats(
        pa.concat_tables([of("p", version, i=pa.array([5])), of("q", version, i=pa.array([7]))]), version
    )
    found = widen(older, newer, version)
    assert bounds_of(row_of(found, "i"), pa.int64()) == (1, 5)
    assert bounds_of(row_of(found, "i", "q"), pa.int64()) == (7, 7)
    assert row_of(found, "i").column("valueCount").to_pylist() == [3]
    assert [one.get("isTightBound", False) for one in found.to_pylist()] == [False, False]


def folded(version: int, *layers: pa.Table) -> list[tuple[str, object, int]]:
    """Fold layers whose file names are the keys: key, bounds and values of what is left."""
    stats = pa.concat_tables(layers)
    numbers = [at for at, layer in enumerate(layers) for _ in range(layer.num_rows)]
    keys, found = fold_stats(stats.column("fileName").combine_chunks(), stats, pa.array(numbers), version)
    assert found.column("fileName").to_pylist() == keys.to_pylist()
    return [
        (key, bounds_of(found.slice(at, 1), pa.int64()), found.column("valueCount")[at].as_py())
        for at, key in enumerate(keys.to_pylist())
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_layers_are_folded_by_key(version):
    first, second = of("p", version, i=pa.array([1])), of("p", version, i=pa.array([5, 6]))
    other = replaced(of("p", version, i=pa.array([9])), fileName="z")
    gone = replaced(first, isDeleted=True, minValue=None, maxValue=None, valueCount=0, nullCount=0)
    assert folded(version, first, other) == [(FILE, (1, 1), 1), ("z", (9, 9), 1)]
    assert folded(version, first, pa.concat_tables([second, other])) == [(FILE, (1, 6), 3), ("z", (9, 9), 1)]
    assert folded(version, first, gone, other) == [("z", (9, 9), 1)]
    assert folded(version, first, gone, second) == [(FILE, (5, 6), 2)]
    assert folded(version, gone) == []
    for left in (
        replaced(first, isDeleted=True),
        replaced(gone, valueCount=None, nullCount=None),
    ):
        assert folded(version, other, left, second) == [(FILE, (5, 6), 2), ("z", (9, 9), 1)], "whatever it still says"
        assert folded(version, second, left, first, second) == [(FILE, (1, 6), 3)]


@pytest.mark.parametrize("version", [8, 9])
def test_a_layer_with_tight_bounds_replaces_older_ones(version):
    first, second, third = (of("p", version, i=pa.array([one])) for one in (1, 5, 7))
    tight = replaced(second, isTightBound=True)
    assert folded(version, first, tight) == [(FILE, (5, 5), 1)]
    assert folded(version, first, tight, third) == [(FILE, (5, 7), 2)]

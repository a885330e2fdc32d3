import io
import math
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.amounts import amount
from tests.predicate.trees import SCHEMA, conditions, rows, table_of

from pyhudi.errors import ExpressionError
from pyhudi.filegroup.view import SLICES
from pyhudi.index.skipping import partitions_matching_stats, skippable_columns, slices_matching
from pyhudi.metadata.stats.column_stats import column_stats_schema, read_column_stats
from pyhudi.metadata.stats.merging import partition_stats
from pyhudi.predicate import mask, parse
from pyhudi.schema.evolution import project
from pyhudi.storage.memory import MemoryStorage

EVOLVED = pa.schema({**{field.name: field.type for field in SCHEMA}, "i": pa.int64(), "j": pa.float64()})
_files = st.lists(
    st.tuples(rows, st.sampled_from("pq"), st.sets(st.sampled_from(SCHEMA.names))), min_size=1, max_size=4
)


def slices_of(files: list[tuple[str, list[str]]]) -> pa.Table:
    """Make slices of partitions and file names: a base file first, unless it is a log, then logs."""
    made = []
    for where, names in files:
        base = None if names[0].startswith(".") else names[0]
        logs = [{"name": name, "size_bytes": 1} for name in names if name.startswith(".")]
        made.append(dict(zip(SLICES.names, (where, names[0], "1", base, 1, logs), strict=True)))
    return pa.Table.from_pylist(made, SLICES)


def stats_of(files: dict[str, pa.Table], version: int = 9, row_group_size: int = 2) -> pa.Table:
    """Write files and read their statistics; the names of files are paths, and logs are written as base files."""
    storage = MemoryStorage()
    for path, table in files.items():
        content = io.BytesIO()
        pq.write_table(table, content, row_group_size=row_group_size)
        storage.put(path.replace("/.", "/"), content.getvalue())
    named = {tuple(path.replace("/.", "/").split("/")): path.split("/")[1] for path in files}
    columns = sorted({name for table in files.values() for name in table.column_names})
    stats = read_column_stats(storage, list(named), columns, version)
    at, places = (
        stats.schema.get_field_index("fileName"),
        zip(*map(stats.column, ("partition", "fileName")), strict=True),
    )
    names = [named[where.as_py(), name.as_py()] for where, name in places]
    return stats.set_column(at, "fileName", pa.array(names, pa.string()))


@settings(max_examples=amount(100, 200, 2000), deadline=None, suppress_health_check=list(HealthCheck))
@given(conditions, _files, st.sampled_from([6, 8, 9]))
def test_a_slice_or_partition_with_a_matching_row_is_kept(expression: Any, given_files: Any, version: int) -> None:
    """Files lack columns, and have narrower types than the table."""
    files = {
        f"{where}/f{at}_0-0-0_1.parquet": table_of(values).drop_columns(sorted(missing)) if len(missing) < 5 else None
        for at, (values, where, missing) in enumerate(given_files)
    }
    files = {path: table for path, table in files.items() if table is not None}
    if not files:
        return
    stats = stats_of(files, version)
    slices = slices_of([(path.split("/")[0], [path.split("/")[1]]) for path in files])
    kept = slices_matching(slices, expression, EVOLVED, stats).to_pylist()
    merged = partition_stats(stats, version)
    partitions = sorted({path.split("/")[0] for path in files})
    kept_partitions = partitions_matching_stats(partitions, expression, EVOLVED, merged).to_pylist()
    for (path, table), is_kept in zip(files.items(), kept, strict=True):
        is_partition_kept = kept_partitions[partitions.index(path.split("/")[0])]
        with suppress(ExpressionError):
            matches = any(mask(expression, project(table, EVOLVED)).to_pylist())
            assert is_kept or not matches
            assert is_partition_kept or not matches


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(conditions, st.lists(st.lists(rows, min_size=1, max_size=3), min_size=1, max_size=3))
def test_the_files_of_a_slice_count_as_one(expression: Any, given_slices: Any) -> None:
    files: dict[str, pa.Table] = {}
    named: list[tuple[str, list[str]]] = []
    for number, parts in enumerate(given_slices):
        names = [f"{'.' if at else ''}s{number}_{at}.parquet" for at in range(len(parts))]
        named.append(("p", names))
        files |= {f"p/{name}": table_of(values) for name, values in zip(names, parts, strict=True)}
    kept = slices_matching(slices_of(named), expression, SCHEMA, stats_of(files)).to_pylist()
    for (_, names), is_kept in zip(named, kept, strict=True):
        together = pa.concat_tables([files[f"p/{name}"] for name in names])
        with suppress(ExpressionError):
            assert is_kept or not any(mask(expression, together).to_pylist())


NUMBERED = {f"p/f{at}": pa.table({"x": [10 * at, 10 * at + 9], "t": [f"{at}a", f"{at}z"]}) for at in range(10)}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x = 42", [4]),
        ("x < 25 and t > '1'", [1, 2]),
        ("x in (5, 95, 1000)", [0, 9]),
        ("t like '7%'", [7]),
        ("x is null", []),
        ("not (x >= 10)", [0]),
        ("y = 1", list(range(10))),
        ("x = 42 or y = 1", list(range(10))),
        ("x = 42 and y = 1", [4]),
    ],
)
def test_slices_are_left_out_by_their_statistics(text: str, kept: list[int]) -> None:
    slices = slices_of([("p", [path[2:]]) for path in NUMBERED])
    schema = pa.schema({"x": pa.int64(), "t": pa.string(), "y": pa.int64()})
    found = slices_matching(slices, parse(text), schema, stats_of(NUMBERED))
    assert np.flatnonzero(found.to_numpy(zero_copy_only=False)).tolist() == kept


def test_a_partition_is_kept_whose_only_file_with_rows_lacks_the_column() -> None:
    files = {"p/none": pa.table({"x": pa.array([], pa.int64())}), "p/lacks": pa.table({"t": ["a"]})}
    stats = partition_stats(stats_of(files), 9)
    schema = pa.schema({"x": pa.int64(), "t": pa.string()})
    assert partitions_matching_stats(["p"], parse("x is null"), schema, stats).to_pylist() == [True]


def test_partitions_are_left_out_by_their_statistics_but_not_by_texts_and_floats() -> None:
    files = {
        f"{where}/f": pa.table({"x": [at], "t": [where], "d": [float(at)]})
        for at, where in enumerate(["", "p", "q"], 1)
    }
    files = {path.removeprefix("/"): table for path, table in files.items()}
    storage_stats = partition_stats(stats_of({f"p/{at}": one for at, one in enumerate(files.values())}), 9)
    names = ["p", "unknown"]
    schema = pa.schema({"x": pa.int64(), "t": pa.string(), "d": pa.float64()})

    def kept(text: str) -> list[bool]:
        return partitions_matching_stats(names, parse(text), schema, storage_stats).to_pylist()

    assert kept("x > 3") == [False, True]
    assert kept("x = 2") == [True, True]
    assert kept("t > 'zzz'") == [True, True]
    assert kept("d > 100") == [True, True]
    assert kept("t is null") == [True, True]


def test_what_statistics_do_not_tell_is_kept() -> None:
    schema = pa.schema({"x": pa.int64(), "t": pa.string()})
    ones = {name: pa.table({"x": [1], "t": ["a"]}) for name in ("p/a", "p/c", "p/d")}
    stats = stats_of(ones | {name: pa.table({"x": [2], "t": ["b"]}) for name in ("p/.c.log", "p/.f.log")})
    names = [("p", ["a"]), ("p", ["b"]), ("p", ["c", ".c.log"]), ("p", ["d", ".e.log"]), ("p", [".f.log"])]

    def kept(text: str, stats: pa.Table = stats) -> list[bool]:
        return slices_matching(slices_of(names), parse(text), schema, stats).to_pylist()

    assert kept("x = 2") == [False, True, True, True, True]
    assert kept("x = 3") == [False, True, False, True, False]
    assert kept("x = 3", column_stats_schema(9).empty_table()) == [True] * 5


@pytest.mark.parametrize("names", [["a"], ["a", ".a.log"]])
def test_of_files_that_have_one_name_in_two_partitions_nothing_is_known(names: list[str]) -> None:
    """Buckets of non-blocking writers have the same file ids in every partition."""
    schema = pa.schema({"x": pa.int64()})
    stats = stats_of({f"p/{name}": pa.table({"x": [1]}) for name in names})
    for where, expected in ((["p"], [False]), (["p", "q"], [True, True])):
        slices = slices_of([(one, names) for one in where])
        assert slices_matching(slices, parse("x = 3"), schema, stats).to_pylist() == expected
        both = pa.concat_tables([stats, stats_of({f"q/{name}": pa.table({"x": [1]}) for name in names})])
        assert slices_matching(slices, parse("x = 1"), schema, both).to_pylist() == [True] * len(where)


def test_a_column_counted_as_null_for_want_of_statistics_may_hold_values() -> None:
    """Apache Hudi counts so where a footer has no statistics, as of texts beyond 4 KiB."""
    stats = stats_of({"p/a": pa.table({"t": pa.array([None], pa.string())})})
    at = stats.schema.get_field_index("totalUncompressedSize")
    for size, expected in ((100, False), (5000, True)):
        said = stats.set_column(at, stats.schema.field(at), pa.array([size]))
        schema = pa.schema({"t": pa.string()})
        assert slices_matching(slices_of([("p", ["a"])]), parse("t = 'x'"), schema, said).to_pylist() == [expected]


def test_nan_is_above_every_bound() -> None:
    stats = stats_of({"p/a": pa.table({"d": [1.0, math.nan]}), "p/b": pa.table({"d": [1.0, 2.0]})})
    slices = slices_of([("p", ["a"]), ("p", ["b"])])
    schema = pa.schema({"d": pa.float64()})
    assert slices_matching(slices, parse("d > 5"), schema, stats).to_pylist() == [True, False]
    assert slices_matching(slices, parse("d < 0"), schema, stats).to_pylist() == [False, False]


def test_columns_of_structs_have_no_statistics() -> None:
    schema = pa.schema({"x": pa.int64(), "s": pa.struct({"y": pa.int64()})})
    assert skippable_columns(parse("x = 1 and s.y = 2"), schema) == ("x",)

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import InvalidInput
from pyhudi.kernels.keys import KeyGenerator, KeySpec, PartitionField, TimestampSpec, partition_paths
from pyhudi.kernels.keys.partition import DEFAULT_PARTITION, escape_path


def paths(columns, *, generator=None, times=(), **more):
    generator = generator or (KeyGenerator.SIMPLE if len(columns) == 1 else KeyGenerator.COMPLEX)
    fields = tuple(PartitionField(name=name, is_timestamp=name in times) for name in columns)
    spec = KeySpec(generator=generator, record_key=("id",), partition=fields, **more)
    return partition_paths(spec, pa.table(columns)).to_pylist()


def test_a_path_is_the_values_joined_with_slashes():
    assert paths({"a": [1, 2], "b": ["x", "y"]}) == ["1/x", "2/y"]


def test_hive_style_names_every_level():
    assert paths({"a": [1], "b": ["x"]}, is_hive_style=True) == ["a=1/b=x"]


@pytest.mark.parametrize("value", [None, ""])
def test_null_and_empty_values_have_a_path_of_their_own(value):
    column = pa.array([value], pa.string())
    assert paths({"a": column}) == [DEFAULT_PARTITION]
    assert paths({"a": column, "b": [1]}, is_hive_style=True) == [f"a={DEFAULT_PARTITION}/b=1"]


def test_exactly_hives_characters_are_escaped():
    escaped = {chr(code) for code in range(0x300) if escape_path(chr(code)) != chr(code)}
    assert escaped == {*map(chr, range(0x20)), "\x7f", *"\"#%'*/:=?\\{[]^"}
    assert escape_path("a/b:é}\x7f") == "a%2Fb%3Aé}%7F"


def test_escapes_are_made_inside_the_name_of_a_level():
    assert paths({"a": ["x/y=z"]}, is_url_encoded=True, is_hive_style=True) == ["a=x%2Fy%3Dz"]


def test_slashes_in_a_value_make_more_levels():
    assert paths({"a": ["2024/01/02"]}) == ["2024/01/02"]


def test_dates_may_be_separated_by_slashes():
    days = pa.array([date(2024, 1, 2), None], pa.date32())
    assert paths({"d": days}, has_slash_dates=True) == ["2024/01/02", DEFAULT_PARTITION]
    assert paths({"d": days}, has_slash_dates=True, generator=KeyGenerator.COMPLEX) == ["2024/01/02", DEFAULT_PARTITION]
    assert paths({"d": days, "b": [1, 2]}, has_slash_dates=True) == ["2024-01-02/1", f"{DEFAULT_PARTITION}/2"]


def test_a_leading_dash_keeps_its_dashes():
    assert paths({"d": ["-5-1"]}, has_slash_dates=True) == ["-5-1"]


@pytest.mark.parametrize("value", ["..", "a/../b", "../a", "a/..", "/a", "a/", "a//b", "/", ".", "a/./b", ".hoodie/x"])
def test_values_that_lead_out_of_the_table_are_refused(value):
    with pytest.raises(InvalidInput, match="partition value"):
        paths({"a": ["fine", value]})


@pytest.mark.parametrize("value", ["...", "a..b", ".hidden", "..a"])
def test_dots_in_a_name_are_fine(value):
    assert paths({"a": [value]}) == [value]


def test_a_level_below_the_first_may_be_called_hoodie():
    assert paths({"a": [1], "b": [".hoodie"]}) == ["1/.hoodie"]


def test_custom_spells_every_level_by_its_own_kind():
    spec = TimestampSpec(type="UNIX_TIMESTAMP", output_format="yyyy/MM/dd")
    columns = {"a": ["x"], "t": [1704164645]}
    assert paths(columns, generator=KeyGenerator.CUSTOM, times={"t"}, timestamp=spec) == ["x/2024/01/02"]
    encoded = paths(
        columns, generator=KeyGenerator.CUSTOM, times={"t"}, timestamp=spec, is_hive_style=True, is_url_encoded=True
    )
    assert encoded == ["a=x/t=2024%2F01%2F02"]
    assert paths(columns, generator=KeyGenerator.CUSTOM) == ["x/1704164645"]


def test_a_timestamp_level_needs_its_options():
    with pytest.raises(InvalidInput, match="timebased"):
        paths({"t": [1]}, generator=KeyGenerator.TIMESTAMP)


def path_of(row, names, is_hive, is_encoded):
    """Build one path; none if it is refused."""
    levels = []
    for value, name in zip(row, names, strict=True):
        text = value or DEFAULT_PARTITION
        text = "".join(f"%{ord(c):02X}" if c in "/:=%" else c for c in text) if is_encoded else text
        levels.append(f"{name}={text}" if is_hive else text)
    path = "/".join(levels)
    return None if {"", ".", ".."} & set(path.split("/")) else path


VALUES = st.none() | st.text("ab/:=%. ", max_size=3)


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1), st.booleans(), st.booleans())
def test_paths_equal_the_reference(rows, is_hive, is_encoded):
    columns = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate("ab")}
    expected = [path_of(row, "ab", is_hive, is_encoded) for row in rows]
    if None in expected:
        with pytest.raises(InvalidInput):
            paths(columns, is_hive_style=is_hive, is_url_encoded=is_encoded)
    else:
        assert paths(columns, is_hive_style=is_hive, is_url_encoded=is_encoded) == expected

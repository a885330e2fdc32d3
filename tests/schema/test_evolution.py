import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import NotBuilt, SchemaMismatch
from pyhudi.schema.evolution import added, conform, evolve, project, require_names_apart, widened
from pyhudi.schema.meta_fields import with_meta_fields

PLACE = pa.struct([("x", pa.float64()), ("names", pa.list_(pa.field("element", pa.string())))])
TABLE = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        ("n", pa.int32()),
        ("big", pa.int64()),
        ("fare", pa.float64()),
        ("cost", pa.decimal128(10, 2)),
        ("at", pa.timestamp("us", "UTC")),
        ("place", PLACE),
        ("tags", pa.list_(pa.field("element", pa.string()))),
        ("props", pa.map_(pa.string(), pa.int64())),
    ]
)
ROWS = [
    {
        "id": "a", "n": 1, "big": 2, "fare": 3.5, "cost": Decimal("1.25"), "at": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        "place": {"x": 1.0, "names": ["p", None]}, "tags": ["t"], "props": [("k", 1)],
    },
    {**dict.fromkeys(TABLE.names), "id": "b"},
    {"id": "c", "n": 4, "big": 5, "fare": 6.0, "cost": Decimal("2.00"), "at": None, "place": {"x": None, "names": None},
     "tags": [], "props": []},
]  # fmt: skip


def rows(**columns) -> pa.Table:
    return pa.table(columns)


def test_rows_of_the_tables_schema_pass_untouched() -> None:
    table = pa.Table.from_pylist(ROWS, schema=TABLE)
    assert conform(table, TABLE).equals(table)
    batch = table.to_batches()[0]
    assert conform(batch, TABLE).equals(batch)


def test_rows_made_by_arrow_from_dicts_fit() -> None:
    schema = TABLE.remove(TABLE.get_field_index("props"))
    dicts = [{name: row[name] for name in schema.names} for row in ROWS]
    table = pa.Table.from_pylist(dicts)
    assert table.schema.field("n").type == pa.int64()
    fitted = conform(table, schema)
    assert fitted.schema.equals(schema)
    assert fitted.to_pylist() == dicts


def test_columns_are_matched_by_name_in_any_order() -> None:
    schema = pa.schema([("a", pa.int32()), ("s", pa.struct([("x", pa.int32()), ("y", pa.string())]))])
    table = pa.table({"s": [{"y": "k", "x": 1}], "a": [7]})
    assert conform(table, schema).to_pylist() == [{"a": 7, "s": {"x": 1, "y": "k"}}]


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array(["x", None], pa.large_string()), pa.string()),
        (pa.array(["x", None], pa.string_view()), pa.string()),
        (pa.array(["x", None]).dictionary_encode(), pa.string()),
        (pa.array([b"xy", None], pa.binary(2)), pa.binary()),
        (pa.array([1, None], pa.uint64()), pa.int64()),
        (pa.array([1, None], pa.int8()), pa.int32()),
        (pa.array([1, None], pa.int64()), pa.float64()),
        (pa.array([1, None], pa.int64()), pa.decimal128(6, 2)),
        (pa.array([1.5, None], pa.float64()), pa.float32()),
        (pa.array([2.0**53, None], pa.float64()), pa.int64()),
        (pa.array([-3.0, None], pa.float32()), pa.int32()),
        (pa.array([Decimal("2.00"), None]), pa.int64()),
        (pa.array([Decimal("1.50"), None]), pa.decimal128(10, 1)),
        (pa.array([10**9, None], pa.timestamp("ns", "Europe/Berlin")), pa.timestamp("us", "UTC")),
        (pa.array([dt.date(2020, 1, 1), None], pa.date64()), pa.date32()),
        (pa.array([None, None]), pa.list_(pa.field("element", pa.string()))),
        (pa.array([["x"], None], pa.large_list(pa.large_string())), pa.list_(pa.field("element", pa.string()))),
        (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), pa.list_(pa.field("element", pa.int32()))),
        (pa.array([["x"], None], pa.list_view(pa.string())), pa.list_(pa.field("element", pa.string()))),
        (pa.array([["x"], None]).cast(pa.list_(pa.dictionary(pa.int32(), pa.string()))), pa.list_(pa.string())),
        (pa.array([[("k", 1)], None], pa.map_(pa.large_string(), pa.int8())), pa.map_(pa.string(), pa.int64())),
        (pa.array([{"x": 1}, None]), pa.struct([("x", pa.int32())])),
    ],
)  # fmt: skip
def test_values_keep_their_meaning_in_the_tables_type(array: pa.Array, kind: pa.DataType) -> None:
    fitted = conform(pa.table({"v": array}), pa.schema([("v", kind)]))["v"]
    assert fitted.type == kind
    assert fitted.to_pylist() == array.to_pylist()
    sliced = conform(pa.record_batch({"v": array}).slice(1), pa.schema([("v", kind)])).column(0)
    assert sliced.to_pylist() == [None]


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([1 << 40]), pa.int32()),
        (pa.array([1 << 63], pa.uint64()), pa.int64()),
        (pa.array([(1 << 53) + 1]), pa.float64()),
        (pa.array([1e300]), pa.float32()),
        (pa.array([2.9]), pa.int64()),
        (pa.array([float("nan")]), pa.int64()),
        (pa.array([2.0**54]), pa.int64()),
        (pa.array([2.0**25], pa.float32()), pa.int64()),
        (pa.array([2.0**31]), pa.int32()),
        (pa.array([Decimal("1.5")]), pa.int64()),
        (pa.array([Decimal("1.255")]), pa.decimal128(10, 2)),
        (pa.array([12345678]), pa.decimal128(6, 2)),
        (pa.array([1], pa.timestamp("ns")), pa.timestamp("us")),
        (pa.array([{"x": 1 << 40}]), pa.struct([("x", pa.int32())])),
    ],
)
def test_values_that_would_change_are_refused_by_column(array: pa.Array, kind: pa.DataType) -> None:
    with pytest.raises(SchemaMismatch, match="column='v"):
        conform(pa.table({"v": array}), pa.schema([("v", kind)]))


@pytest.mark.parametrize(
    ("column", "kind", "row", "value"),
    [
        (pa.chunked_array([[1.0, None], [2.0, 3.0], [4.0, 5.5, 6.5]]), pa.int64(), 5, "5.5"),
        (pa.chunked_array([[[1], None], [[2, 1 << 40]]]), pa.list_(pa.int32()), 2, "1099511627776"),
        (pa.chunked_array([pa.array([0, 1001], pa.timestamp("ns"))]), pa.timestamp("us"), 1, "00:00:00.000001001"),
    ],
)
def test_the_first_row_that_does_not_fit_is_named_with_its_value(column, kind, row, value) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        conform(pa.table({"v": column}), pa.schema([("v", kind)]))
    assert caught.value.values["row"] == row
    assert value in caught.value.values["value"]
    with pytest.raises(SchemaMismatch, match="row=1"):
        conform(pa.table({"v": ["a", None]}), pa.schema([pa.field("v", pa.string(), nullable=False)]))


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (pa.array([1]), pa.string()),
        (pa.array(["1"]), pa.int64()),
        (pa.array([1.0]), pa.decimal128(5, 1)),
        (pa.array(["x"]), pa.binary()),
        (pa.array([1], pa.timestamp("us")), pa.timestamp("us", "UTC")),
        (pa.array([dt.date(2020, 1, 1)]), pa.timestamp("us")),
        (pa.array([True]), pa.int32()),
        (pa.array([["x"]]), pa.string()),
        (pa.array(["x"]), pa.list_(pa.string())),
        (pa.array([{"x": 1}]), pa.map_(pa.string(), pa.int64())),
    ],
)
def test_values_of_another_kind_are_refused_with_both_types(array: pa.Array, kind: pa.DataType) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        conform(pa.table({"v": array}), pa.schema([("v", kind)]))
    assert f"v: table has {kind}, rows have {array.type}" in str(caught.value)


def test_all_problems_are_said_at_once() -> None:
    table = rows(id=["a"], nn=[1], big=["x"], place=[{"x": 1.0, "names": ["n"], "z": 1}])
    with pytest.raises(SchemaMismatch) as caught:
        conform(table, TABLE, fills_missing=True)
    text = str(caught.value)
    assert "nn: unknown column, did you mean n?" in text
    assert "big: table has int64, rows have string" in text
    assert "place.z: unknown column" in text
    with pytest.raises(SchemaMismatch, match="n: missing, int32; big: missing, int64"):
        conform(rows(id=["a"]), TABLE)
    with pytest.raises(SchemaMismatch, match=r"did you mean Fare\?"):
        conform(rows(fare=[1.0]), pa.schema([("Fare", pa.float64())]), fills_missing=True)


def test_missing_columns_are_null_only_when_asked() -> None:
    table = rows(id=["a"], place=[{"x": 1.0}])
    fitted = conform(table, TABLE, fills_missing=True)
    assert fitted.schema.equals(TABLE)
    assert fitted.to_pylist() == [{**dict.fromkeys(TABLE.names), "id": "a", "place": {"x": 1.0, "names": None}}]
    with pytest.raises(SchemaMismatch, match="id: missing, not null string"):
        conform(rows(n=[1]), TABLE, fills_missing=True)


def test_nulls_are_refused_where_there_must_be_none() -> None:
    with pytest.raises(SchemaMismatch, match="column='id'"):
        conform(rows(id=["a", None]), pa.schema([pa.field("id", pa.string(), nullable=False)]))
    inner = pa.struct([pa.field("x", pa.int32(), nullable=False)])
    with pytest.raises(SchemaMismatch, match=r"column='s\.x'"):
        conform(rows(s=[{"x": None}]), pa.schema([("s", inner)]))
    hidden = pa.StructArray.from_arrays([pa.array([None, 1])], ["x"], mask=pa.array([True, False]))
    assert conform(rows(s=hidden), pa.schema([("s", inner)])).to_pylist() == [{"s": None}, {"s": {"x": 1}}]


def test_names_given_twice_are_refused() -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["n", "n"])
    with pytest.raises(SchemaMismatch, match="n: given twice"):
        conform(twice, pa.schema([("n", pa.int64())]))


def test_tables_without_rows_or_chunks_fit() -> None:
    empty = pa.table({"n": pa.chunked_array([], pa.int64())})
    assert conform(empty, pa.schema([("n", pa.int32())])).schema.field("n").type == pa.int32()


nested_value = st.none() | st.fixed_dictionaries(
    {
        "x": st.none() | st.integers(-9, 9),
        "names": st.none() | st.lists(st.none() | st.text("ab", max_size=3), max_size=3),
    }
)


@given(st.lists(st.lists(nested_value, max_size=3) | st.none(), max_size=8), st.integers(0, 4))
@settings(deadline=None)
def test_nested_values_survive_a_change_of_shape(values: list, start: int) -> None:
    source = pa.large_list(pa.struct([("names", pa.list_(pa.large_string())), ("x", pa.int8())]))
    target = pa.list_(
        pa.field("element", pa.struct([("x", pa.int64()), ("more", pa.string()), ("names", pa.list_(pa.string()))]))
    )
    batch = pa.record_batch({"v": pa.array(values, source)}).slice(start)
    fitted = conform(batch, pa.schema([("v", target)]), fills_missing=True).column(0)
    fitted.validate(full=True)

    def expected(value: dict | None) -> dict | None:
        return None if value is None else {"x": value["x"], "more": None, "names": value["names"]}

    assert fitted.to_pylist() == [None if row is None else [expected(value) for value in row] for row in values[start:]]


def test_old_files_are_read_with_todays_schema() -> None:
    old = pa.table(
        {
            "gone": [1],
            "n": pa.array([1], pa.int32()),
            "f": pa.array([0.5], pa.float32()),
            "t": pa.array([7], pa.int32()),
        }
    )
    today = pa.schema([("new", pa.string()), ("n", pa.int64()), ("f", pa.float64()), ("t", pa.string())])
    assert project(old, today).equals(pa.table({"new": [None], "n": [1], "f": [0.5], "t": ["7"]}, schema=today))


@pytest.mark.parametrize(
    ("array", "kind", "value"),
    [
        (pa.array([(1 << 53) + 1]), pa.float64(), float(1 << 53)),
        (pa.array([1], pa.int32()), pa.float32(), 1.0),
        (pa.array(["x"]), pa.binary(), b"x"),
        (pa.array([b"x"]), pa.string(), "x"),
        (pa.array([-5]), pa.string(), "-5"),
        (pa.array([Decimal("1.50")]), pa.string(), "1.50"),
        (pa.array([dt.date(2020, 2, 1)]), pa.string(), "2020-02-01"),
        (pa.array([Decimal("1.5")]), pa.decimal128(12, 3), Decimal("1.500")),
        (
            pa.array([1], pa.timestamp("ms", "UTC")),
            pa.timestamp("us", "UTC"),
            dt.datetime(1970, 1, 1, 0, 0, 0, 1000, dt.UTC),
        ),
    ],
)
def test_promoted_columns_of_old_files_are_cast(array: pa.Array, kind: pa.DataType, value: object) -> None:
    assert project(pa.record_batch({"v": array}), pa.schema([("v", kind)])).column(0).to_pylist() == [value]


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float32()])
def test_a_file_that_is_wider_than_its_moment_is_read_where_its_values_fit(kind: pa.DataType) -> None:
    assert project(pa.record_batch({"v": [7.0, None]}), one(kind)).column(0).to_pylist() == [7, None]
    with pytest.raises(SchemaMismatch, match="does not fit its column"):
        project(pa.table({"v": [1.0e300]}), one(kind))
    if pa.types.is_integer(kind):
        with pytest.raises(SchemaMismatch, match="does not fit its column"):
            project(pa.table({"v": [0.5]}), one(kind))


def test_old_floats_as_text_are_not_built_and_other_kinds_are_refused() -> None:
    with pytest.raises(NotBuilt):
        project(pa.table({"v": [1.5]}), pa.schema([("v", pa.string())]))
    with pytest.raises(SchemaMismatch, match="v: table has int64, rows have string"):
        project(pa.table({"v": ["x"]}), pa.schema([("v", pa.int64())]))
    with pytest.raises(SchemaMismatch, match="does not fit"):
        project(pa.table({"v": [b"\xff"]}), pa.schema([("v", pa.string())]))


def test_dictionaries_are_kept_only_when_asked() -> None:
    table = pa.table({"s": pa.array(["x", "x"]).dictionary_encode(), "n": [1, 2]})
    schema = pa.schema([("s", pa.string()), ("n", pa.int64())])
    assert project(table, schema).schema.equals(schema)
    kept = project(table, schema, keeps_dictionaries=True)
    assert kept.schema.field("s").type == pa.dictionary(pa.int32(), pa.string())
    assert kept["s"].to_pylist() == ["x", "x"]


def one(kind: pa.DataType) -> pa.Schema:
    return pa.schema([("v", kind)])


@pytest.mark.parametrize(
    ("table", "writer", "merged"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.int32(), pa.int8(), pa.int32()),
        (pa.int64(), pa.int32(), pa.int64()),
        (pa.int32(), pa.float64(), pa.float64()),
        (pa.int32(), pa.float32(), pa.int32()),
        (pa.int64(), pa.float64(), pa.int64()),
        (pa.int64(), pa.decimal128(5, 1), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.float64(), pa.int32(), pa.float64()),
        (pa.decimal128(10, 2), pa.decimal128(12, 3), pa.decimal128(12, 3)),
        (pa.decimal128(12, 3), pa.decimal128(10, 2), pa.decimal128(12, 3)),
        (pa.decimal128(12, 3), pa.int32(), pa.decimal128(12, 3)),
        (pa.timestamp("ms", "UTC"), pa.timestamp("ns", "UTC"), pa.timestamp("ms", "UTC")),
        (
            pa.list_(pa.field("element", pa.int32())),
            pa.large_list(pa.int64()),
            pa.list_(pa.field("element", pa.int64())),
        ),
        (pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.float64()), pa.map_(pa.string(), pa.float64())),
        (
            pa.struct([("x", pa.int32())]),
            pa.struct([("y", pa.int32())]),
            pa.struct([("x", pa.int32()), ("y", pa.int32())]),
        ),
    ],
)
def test_columns_widen_to_hold_both(table: pa.DataType, writer: pa.DataType, merged: pa.DataType) -> None:
    assert evolve(one(table), one(writer)).equals(one(merged))


ON_REQUEST = [
    (pa.int64(), pa.float32(), pa.float32()),
    (pa.int64(), pa.float64(), pa.float64()),
    (pa.int32(), pa.float32(), pa.float32()),
    (pa.int64(), pa.string(), pa.string()),
    (pa.float64(), pa.large_string(), pa.string()),
    (pa.date32(), pa.string(), pa.string()),
    (pa.string(), pa.binary(), pa.binary()),
    (pa.binary(), pa.string(), pa.string()),
]


@pytest.mark.parametrize(("table", "writer", "merged"), ON_REQUEST)
def test_columns_lose_digits_or_become_text_on_request_only(table, writer, merged) -> None:
    assert evolve(one(table), one(writer), reconciles=True) == one(merged)
    rows = pa.table({"v": pa.array([0.5 if pa.types.is_floating(writer) else None], writer)})
    with pytest.raises(SchemaMismatch, match=f"reconcile[.]schema=true makes the column {merged}"):
        conform(rows, evolve(one(table), one(writer)))


def test_what_widened_is_told_by_path() -> None:
    inner = [("x", pa.int32()), ("y", pa.string())]
    before = pa.schema([("a", pa.int32()), ("b", pa.string()), ("s", pa.struct(inner)), ("l", pa.list_(pa.float32()))])
    after = evolve(
        before,
        pa.schema([("new", pa.int32()), ("l", pa.list_(pa.float64())), ("s", pa.struct([("x", pa.int64())])),
                   ("a", pa.int64()), ("b", pa.string())]),
    )  # fmt: skip
    told = {"a": "int32 -> int64", "s.x": "int32 -> int64", "l.element": "float -> double"}
    assert widened(before, after) == told
    assert widened(after, after) == {}


def test_what_was_added_is_told_by_path() -> None:
    inner = pa.struct([("x", pa.int64()), ("y", pa.string())])
    before = pa.schema([("a", pa.int32()), ("s", pa.struct([("x", pa.int32())])), ("l", pa.list_(pa.struct([])))])
    after = pa.schema([("a", pa.int64()), ("s", inner), ("l", pa.list_(inner)), ("new", inner)])
    told = added(before, after)
    assert list(told) == ["s.y", "l.element.x", "l.element.y", "new"]
    assert told["s.y"] == "string"
    assert added(after, after) == {}


@pytest.mark.parametrize(
    ("table", "writer"),
    [
        (pa.string(), pa.int64()),
        (pa.bool_(), pa.int32()),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.date32(), pa.timestamp("us")),
        (pa.list_(pa.string()), pa.string()),
        (pa.struct([("x", pa.bool_())]), pa.struct([("x", pa.int32())])),
    ],
)
def test_columns_that_cannot_hold_both_are_refused(table: pa.DataType, writer: pa.DataType) -> None:
    with pytest.raises(SchemaMismatch, match="table has"):
        evolve(one(table), one(writer))


def test_new_columns_come_last_and_may_be_null() -> None:
    table = pa.schema([pa.field("id", pa.string(), nullable=False), ("old", pa.int32())])
    writer = pa.schema([pa.field("new", pa.int8(), nullable=False), ("id", pa.string())])
    merged = pa.schema([pa.field("id", pa.string(), nullable=False), ("old", pa.int32()), ("new", pa.int32())])
    assert evolve(table, writer).equals(merged)
    assert evolve(with_meta_fields(table), with_meta_fields(writer)).equals(with_meta_fields(merged))


def test_all_problems_of_an_evolution_are_said_at_once() -> None:
    table = pa.schema([pa.field("id", pa.string(), nullable=False), ("fare", pa.bool_())])
    with pytest.raises(SchemaMismatch) as caught:
        evolve(table, pa.schema([("Fare", pa.int32()), ("fare", pa.int32())]))
    text = str(caught.value)
    assert "id: missing, not null string" in text
    assert "fare: table has bool, rows have int32" in text
    assert "Fare: differs from fare by case only" in text


@pytest.mark.parametrize(
    "writer",
    [
        pa.schema([("v", pa.int32()), ("new", pa.int32()), ("New", pa.int32())]),
        pa.schema([("v", pa.int32()), ("V", pa.int32())]),
        pa.schema([("v", pa.int32()), ("s", pa.struct([("x", pa.int32()), ("X", pa.int32())]))]),
        pa.schema([("v", pa.int32()), ("m", pa.map_(pa.string(), pa.struct([("x", pa.int32()), ("X", pa.int32())])))]),
        pa.schema([("v", pa.int32()), ("l", pa.list_(pa.list_(pa.struct([("x", pa.int8()), ("X", pa.int8())]))))]),
    ],
)
def test_names_that_differ_by_case_only_are_refused(writer) -> None:
    with pytest.raises(SchemaMismatch, match="by case only"):
        evolve(one(pa.int32()), writer)
    with pytest.raises(SchemaMismatch, match="by case only"):
        require_names_apart(writer)
    require_names_apart(pa.schema([("v", pa.struct([("v", pa.int32())])), ("w", pa.int32())]))


def test_a_table_that_has_such_names_is_still_written() -> None:
    table = pa.schema([("v", pa.int32()), ("V", pa.int32())])
    assert evolve(table, table).equals(table)


widening = st.sampled_from([pa.int32(), pa.int64(), pa.float64()])


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), widening), min_size=1, max_size=4),
    st.lists(st.tuples(st.sampled_from("abcd"), widening), min_size=1, max_size=4),
)
@settings(deadline=None)
def test_old_and_new_rows_both_fit_the_evolved_schema(old: list, new: list) -> None:
    table, writer = pa.schema(list(dict(old).items())), pa.schema(list(dict(new).items()))
    merged = evolve(table, writer)
    for schema, read in ((table, project), (writer, lambda rows, to: conform(rows, to, fills_missing=True))):
        source = pa.Table.from_pylist([dict.fromkeys(schema.names, 3)], schema=schema)
        [row] = read(source, merged).to_pylist()
        assert row == {name: 3 if name in schema.names else None for name in merged.names}

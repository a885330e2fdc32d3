import json

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyhudi.errors import CorruptData, HudiError, LimitExceeded, SchemaMismatch
from pyhudi.schema.types import arrow_to_avro, avro_to_arrow, record_name, to_table_schema, to_table_type

DOCUMENTED = pa.schema(
    [
        ("ts", pa.int64()),
        *((name, pa.string()) for name in ("uuid", "rider", "driver")),
        ("fare", pa.float64()),
        ("city", pa.string()),
    ]
)
# as the table-version-6 layout document has them
CREATE_SCHEMA = (
    '{"type":"record","name":"spark_hudi_table_record","namespace":"hoodie.spark_hudi_table","fields":['
    '{"name":"ts","type":["long","null"]},{"name":"uuid","type":["string","null"]},{"name":"rider","type":["string","null"]},'
    '{"name":"driver","type":["string","null"]},{"name":"fare","type":["double","null"]},{"name":"city","type":["string","null"]}]}'
)
COMMIT_SCHEMA = (
    '{"type":"record","name":"spark_hudi_table_record","namespace":"hoodie.spark_hudi_table","fields":['
    '{"name":"ts","type":["null","long"],"default":null},{"name":"uuid","type":["null","string"],"default":null},'
    '{"name":"rider","type":["null","string"],"default":null},{"name":"driver","type":["null","string"],"default":null},'
    '{"name":"fare","type":["null","double"],"default":null},{"name":"city","type":["null","string"],"default":null}]}'
)


def element(kind: pa.DataType, nullable: bool = True) -> pa.DataType:
    return pa.list_(pa.field("element", kind, nullable))


def names_of(schema: pa.Schema) -> dict:
    return arrow_to_avro(schema, "t_record", "hoodie.t")


def test_documented_schemas_are_written_to_the_letter() -> None:
    name, namespace = record_name("spark_hudi_table")
    for null_first, text in ((False, CREATE_SCHEMA), (True, COMMIT_SCHEMA)):
        avro = arrow_to_avro(DOCUMENTED, name, namespace, null_first=null_first)
        assert json.dumps(avro, separators=(",", ":")) == text
        assert avro_to_arrow(text) == DOCUMENTED


def test_record_names_are_made_legal() -> None:
    assert record_name("trips") == ("trips_record", "hoodie.trips")
    assert record_name("1-my.trips") == ("____my__trips_record", "hoodie.____my__trips")


def test_decimals_are_fixed_named_after_the_field() -> None:
    nested = pa.struct([("price", pa.decimal128(15, 3))])
    avro = names_of(pa.schema([("fee", pa.decimal128(10, 2)), ("order", nested)]))
    fee, order = (field["type"][1] for field in avro["fields"])
    assert fee == {
        "type": "fixed", "name": "fixed", "namespace": "hoodie.t.t_record.fee", "size": 5,
        "logicalType": "decimal", "precision": 10, "scale": 2,
    }  # fmt: skip
    assert (order["name"], order["namespace"]) == ("order", "hoodie.t.t_record")
    assert order["fields"][0]["type"][1]["namespace"] == "hoodie.t.t_record.order.price"
    assert order["fields"][0]["type"][1]["size"] == 7


@pytest.mark.parametrize(("precision", "size"), [(1, 1), (2, 1), (3, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)])
def test_decimals_take_as_few_bytes_as_they_can(precision: int, size: int) -> None:
    avro = names_of(pa.schema([pa.field("d", pa.decimal128(precision, 0), nullable=False)]))
    assert avro["fields"][0]["type"]["size"] == size


leaf = st.sampled_from(
    [
        pa.bool_(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32(),
        pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.decimal128(10, 2), pa.decimal128(38, 38),
    ]
)  # fmt: skip
field_names = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True)


def fields(kinds: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[list[pa.Field]]:
    return field_names.flatmap(
        lambda names: st.tuples(*(st.builds(pa.field, st.just(name), kinds, st.booleans()) for name in names)).map(list)
    )


stored = st.recursive(
    leaf,
    lambda inner: st.one_of(
        st.builds(element, inner, st.booleans()),
        st.builds(lambda kind, null: pa.map_(pa.string(), pa.field("value", kind, null)), inner, st.booleans()),
        fields(inner).map(pa.struct),
    ),
    max_leaves=6,
)
schemas = fields(stored).map(pa.schema)


@given(schemas, st.booleans())
@settings(deadline=None)
def test_stored_schemas_survive_avro_and_fastavro_accepts_them(schema: pa.Schema, null_first: bool) -> None:
    avro = arrow_to_avro(schema, "t_record", "hoodie.t", null_first=null_first)
    assert avro_to_arrow(json.dumps(avro)).equals(schema)
    fastavro.parse_schema(json.loads(json.dumps(avro)))


@given(schemas)
@settings(deadline=None)
def test_stored_schemas_are_stored_as_they_are(schema: pa.Schema) -> None:
    assert to_table_schema(schema).equals(schema)


@pytest.mark.parametrize(
    ("passed", "kept"),
    [
        (pa.large_string(), pa.string()),
        (pa.string_view(), pa.string()),
        (pa.large_binary(), pa.binary()),
        (pa.binary_view(), pa.binary()),
        (pa.binary(16), pa.binary()),
        (pa.dictionary(pa.int8(), pa.large_string()), pa.string()),
        (pa.run_end_encoded(pa.int32(), pa.int16()), pa.int32()),
        (pa.int8(), pa.int32()),
        (pa.int16(), pa.int32()),
        (pa.uint8(), pa.int32()),
        (pa.uint16(), pa.int32()),
        (pa.uint32(), pa.int64()),
        (pa.uint64(), pa.int64()),
        (pa.float16(), pa.float32()),
        (pa.date64(), pa.date32()),
        (pa.timestamp("ns"), pa.timestamp("us")),
        (pa.timestamp("s", "Europe/Berlin"), pa.timestamp("us", "UTC")),
        (pa.decimal32(5, 2), pa.decimal128(5, 2)),
        (pa.decimal256(38, 2), pa.decimal128(38, 2)),
        (pa.large_list(pa.int8()), element(pa.int32())),
        (pa.list_(pa.large_string(), 3), element(pa.string())),
        (pa.list_view(pa.int64()), element(pa.int64())),
        (pa.map_(pa.large_string(), pa.int16()), pa.map_(pa.string(), pa.int32())),
        (pa.struct([("x", pa.uint8())]), pa.struct([("x", pa.int32())])),
        (pa.json_(), pa.string()),
    ],
)
def test_what_users_pass_becomes_what_tables_store(passed: pa.DataType, kept: pa.DataType) -> None:
    assert to_table_type(passed) == kept
    assert to_table_schema(pa.schema([pa.field("x", passed, False, {"k": "v"})], {"a": "b"})) == pa.schema(
        [pa.field("x", kept, False)]
    )


@pytest.mark.parametrize(
    "kind",
    [
        pa.null(), pa.time32("s"), pa.time64("us"), pa.duration("s"), pa.month_day_nano_interval(), pa.uuid(),
        pa.decimal256(39, 2), pa.decimal128(5, -2), pa.struct([]), pa.map_(pa.int32(), pa.string()),
        pa.dense_union([pa.field("a", pa.int32())]),
    ],
)  # fmt: skip
def test_what_cannot_be_stored_is_refused_by_name(kind: pa.DataType) -> None:
    with pytest.raises(SchemaMismatch, match=r"column='outer\.inner"):
        to_table_schema(pa.schema([("outer", pa.struct([("inner", kind)]))]))


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match="column='a'"):
        to_table_schema(pa.schema([("a", pa.int32()), ("b", pa.int32()), ("a", pa.string())]))


@pytest.mark.parametrize("name", ["dep delay", "1st", "a-b", "\u00e9", ""])
def test_names_avro_has_not_are_refused(name: str) -> None:
    with pytest.raises(SchemaMismatch, match="letters, digits"):
        names_of(pa.schema([(name, pa.int32())]))


def test_arrow_forms_without_avro_go_through_their_stored_form() -> None:
    assert names_of(pa.schema([pa.field("a", pa.large_string(), False)]))["fields"] == [{"name": "a", "type": "string"}]
    with pytest.raises(SchemaMismatch, match="column='a'"):
        names_of(pa.schema([("a", pa.duration("s"))]))


def read(kind: object) -> pa.Field:
    return avro_to_arrow(
        {"type": "record", "name": "r", "namespace": "n", "fields": [{"name": "f", "type": kind}]}
    ).field(0)


@pytest.mark.parametrize(
    ("avro", "field"),
    [
        ({"type": "enum", "name": "E", "symbols": ["A"]}, pa.field("f", pa.string(), False)),
        ({"type": "string", "avro.java.string": "String"}, pa.field("f", pa.string(), False)),
        ([{"type": "string", "logicalType": "uuid"}, "null"], pa.field("f", pa.string())),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1},
            pa.field("f", pa.decimal128(9, 1), False),
        ),
        ({"type": "long", "logicalType": "timestamp-millis"}, pa.field("f", pa.timestamp("ms", "UTC"), False)),
        ({"type": "long", "logicalType": "local-timestamp-micros"}, pa.field("f", pa.timestamp("us"), False)),
        ({"type": "int", "logicalType": "unheard-of"}, pa.field("f", pa.int32(), False)),
        ({"type": "fixed", "name": "X", "size": 4}, pa.field("f", pa.binary(4), False)),
        ({"type": {"type": "int"}}, pa.field("f", pa.int32(), False)),
        (["int"], pa.field("f", pa.int32(), False)),
    ],
)
def test_schemas_of_other_writers_are_read(avro: object, field: pa.Field) -> None:
    assert read(avro).equals(field)


def test_named_types_are_known_after_their_first_use() -> None:
    inner = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}
    both = {
        "type": "record",
        "name": "r",
        "namespace": "n",
        "fields": [{"name": "a", "type": inner}, {"name": "b", "type": ["null", "n.P"]}],
    }
    schema = avro_to_arrow(both)
    assert schema.field("b").type == schema.field("a").type
    again = {**both, "fields": [both["fields"][0], {"name": "b", "type": "P"}]}
    assert avro_to_arrow(again).field("b").type == schema.field("a").type


@pytest.mark.parametrize(
    "avro",
    [
        ["int", "string"],
        ["null", "int", "string"],
        "null",
        "Unknown",
        {"type": "record", "name": "T", "fields": [{"name": "t", "type": ["null", "T"]}]},
        {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"},
        {"type": "bytes", "logicalType": "decimal", "precision": 40},
        {"type": "bytes", "logicalType": "decimal", "precision": 0},
        {"type": "array"},
        7,
    ],
)
def test_avro_that_no_table_stores_is_refused_by_name(avro: object) -> None:
    with pytest.raises(SchemaMismatch, match="column='f"):
        read(avro)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '"int"', '{"type":"enum"}', '{"type":"record"}', '{"type":"record","fields":[1]}', "[" * 100_000],
)
def test_text_that_is_no_record_is_corrupt_data(text: str) -> None:
    with pytest.raises(CorruptData):
        avro_to_arrow(text)


def test_deep_schemas_are_refused() -> None:
    deep: object = "int"
    for _ in range(80):
        deep = {"type": "array", "items": deep}
    with pytest.raises(LimitExceeded):
        read(deep)


json_values = st.recursive(
    st.none() | st.integers(0, 50) | st.sampled_from(["int", "null", "record", "array", "fixed", "decimal", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "name", "fields", "items", "values", "size", "logicalType", "precision", "namespace"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(json_values)
@settings(deadline=None)
def test_any_json_gives_a_schema_or_a_typed_error(value: object) -> None:
    for avro in (value, {"type": "record", "name": "r", "fields": [{"name": "f", "type": value}]}):
        try:
            avro_to_arrow(json.dumps(avro))
        except HudiError:
            continue


def test_the_text_of_a_schema_is_read_once(monkeypatch):
    text = CREATE_SCHEMA.replace("spark_hudi", "read_once")
    first = avro_to_arrow(text)
    monkeypatch.setattr("pyhudi.schema.types.parse_json", None)
    assert avro_to_arrow(text) is first
    with pytest.raises(TypeError):
        avro_to_arrow(text, wide_unions=True)  # which reads some texts otherwise

import pyarrow as pa

from pyhudi.schema.fields import field_type, nullable_all_through

SCHEMA = pa.schema([("a", pa.struct([("b", pa.struct([("c", pa.int32())])), ("d", pa.string())])), ("x.y", pa.bool_())])


def test_a_field_is_found_by_its_path():
    assert field_type(SCHEMA, "a.b.c") == pa.int32()
    assert field_type(SCHEMA, "a.d") == pa.string()
    assert field_type(SCHEMA, "a.b") == SCHEMA.field("a").type.field("b").type


def test_a_column_with_a_point_in_its_name_is_itself():
    assert field_type(SCHEMA, "x.y") == pa.bool_()


def test_what_is_not_there_has_no_type():
    for path in ("z", "a.z", "a.d.e", "x"):
        assert field_type(SCHEMA, path) is None


def test_everything_inside_of_columns_may_be_null():
    inner = pa.struct([pa.field("x", pa.int64(), False)])
    element = pa.field("element", inner, False)
    schema = pa.schema(
        [
            pa.field("s", inner, False),
            pa.field("l", pa.list_(element), False),
            pa.field("f", pa.list_(element, 2), False),
            pa.field("w", pa.large_list(element), False),
            pa.field("m", pa.map_(pa.string(), pa.field("value", inner, False)), False),
        ]
    )
    loose = pa.struct([("x", pa.int64())])
    assert nullable_all_through(schema).equals(
        pa.schema(
            [
                ("s", loose),
                ("l", pa.list_(pa.field("element", loose))),
                ("f", pa.list_(pa.field("element", loose), 2)),
                ("w", pa.large_list(pa.field("element", loose))),
                ("m", pa.map_(pa.string(), pa.field("value", loose))),
            ]
        )
    )

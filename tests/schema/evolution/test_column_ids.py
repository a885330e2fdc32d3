import json

import pytest

from pyhudi.errors import CorruptData
from pyhudi.schema.evolution.column_ids import moved_columns


def schema(version_id, *columns):
    fields = [{"id": number, "name": name, "type": kind} for name, number, kind in columns]
    return {"version_id": version_id, "type": "record", "fields": fields}


def moved(*schemas):
    """Compare schemas, oldest first, of which the last is the newest commit's."""
    return moved_columns(json.dumps({"schemas": schemas[::-1]}).encode(), json.dumps(schemas[-1]))


FIRST = schema(0, ("id", 1, "string"), ("note", 2, "string"))


def test_added_dropped_widened_and_reordered_columns_are_told_apart_by_name():
    second = schema(1, ("note", 2, "string"), ("id", 1, "string"), ("n", 3, "int"))
    third = schema(2, ("n", 3, "long"), ("id", 1, "string"))
    assert moved(FIRST, second, third) == []


def test_a_renamed_column_is_named_by_both_names():
    assert moved(FIRST, schema(1, ("id", 1, "string"), ("remark", 2, "string"))) == ["note", "remark"]


def test_a_name_that_a_new_column_took_over_is_named():
    without = schema(1, ("id", 1, "string"))
    assert moved(FIRST, without, schema(2, ("id", 1, "string"), ("note", 3, "int"))) == ["note"]


@pytest.mark.parametrize(
    "around",
    [
        lambda kind: kind,
        lambda kind: {"type": "array", "element_id": 8, "element": kind, "element_optional": True},
        lambda kind: {"type": "map", "key_id": 8, "key": "string", "value_id": 9, "value": kind},
    ],
)
def test_columns_in_columns_are_looked_at(around):
    def nested(name):
        return around({"type": "record", "fields": [{"id": 5, "name": name, "type": "double"}]})

    assert moved(schema(0, ("place", 1, nested("a"))), schema(1, ("place", 1, nested("a")))) == []
    found = moved(schema(0, ("place", 1, nested("a"))), schema(1, ("place", 1, nested("b"))))
    assert [name[-2:] for name in found] == [".a", ".b"]


def test_schemas_after_the_one_in_sight_do_not_count():
    later = schema(1, ("id", 1, "string"), ("remark", 2, "string"))
    history = json.dumps({"schemas": [later, FIRST]}).encode()
    assert moved_columns(history, json.dumps(FIRST)) == []


@pytest.mark.parametrize("history", [b"", b"[]", b"{}", b'{"schemas": [{}]}', b'{"schemas": [1]}'])
def test_a_history_that_is_none_is_corrupt(history):
    with pytest.raises(CorruptData, match="schemas"):
        moved_columns(history, json.dumps(FIRST))

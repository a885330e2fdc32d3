import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate import Column, column, evaluate, fields_of, parse, to_expression

TABLE = pa.table({"t.id": [1], "t": [{"id": 2, "Name": "x"}], "Fare": [1.5], "a": [1], "A": [2]})


def test_a_column_with_dots_in_its_name_is_preferred_to_a_field() -> None:
    assert evaluate(column("t.id"), TABLE).to_pylist() == [1]
    assert evaluate(column("t.name"), TABLE).to_pylist() == ["x"]


def test_names_match_in_another_case_if_only_one_does() -> None:
    assert evaluate(column("fare"), TABLE).to_pylist() == [1.5]
    assert evaluate(column("A"), TABLE).to_pylist() == [2]
    both = pa.table([[1], [2]], names=["x", "x"])
    with pytest.raises(ExpressionError, match="several have this name"):
        evaluate(column("X"), both)


def test_a_field_of_a_null_struct_is_null() -> None:
    table = pa.table({"r": pa.array([{"x": 1}, None])})
    assert evaluate(parse("r.x"), table).to_pylist() == [1, None]


def test_an_unknown_field_names_the_nearest() -> None:
    with pytest.raises(ExpressionError, match="nearest='Name'"):
        evaluate(Column(parts=("t", "nam")), TABLE)


def test_fields_are_the_top_level_columns_in_the_order_of_the_schema() -> None:
    assert fields_of(parse("fare > 1 and t.name = 'x' and t.id = 1"), TABLE.schema) == ("t.id", "t", "Fare")


def test_fields_of_a_pyarrow_expression_hold_all_that_it_reads() -> None:
    found = to_expression((pc.field("a") > 1) & pc.field("Fare").is_valid())
    assert found is not None
    assert {"a", "Fare"} <= set(fields_of(found, TABLE.schema))

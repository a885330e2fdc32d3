import pyarrow as pa
import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate.types import ALIASES, FUNCTIONS, nearest, type_named, type_sql


@pytest.mark.parametrize(
    "name",
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "decimal(10,2)",
        "string",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
    ],
)
def test_names_and_types_are_each_others(name: str) -> None:
    assert type_sql(type_named(name)) == name


def test_a_decimal_without_sizes_has_ten_digits() -> None:
    assert type_named("decimal") == pa.decimal128(10, 0)
    assert type_named("numeric(5)") == pa.decimal128(5, 0)


@pytest.mark.parametrize("name", ["text", "decimal(39,1)", "decimal(2,3)", "decimal(0)", "array"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ExpressionError):
        type_named(name)


def test_the_nearest_name_is_found_in_any_case() -> None:
    assert nearest("STRNG", ["string", "int"]) == "string"
    assert nearest("zzz", ["string"]) == ""


def test_aliases_lead_to_functions() -> None:
    assert set(ALIASES.values()) <= set(FUNCTIONS)

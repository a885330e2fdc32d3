import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.predicate.cases import CASES, INPUT, is_same
from tests.predicate.trees import conditions, numbers, rows, table_of

from pyhudi.errors import ExpressionError
from pyhudi.predicate import Column, column, evaluate, literal, parse, to_expression, to_sql

quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("text", [case[0] for case in CASES])
def test_written_and_read_again_a_case_means_the_same(text: str) -> None:
    again = evaluate(parse(to_sql(parse(text))), INPUT)
    found = evaluate(parse(text), INPUT)
    assert again.type == found.type
    assert all(map(is_same, again.to_pylist(), found.to_pylist()))


def outcome(expression: Any, table: pa.Table) -> Any:
    try:
        return evaluate(expression, table).to_pylist()
    except ExpressionError:
        return "refused"


@quick
@given(conditions | numbers, rows)
def test_written_and_read_again_a_tree_means_the_same(expression: Any, values: list[tuple[Any, ...]]) -> None:
    table = table_of(values)
    assert outcome(parse(to_sql(expression)), table) == outcome(expression, table)


@quick
@given(st.text() | st.binary() | st.integers(-(10**30), 10**30) | st.datetimes() | st.dates() | st.floats())
def test_a_literal_survives(value: Any) -> None:
    if isinstance(value, datetime.date) and value.year < 1000:
        return
    again = evaluate(parse(to_sql(literal(value))), pa.table({"x": [1]}))
    assert again.type == literal(value).type
    assert is_same(again.to_pylist()[0], pa.scalar(value, literal(value).type).as_py())


def test_names_are_quoted_and_renamed() -> None:
    assert to_sql(Column(parts=("a b", "c`d"))) == "`a b`.`c``d`"
    renamed = to_sql(parse("t.x = y"), lambda name: Column(parts=("q", *name.parts[-1:])))
    assert renamed == "`q`.`x` = `q`.`y`"


def test_brackets_are_kept_where_they_matter() -> None:
    for text in ("a - (b - c)", "(a - b) - c", "not (a or b) and c", "(a = b) is null", "a = (b is null)", "-(-a)"):
        assert parse(to_sql(parse(text))) == parse(text)
    assert to_sql(parse("(a - b) - c")) == "`a` - `b` - `c`"


def test_two_signs_never_begin_a_comment() -> None:
    for text in ("- -3", "a - -3", "-(-(-a))"):
        assert "--" not in to_sql(parse(text))


def test_literals_carry_their_type() -> None:
    assert to_sql(literal(1, pa.int64())) == "1L"
    assert to_sql(literal(Decimal("1.50"), pa.decimal128(10, 2))) == "cast(1.50BD as decimal(10,2))"
    assert to_sql(literal(None, pa.date32())) == "cast(null as date)"
    assert to_sql(literal(math.inf)) == "cast('Infinity' as double)"
    assert to_sql(parse("timestamp '2024-01-31 01:00:00+01:00'")) == "timestamp '2024-01-31 00:00:00+00:00'"
    assert to_sql(literal("${x}'\\")) == r"'\u0024{x}\'\\'"


def test_an_empty_list_holds_nothing() -> None:
    found = to_expression([("a", "in", [])])
    assert found is not None
    assert to_sql(found) == "false"


def test_a_pyarrow_expression_has_no_sql() -> None:
    found = to_expression(pc.field("a") > 1)
    assert found is not None
    with pytest.raises(ExpressionError, match="as text"):
        to_sql(found)


def test_a_type_without_sql_name_is_refused() -> None:
    with pytest.raises(ExpressionError, match="no such type"):
        to_sql(literal(None, pa.list_(pa.int32())))
    assert to_sql(column("a")) == "`a`"

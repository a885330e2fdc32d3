from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from tests.predicate.cases import CASES, ERRORS, INPUT, is_same
from tests.predicate.trees import SCHEMA, conditions, numbers, reference, rows, table_of

from pyhudi.errors import ExpressionError
from pyhudi.predicate import check, evaluate, mask, parse, to_expression

quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize(("text", "kind", "values"), CASES, ids=[case[0] for case in CASES])
def test_values_and_types_are_those_of_spark(text: str, kind: str, values: list[Any]) -> None:
    found = evaluate(parse(text), INPUT)
    assert str(found.type) == kind
    assert all(map(is_same, found.to_pylist(), values)), found.to_pylist()
    assert check(parse(text), INPUT.schema) == found.type


@pytest.mark.parametrize("text", ERRORS)
def test_what_spark_refuses_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(parse(text), INPUT)


def agrees(expression: Any, values: list[tuple[Any, ...]]) -> None:
    wanted: list[Any] | None
    try:
        wanted = [reference(expression, dict(zip(SCHEMA.names, row, strict=True))) for row in values]
    except ZeroDivisionError:
        wanted = None
    if wanted is None:
        with pytest.raises(ExpressionError):
            evaluate(expression, table_of(values))
        return
    try:
        found = evaluate(expression, table_of(values)).to_pylist()
    except ExpressionError as error:
        if "divide by zero" not in str(error):  # a constant that no row needs may be computed
            raise
        return
    assert found == wanted


@quick
@given(conditions, rows)
def test_conditions_agree_with_a_row_by_row_reference(expression: Any, values: list[tuple[Any, ...]]) -> None:
    agrees(expression, values)


@quick
@given(numbers, rows)
def test_numbers_agree_with_a_row_by_row_reference(expression: Any, values: list[tuple[Any, ...]]) -> None:
    agrees(expression, values)


def test_a_table_of_several_chunks_gives_as_many_chunks_and_the_same_values() -> None:
    chunked = pa.concat_tables([INPUT.slice(0, 2), INPUT.slice(2)])
    for text in ("coalesce(j, 0) + 1", "upper(s)", "j <> 0 and 10 / j > 2", "1"):
        assert evaluate(parse(text), chunked).to_pylist() == evaluate(parse(text), INPUT).to_pylist()


def test_a_record_batch_gives_an_array() -> None:
    batch = INPUT.combine_chunks().to_batches()[0]
    assert isinstance(evaluate(parse("j + 1"), batch), pa.Array)
    assert isinstance(mask(parse("i > 1"), batch), pa.BooleanArray)


def test_an_empty_table_gives_an_empty_result_of_the_right_type() -> None:
    found = evaluate(parse("case when i > 0 then 1 / 0 else 2.5 end"), INPUT.slice(0, 0))
    assert (len(found), found.type) == (0, pa.float64())


def test_a_bare_column_comes_back_in_its_own_type() -> None:
    table = pa.table({"c": pa.array(["x", "y"]).dictionary_encode()})
    assert evaluate(parse("C"), table).type == table.schema.field("c").type


def test_types_that_sql_lacks_are_widened() -> None:
    table = pa.table(
        {
            "u": pa.array([255], pa.uint8()),
            "big": pa.array([2**64 - 1], pa.uint64()),
            "text": pa.array(["x"], pa.large_string()),
            "code": pa.array(["x"]).dictionary_encode(),
            "ns": pa.array([1_000], pa.timestamp("ns", tz="Europe/Paris")),
        }
    )
    for text in ("u + 1 = 256", "big > 9223372036854775807", "text = 'x'", "code in ('x')", "ns > '1970-01-01'"):
        assert mask(parse(text), table).to_pylist() == [True], text


def test_unknown_is_false_in_a_mask() -> None:
    table = pa.table({"a": [1, None, 3]})
    assert mask(parse("a > 1"), table).to_pylist() == [False, False, True]
    assert mask(parse("not a > 1"), table).to_pylist() == [True, False, False]
    assert mask(parse("null"), table).to_pylist() == [False] * 3


def test_a_mask_wants_a_condition() -> None:
    with pytest.raises(ExpressionError, match="give a condition"):
        mask(parse("j + 1"), INPUT)


@pytest.mark.parametrize("text", ["s = 1", "i = '7'", "s + 1", "b = 1", "a = 1", "r = r", "coalesce(s, i)"])
def test_types_are_not_guessed(text: str) -> None:
    with pytest.raises(ExpressionError):
        check(parse(text), INPUT.schema)


def test_a_text_that_is_no_date_is_refused_when_it_is_checked() -> None:
    with pytest.raises(ExpressionError, match="2024-01-31"):
        check(parse("a > 'yesterday'"), INPUT.schema)


def test_the_nearest_column_is_named() -> None:
    with pytest.raises(ExpressionError, match="nearest='rider'"):
        check(parse("ridr = 'x'"), pa.schema({"rider": pa.string(), "fare": pa.float64()}))


def test_what_a_row_does_not_reach_cannot_fail_it() -> None:
    table = pa.table({"n": [0, 2], "s": ["x", "7"]})
    assert mask(parse("n <> 0 and 10 % n = 0"), table).to_pylist() == [False, True]
    assert mask(parse("n = 0 or 10 % n = 0"), table).to_pylist() == [True, True]
    assert evaluate(parse("case when s = 'x' then 0 else cast(s as int) end"), table).to_pylist() == [0, 7]
    assert evaluate(parse("coalesce(n, 1 / 0)"), table).to_pylist() == [0.0, 2.0]


def test_a_pyarrow_expression_is_evaluated_by_pyarrow() -> None:
    table = pa.concat_tables([pa.table({"a": [1, None], "b": ["x", "y"]}), pa.table({"a": [3], "b": ["z"]})])
    found = to_expression((pc.field("a") > 1) & (pc.field("b") != "y"))
    assert found is not None
    assert mask(found, table).to_pylist() == [False, False, True]


def test_a_pyarrow_expression_that_does_not_fit_is_refused() -> None:
    found = to_expression(pc.field("nope") > 1)
    assert found is not None
    with pytest.raises(ExpressionError):
        mask(found, pa.table({"a": [1]}))

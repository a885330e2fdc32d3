import pyarrow as pa
import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate import (
    Between,
    Binary,
    Case,
    Cast,
    Column,
    InList,
    IsNull,
    Logical,
    Not,
    Operator,
    binary,
    call,
    column,
    literal,
    parse,
)

A, B, C = column("a"), column("b"), column("c")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a or b and c", "a or (b and c)"),
        ("not a and b", "(not a) and b"),
        ("not a = b", "not (a = b)"),
        ("a = b = c", "(a = b) = c"),
        ("a = b is null", "(a = b) is null"),
        ("a + b * c", "a + (b * c)"),
        ("a - b - c", "(a - b) - c"),
        ("a || b + c", "(a || b) + c"),
        ("-a * b", "(-a) * b"),
        ("a + b < c", "(a + b) < c"),
        ("a between b and c and a", "(a between b and c) and a"),
        ("a between b + 1 and c * 2 or a", "(a between (b + 1) and (c * 2)) or a"),
        ("a and b and c", "(a and b) and c"),
        ("A = 1 AnD b LIKE 'x'", "A = 1 and b like 'x'"),
        ("case a when b then c end", "case when a = b then c end"),
        ("a is not distinct from b", "a <=> b"),
        ("a is distinct from b", "not (a <=> b)"),
        ("a is not true", "not (a <=> true)"),
        ("a is unknown", "a is null"),
        ("! a", "not a"),
        ("nvl(a, b)", "coalesce(a, b)"),
        ("+a", "a"),
    ],
)
def test_precedence_is_that_of_spark(text: str, same: str) -> None:
    assert parse(text) == parse(same)


def test_each_form_gives_its_node() -> None:
    assert parse("a = 1") == Binary(operator=Operator.EQUAL, left=A, right=literal(1))
    assert parse("a not in (1, b)") == InList(value=A, options=(literal(1), B), is_negated=True)
    assert parse("a not between 1 and 2") == Between(value=A, lower=literal(1), upper=literal(2), is_negated=True)
    assert parse("a is not null") == IsNull(value=A, is_negated=True)
    assert parse("a or b or c") == Logical(is_and=False, terms=(A, B, C))
    assert parse("not not a") == Not(value=Not(value=A))
    assert parse("cast(a as decimal(12, 3))") == Cast(value=A, type=pa.decimal128(12, 3))
    assert parse("case when a then 1 else 2 end") == Case(whens=((A, literal(1)),), otherwise=literal(2))
    assert parse("Substr(a, 1)") == call("substring", A, literal(1))
    assert parse("a - -1") == binary("-", A, literal(-1))
    assert parse("t.`a.b`.c") == Column(parts=("t", "a.b", "c"))


def test_words_that_are_only_sometimes_keywords_name_columns() -> None:
    for text in ("date", "timestamp", "div", "escape", "count", "if", "cast", "interval"):
        assert parse(text) == Column(parts=(text,))
    assert parse("Date = date '2024-01-31'") == binary("=", column("Date"), parse("date '2024-01-31'"))
    assert parse("`select`.`from`") == Column(parts=("select", "from"))


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "expected a value", 1),
        ("a =", "expected a value", 4),
        ("a b", "expected an operator or the end", 3),
        ("(a", "expected )", 3),
        ("a is 1", "expected null, true, false or distinct from", 6),
        ("a not b", "expected in, between or like", 7),
        ("a between 1", "expected and", 12),
        ("a like b", "expected a pattern in quotes", 8),
        ("a like 'x' escape 'ab'", "give one character as escape", 19),
        ("a is null is null", "expected an operator or the end", 11),
        ("case a end", "expected when", 8),
        ("select 1", "subqueries are not supported", 1),
        ("a in (select b from c)", "subqueries are not supported", 7),
        ("a = (select 1)", "subqueries are not supported", 6),
        ("exists (select 1)", "subqueries are not supported", 1),
        ("max(a) > 1", "aggregates are not supported", 1),
        ("coalesc(a)", "call a function that there is", 1),
        ("a rlike 'x'", "regular expressions are not supported", 3),
        ("interval '1' day", "intervals are not supported", 1),
        ("sum(a) over (b)", "aggregates are not supported", 1),
        ("lower(a, b)", "give lower 1 arguments", 1),
        ("round(a, 1, 2)", "give round 1 to 2 arguments", 1),
        ("cast(a as text)", "name a type", 11),
        ("cast(a as decimal(39))", "give a decimal a precision", 11),
        ("try_cast(a as int)", "try_cast is not supported", 1),
        ("and", "put a column of this name in back-quotes", 1),
        ("name 'x'", "expected an operator between", 1),
        ("x'4G'", "write bytes", 1),
    ],
)
def test_errors_tell_what_is_wrong_and_where(text: str, message: str, position: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert message in str(caught.value)
    assert caught.value.values["position"] == position


def test_the_nearest_function_is_named() -> None:
    with pytest.raises(ExpressionError, match="nearest='coalesce'"):
        parse("coalesc(a)")


def test_deep_expressions_are_refused_and_long_ones_are_not() -> None:
    for text in ("(" * 60 + "a" + ")" * 60, "1" + " + 1" * 200, "not " * 200 + "a", "- " * 200 + "a"):
        with pytest.raises(ExpressionError, match="too deeply"):
            parse(text)
    assert isinstance(parse(" or ".join(f"a = {n}" for n in range(5_000))), Logical)
    assert isinstance(parse(f"a in ({', '.join(map(str, range(20_000)))})"), InList)

from decimal import Decimal

import pyarrow as pa
import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate import literal, parse
from pyhudi.predicate.tokens import LENGTH_LIMIT, TokenKind, tokenize


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        (r"'a\'b'", "a'b"),
        (r"'\n\t\\'", "\n\t\\"),
        (r"'\%\_'", r"\%\_"),
        (r"'\u00e9\101\q'", "éAq"),
        ("''", ""),
        ("'é\nx'", "é\nx"),
    ],
)
def test_strings_have_the_escapes_of_spark(text: str, value: str) -> None:
    assert tokenize(text)[0].value == value


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("2147483647", 2147483647, pa.int32()),
        ("2147483648", 2147483648, pa.int64()),
        ("-2147483648", -(2**31), pa.int32()),
        ("9223372036854775808", 2**63, pa.decimal128(19, 0)),
        ("1.50", Decimal("1.50"), pa.decimal128(3, 2)),
        ("0.001", Decimal("0.001"), pa.decimal128(3, 3)),
        (".5", Decimal("0.5"), pa.decimal128(1, 1)),
        ("5.", Decimal(5), pa.decimal128(1, 0)),
        ("1e3", 1000.0, pa.float64()),
        ("7Y", 7, pa.int8()),
        ("7s", 7, pa.int16()),
        ("7L", 7, pa.int64()),
        ("7D", 7.0, pa.float64()),
        ("7f", 7.0, pa.float32()),
        ("7BD", Decimal(7), pa.decimal128(1, 0)),
    ],
)
def test_numbers_have_the_types_of_spark(text: str, value: object, kind: pa.DataType) -> None:
    assert parse(text) == literal(value, kind)


@pytest.mark.parametrize("text", ["128Y", "32768S", "9223372036854775808L", "1" * 40, "1.5L"])
def test_numbers_that_do_not_fit_are_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a -- b", "comments"),
        ("a /* b */", "comments"),
        ('"a"', "double quotes"),
        ("'a", "close the string"),
        ("`a", "close the name"),
        ("a[1]", "arrays and maps"),
        (":a", "parameters"),
        ("a & b", "bitwise"),
        ("a ; b", "one expression"),
        ("1abc", "back-quotes"),
        ("é", "back-quotes"),
    ],
)
def test_what_is_no_word_is_explained(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        tokenize(text)


def test_places_count_from_one_and_the_end_has_one() -> None:
    assert [(token.kind, token.place) for token in tokenize("a = 1")] == [
        (TokenKind.WORD, 1),
        (TokenKind.MARK, 3),
        (TokenKind.NUMBER, 5),
        (TokenKind.END, 6),
    ]


def test_a_text_beyond_the_limit_is_refused() -> None:
    with pytest.raises(ExpressionError, match="shorten"):
        tokenize(" " * (LENGTH_LIMIT + 1))

import pytest

from pyhudi.statements.cursor import Cursor, text_of
from pyhudi.statements.tokens import tokenize_statement


@pytest.mark.parametrize(
    "value",
    [
        "1",
        "- 1.5",
        "'a' 'b'",
        "a.b.c",
        "f(a, (b)) + 2 * g()",
        "current_timestamp() - interval 1 day 2 hours",
        "interval '1-2' year to month",
        "interval (a + 1) days",
        "timestamp '2024-01-01' || 'x'",
        "case when a then case b when 1 then 2 end else 3 end",
        "(select max(a) from b)",
        ":name",
        "?",
        "a[1].b::string",
        "7 div 2 % 3",
        "{frame}",
    ],
)
@pytest.mark.parametrize("rest", ["as x", "x", ", y", ") z", "|> where y", "where y"])
def test_an_expression_is_gone_past_to_what_follows(value, rest):
    cursor = Cursor(tokenize_statement(f"({value} {rest}"))
    cursor.take()
    first = cursor.at
    cursor.skip_value()
    assert text_of(cursor.tokens, first, cursor.at).text == value
    assert cursor.next.text == rest.split()[0].replace("|>", "|")


def test_text_loses_comments_and_no_borders_of_tokens():
    tokens = tokenize_statement("  a/* b */c.d  +'e f' -- g\n")
    assert text_of(tokens, 0, len(tokens) - 1).text == "a c.d +'e f'"
    assert text_of(tokens, 1, 2).place == 11


def test_a_group_ends_at_its_own_parenthesis_or_at_the_end():
    cursor = Cursor(tokenize_statement("(a [b (c)]) d"))
    cursor.skip_group()
    assert cursor.next.is_word("d")
    cursor = Cursor(tokenize_statement("(a (b"))
    cursor.skip_group()
    assert cursor.is_closed(0)

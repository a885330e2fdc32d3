import pytest

from pyhudi.errors import StatementError
from pyhudi.statements.reader import TokenReader


def test_a_piece_ends_at_a_word_outside_of_parentheses_and_cases():
    reader = TokenReader("case when (a when b) then 'when' end when c")
    assert reader.piece("text", "when").text == "case when (a when b) then 'when' end"
    assert reader.next.is_word("when")


def test_a_piece_keeps_comments_and_spaces():
    assert TokenReader("a  /* b */ + c -- d\n;").rest("text").text == "a  /* b */ + c"


def test_nothing_is_no_piece():
    with pytest.raises(StatementError, match=r"expected a condition\. found='end of the statement', position=1"):
        TokenReader("").rest("a condition")


def test_words_are_taken_together_or_not_at_all():
    reader = TokenReader("if not there")
    assert not reader.if_not_exists()
    assert reader.takes("if", "not")


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("a struct<x: int, y: map<string, array<int>>> not null", "struct<x: int, y: map<string, array<int>>>"),
        ("a decimal(10, 2), b int", "decimal(10, 2)"),
        ("a interval day to second comment 'x'", "interval day to second"),
    ],
)
def test_a_type_may_have_brackets(text, type_):
    assert TokenReader(text).column().type.text == type_


def test_parentheses_that_do_not_end_are_told():
    with pytest.raises(StatementError, match=r"expected \)"):
        TokenReader("(a (b)").balanced()

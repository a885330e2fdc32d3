import pytest

from pyhudi.errors import StatementError
from pyhudi.statements.tokens import Dialect, SqlKind, tokenize_statement


def told(text, dialect=Dialect.SPARK):
    return [(token.kind.value, token.value) for token in tokenize_statement(text, dialect)[:-1]]


def test_comments_are_left_out_and_nest():
    assert told("a -- b\n /* c /* d */ e */ f") == [("word", "a"), ("word", "f")]


@pytest.mark.parametrize(
    ("text", "value"),
    [("'it''s'", "it's"), (r"'it\'s'", "it's"), (r"'\u0041\n'", "A\n"), (r"r'\n'", r"\n"), ('"a""b"', 'a"b')],
)
def test_strings_of_spark_have_escapes_and_doubled_quotes(text, value):
    assert told(text) == [("string", value)]


def test_duckdb_quotes_names_twice_and_has_no_escapes():
    assert told("""'a\\' "q""x" $$a'b$$ $t$z$t$ e'\\n'""", Dialect.DUCKDB) == [
        ("string", "a\\"),
        ("quoted name", 'q"x'),
        ("string", "a'b"),
        ("string", "z"),
        ("string", "\n"),
    ]


def test_parentheses_count_for_what_is_inside():
    assert [token.depth for token in tokenize_statement("a(b[c])d")] == [0, 0, 1, 1, 2, 1, 0, 0, 0]


@pytest.mark.parametrize("text", ["select 'a", "select `a", 'select "a', "select /* a /* b */"])
def test_what_does_not_end_is_an_error_with_its_place(text):
    with pytest.raises(StatementError, match="position=8"):
        tokenize_statement(text)


def test_places_and_texts_are_those_of_the_statement():
    text = "select  `a b`.c >= 1.5e3"
    assert "".join(text[token.start : token.end] for token in tokenize_statement(text)) == "select`a b`.c>=1.5e3"
    assert tokenize_statement(text)[-1].kind is SqlKind.END

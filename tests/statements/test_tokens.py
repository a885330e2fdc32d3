import re

import duckdb
import pytest
from tests.amounts import amount
from tests.statements.generating import query_of
from tests.statements.scraps import parts_of, scraps, tokens_of

from pyhudi.errors import StatementError
from pyhudi.statements.tokens import Dialect, SqlKind, tokenize_statement

SCRAPS = amount(5_000, 20_000, 100_000, everyday=1_000)
QUERIES = amount(300, 5_000, 5_000, everyday=50)


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


@pytest.mark.parametrize("text", ["$$from trips$$", "$a$ it's $$ from trips $a$"])
def test_what_stands_between_dollars_is_a_string(text):
    """As in Spark's CREATE VIEW WITH METRICS."""
    assert [token.text for token in tokenize_statement(text)[:-1]] == [text]


def test_dollars_are_part_of_duckdbs_words():
    assert told("a$$ b$$", Dialect.DUCKDB) == [("word", "a$$"), ("word", "b$$")]


def test_a_backslash_carries_a_comment_on_in_spark_alone():
    text = "a -- b \\\nc"
    assert told(text) == [("word", "a")]
    assert told(text, Dialect.DUCKDB) == [("word", "a"), ("word", "c")]


def test_duckdb_cuts_scraps_of_sql_as_we_do():
    """Its lexer tells where strings, quoted names and comments begin."""
    tried = 0
    for seed in range(SCRAPS):
        text = scraps(seed)
        ours = tokens_of(text, Dialect.DUCKDB)
        # Backticks are Spark's names, which we take everywhere. What dollars or e' begin and nothing ends is left to
        # duckdb, which refuses it; x'00' is a word and a string of ours.
        if ours is None or "`" in text or any(one.text == "$" for one in ours) or re.search("[ex]'", text):
            continue
        quoted = [place for place, kind in duckdb.tokenize(text) if kind == duckdb.token_type.string_const]
        strings = [one.start for one in ours if one.kind is SqlKind.STRING]
        assert quoted == strings, text
        tried += bool(strings)
    assert tried > 0.02 * SCRAPS


def test_sqlglot_cuts_queries_as_we_do():
    sqlglot = pytest.importorskip("sqlglot")
    for seed in range(QUERIES):
        text = query_of(seed, seed % 4).text.replace("'it''s'", "'its'")  # it takes this for two strings
        theirs = sqlglot.tokenize(text, read="spark")
        quoted = [(one.start, one.end + 1) for one in theirs if text[one.start] in "'\"`"]
        covered = {place for one in theirs for place in range(one.start, one.end + 1)}
        covered -= {place for place in covered if text[place] == " " and not within(quoted, place)}  # ORDER BY is one
        assert parts_of(tokenize_statement(text)[:-1]) == (quoted, covered), text


def within(spans, place):
    return any(start <= place < end for start, end in spans)

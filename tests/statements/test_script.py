import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import StatementError
from pyhudi.statements.script import placed, split
from pyhudi.statements.tokens import Dialect

PIECES = ["select 1", "select ';'", "select $$;$$", 'select 1 as "a;b"', "/* ; */ select `;`", "call p(a => ';')"]


@given(st.lists(st.sampled_from(PIECES), max_size=6), st.sampled_from([";", " ; ", "\n;\n", ";;", "; -- ;\n"]))
def test_statements_are_cut_at_semicolons_outside_of_strings_names_and_comments(pieces, between):
    text = between.join(pieces)
    found = split(text, Dialect.DUCKDB)
    assert [one.text for one in found] == [one.removeprefix("/* ; */ ") for one in pieces]
    assert all(text[one.place - 1 :].startswith(one.text) for one in found)


def test_a_string_that_does_not_end_is_an_error():
    with pytest.raises(StatementError, match="position=11"):
        split("select 1; 'a;", Dialect.DUCKDB)


def test_an_error_gets_the_place_in_the_whole_text():
    (_, second) = split("select 1; selec 2")
    moved = placed(StatementError("no", near="x", position=1), second, 2, 2)
    assert moved.values == {"near": "x", "position": 11, "statement": 2}
    assert placed(StatementError("no"), second, 1, 1).values == {}

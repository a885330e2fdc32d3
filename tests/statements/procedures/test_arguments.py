import pyarrow as pa
import pytest

from pyhudi.errors import InvalidInput
from pyhudi.statements.procedures.arguments import bind, from_text, signature
from pyhudi.statements.procedures.model import BOOLEAN, INT, LONG, Parameter, Procedure

DO = Procedure(
    name="do",
    summary="Do",
    parameters=(
        Parameter(name="table", is_required=True),
        Parameter(name="limit", type=INT, default=10),
        Parameter(name="showAll", type=BOOLEAN, default=False),
        Parameter(name="stamp", type=LONG),
    ),
    columns=pa.schema([]),
)


def test_positions_come_first_and_then_names():
    assert bind(DO, ["t", 3], [("SHOWALL", True)]) == {"table": "t", "limit": 3, "showAll": True, "stamp": None}


def test_what_is_not_given_has_its_default():
    assert bind(DO, ["t"], []) == {"table": "t", "limit": 10, "showAll": False, "stamp": None}
    assert bind(DO, ["t", None], [])["limit"] == 10


@pytest.mark.parametrize(
    ("positional", "named", "message"),
    [
        (["t", 1, True, 2, 3], [], "do takes table, limit=10, showAll=false, stamp=null"),
        (["t"], [("limt", 3)], "nearest='limit'"),
        (["t"], [("zzzzzz", 3)], "do takes table"),
        (["t"], [("table", "u")], "table is given twice"),
        (["t"], [("limit", 1), ("LIMIT", 2)], "limit is given twice"),
        ([], [], "do needs table"),
        ([None], [], "do needs table"),
        (["t", "3"], [], "limit of do is a whole number of 32 bits"),
        (["t", True], [], "limit of do is a whole number"),
        (["t", 2**31], [], "limit of do is a whole number"),
        (["t", 3.0], [], "limit of do is a whole number"),
        (["t", 3, "true"], [], "showAll of do is true or false"),
        ([20261124], [], "table of do is a text; put it in quotes"),
    ],
)
def test_wrong_arguments_are_errors_that_say_which(positional, named, message):
    with pytest.raises(InvalidInput, match=message):
        bind(DO, positional, named)


def test_long_numbers_are_taken_where_they_fit():
    assert bind(DO, ["t"], [("stamp", 20261124091501375)])["stamp"] == 20261124091501375


def test_texts_of_a_command_line_become_values():
    assert from_text(DO, {"table": "7", "limit": "-1", "showAll": "TRUE"}.items()) == [
        ("table", "7"),
        ("limit", -1),
        ("showAll", True),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [({"limit": "three"}, "whole number"), ({"showAll": "yes"}, "true or false"), ({"tabel": "t"}, "nearest='table'")],
)
def test_texts_that_are_no_values_are_refused(given, message):
    with pytest.raises(InvalidInput, match=message):
        from_text(DO, given.items())


def test_a_signature_shows_defaults():
    assert signature(DO) == "table, limit=10, showAll=false, stamp=null"

import pytest

from pyhudi.errors import InvalidInput, TableNotFound
from pyhudi.statements.procedures import PROCEDURES
from pyhudi.statements.procedures.model import ProcedureCall


def call_of(runner, name, **values):
    """Return a call with some values, and defaults for the others."""
    procedure = PROCEDURES[name]
    return ProcedureCall(
        runner, procedure, {one.name: values.get(one.name, one.default) for one in procedure.parameters}
    )


@pytest.mark.parametrize(
    "named", [{"table": "cow"}, {"table": "/lake/cow"}, {"path": "/lake/cow"}, {"table": "hudi.`/lake/cow`"}]
)
def test_a_table_is_named_or_is_at_a_path(runner, named):
    assert len(runner.call("show_commits", **named)) == 3


@pytest.mark.parametrize(
    ("named", "kind", "message"),
    [
        ({}, InvalidInput, "needs table or path.*none is given"),
        ({"table": "cow", "path": "/lake/cow"}, InvalidInput, "both are given"),
        ({"table": "nope"}, TableNotFound, "catalog has no Hudi table"),
        ({"path": "/lake/nope"}, TableNotFound, "no table is here"),
    ],
)
def test_a_table_that_is_not_said_or_not_there_is_an_error(runner, named, kind, message):
    with pytest.raises(kind, match=message):
        runner.call("show_commits", **named)


def test_options_of_a_call_win_over_those_of_session_and_entry(runner):
    runner.properties = {"primaryKey": "uuid", "hoodie.a": "entry", "hoodie.b": "entry", "hoodie.c": "entry"}
    runner.session_options = {"hoodie.b": "session", "hoodie.c": "session"}
    call = call_of(runner, "run_clean", table="cow", options="hoodie.c = call , hoodie.d=x=y")
    assert call.options({"hoodie.e": 5}) == {
        "hoodie.a": "entry",
        "hoodie.b": "session",
        "hoodie.c": "call",
        "hoodie.d": "x=y",
        "hoodie.e": 5,
    }


def test_options_that_are_no_pairs_are_refused(runner):
    with pytest.raises(InvalidInput, match="key=value"):
        call_of(runner, "run_clean", table="cow", options="hoodie.c").options()


@pytest.mark.parametrize(("limit", "count"), [(2, 2), (0, 0), (-1, 3)])
def test_a_negative_limit_is_none(runner, limit, count):
    assert len(runner.call("show_commits", "cow", limit)) == count


def test_an_instant_has_to_be_said(runner):
    with pytest.raises(InvalidInput, match="needs instant_time"):
        runner.call("show_commit_files", "cow", instant_time=" ")

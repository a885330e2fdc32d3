import json
from pathlib import Path

import pyarrow as pa
import pytest

from pyhudi.errors import InvalidInput, NotBuilt
from pyhudi.statements.procedures import PROCEDURES, procedure_named, run_procedure

HUDI = [
    of
    for of in json.loads(Path(__file__).with_name("hudi_1_2_0.json").read_text(encoding="utf-8"))
    if of["name"] in PROCEDURES
]
"""Parameters and result columns of Apache Hudi 1.2.0, as its own classes say them."""
TYPES = {"string": "string", "int": "int32", "bigint": "int64", "boolean": "bool", "double": "double"}


def theirs(parameter):
    """Return name, type, default and whether it has to be given."""
    said, _, default = parameter.partition("=")
    name, kind = said.split(":")
    typed = {"int": int, "bigint": int, "boolean": lambda text: text == "True"}.get(kind, str)
    return name.rstrip("*"), TYPES[kind], typed(default) if "=" in parameter else None, name.endswith("*")


@pytest.mark.parametrize("of", HUDI, ids=lambda of: of["name"])
def test_parameters_stand_where_apache_hudi_has_them(of):
    ours = PROCEDURES[of["name"]].parameters
    for parameter, wanted in zip(ours, map(theirs, of["parameters"]), strict=False):
        name, kind, default, is_required = wanted
        assert (parameter.name, str(parameter.type)) == (name, kind)
        assert parameter.default == default
        assert parameter.is_required == is_required or name == "table"
    assert [one.name for one in ours[len(of["parameters"]) :]] in ([], ["path"])


@pytest.mark.parametrize("of", HUDI, ids=lambda of: of["name"])
def test_results_have_apache_hudis_columns(of):
    wanted = [(name, TYPES[kind]) for name, kind in (column.split(":") for column in of["columns"])]
    assert [(one.name, str(one.type)) for one in PROCEDURES[of["name"]].columns] == wanted


def test_every_procedure_has_a_function_or_says_what_to_do_instead():
    for one in PROCEDURES.values():
        assert (one.function is None) == bool(one.instead), one.name
        assert one.summary[-1:] not in {"", "."}, one.name


def test_one_that_is_not_built_is_refused_by_its_name(runner):
    with pytest.raises(NotBuilt, match=r"run_ttl.*drop_partition"):
        runner.call("run_ttl", "cow")


@pytest.mark.parametrize("name", ["SHOW_COMMITS", "system.show_commits"])
def test_names_do_not_mind_case_or_their_catalog(name):
    assert procedure_named(name).name == "show_commits"


def test_the_nearest_name_is_said():
    with pytest.raises(InvalidInput, match="nearest='show_commits'"):
        procedure_named("show_comits")


def test_arguments_of_a_statement_are_expressions(runner):
    assert len(runner.call_text("show_commits", "'cow'", limit="2")) == 2


def test_results_are_typed_also_without_rows(runner, builder):
    runner.tables["empty"] = builder.create()
    assert run_procedure(runner, "show_commits", ["empty"]).schema == PROCEDURES["show_commits"].columns


def test_a_filter_chooses_among_the_rows(runner):
    rows = runner.call("show_timeline", "mor", filter="action = 'deltacommit' and state = 'COMPLETED'")
    assert len(rows) == 3
    assert runner.call("show_timeline", "mor", filter="action = 'clean'") == []


def test_help_lists_what_there_is_and_what_is_not_built(runner):
    (listed,) = runner.call("help")
    lines = listed["result"].splitlines()
    assert all(
        any(line.split("\t")[1:2] and line.split("\t")[1].strip() == name for line in lines) for name in PROCEDURES
    )
    assert "not built yet" in next(line for line in lines if "run_ttl" in line)


def test_help_shows_the_parameters_of_one(runner):
    (shown,) = runner.call("help", cmd="show_commits")
    assert "limit" in shown["result"]
    assert "total_bytes_written" in shown["result"]
    with pytest.raises(InvalidInput, match="no such procedure"):
        runner.call("help", "nope")


def test_schemas_are_of_arrow():
    assert all(isinstance(one.columns, pa.Schema) for one in PROCEDURES.values())


def test_every_procedure_of_apache_hudi_is_there():
    assert {of["name"] for of in HUDI} <= set(PROCEDURES)

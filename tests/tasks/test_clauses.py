import pyarrow as pa
import pytest

from pyhudi.errors import ExpressionError, InvalidInput
from pyhudi.predicate import Column, evaluate, parse
from pyhudi.predicate.model import walk
from pyhudi.tasks.clauses import Clause, ClauseKind, MergeClauses, Sides, found_name, over_source, source_name

TARGET = pa.schema([("id", pa.int64()), ("day", pa.string()), ("x", pa.float64())])
SOURCE = pa.schema([("id", pa.int64()), ("day", pa.string()), ("x", pa.float64()), ("op", pa.string())])


def names_in(expression):
    return {node.name for node in walk(expression) if isinstance(node, Column)}


def sides(**changed):
    return Sides(**{"target": TARGET, "source": SOURCE, "fixed": ("id", "day"), **changed})


def clause(kind, condition=None, **assignments):
    return Clause(
        kind=kind,
        assignments={name: parse(text) for name, text in assignments.items()} or None,
        condition=None if condition is None else parse(condition),
    )


def test_clauses_are_sorted_by_what_they_need():
    kinds = [kind for kind in ClauseKind if kind is not ClauseKind.UPDATE_BY_SOURCE]
    clauses = [clause(kind, "id > 1" if "by" in kind or "insert" in kind else "t.id > 1") for kind in kinds]
    merge = MergeClauses.of(clauses, None, sides())
    assert [one.kind for one in merge.matched] == [ClauseKind.UPDATE, ClauseKind.DELETE]
    assert merge.has_inserts
    assert [one.kind for one in merge.by_source] == [ClauseKind.DELETE_BY_SOURCE]


def test_names_are_spelled_over_one_table_of_both_sides():
    merge = MergeClauses.of([clause(ClauseKind.UPDATE, "op = 'u' and t.x < s.x", x="s.x + t.x")], None, sides())
    assert merge.matched[0].condition == parse("_pyhudi_s_op = 'u' and x < _pyhudi_s_x")
    assert names_in(merge.matched[0].assignments["x"]) == {"x", source_name("x")}


def test_an_update_of_all_leaves_keys_and_asks_that_they_agree():
    merge = MergeClauses.of([clause(ClauseKind.UPDATE)], None, sides())
    assert list(merge.matched[0].assignments) == ["x"]
    pair = pa.table({"id": [1, 1], "day": ["a", None], "_pyhudi_s_id": [1, 1], "_pyhudi_s_day": ["b", None]})
    assert evaluate(merge.same_place, pair).to_pylist() == [False, True]
    assert MergeClauses.of([clause(ClauseKind.UPDATE, x="s.x")], None, sides()).same_place is None


def test_the_inserted_value_of_a_column_depends_on_the_clause():
    values = {"id": "s.id", "day": "'a'"}
    one = MergeClauses.of([clause(ClauseKind.INSERT, "x > 1", **values)], None, sides())
    assert one.inserted("day") == parse("'a'")
    inserts = [clause(ClauseKind.INSERT, "x > 1", **values), clause(ClauseKind.INSERT, id="s.id", day="op")]
    two = MergeClauses.of(inserts, None, sides())
    rows = pa.table({"_pyhudi_s_x": [2.0, 0.5, None], "_pyhudi_s_op": ["b", "c", "d"]})
    assert evaluate(two.inserted("day"), rows).to_pylist() == ["a", "c", "d"]
    assert MergeClauses.of([clause(ClauseKind.DELETE)], None, sides()).inserted("day") is None


def test_columns_that_the_files_lack_are_inserted_but_not_read():
    dropped = sides(dropped=("day",))
    MergeClauses.of([clause(ClauseKind.INSERT)], None, dropped)
    for named in ("t.day", "T.DAY"):
        with pytest.raises(ExpressionError, match="files lack its partition columns"):
            MergeClauses.of([clause(ClauseKind.DELETE, f"{named} = 'a'")], None, dropped)
    with pytest.raises(ExpressionError, match="no such column"):
        MergeClauses.of([clause(ClauseKind.DELETE, "t.days = 'a'")], None, dropped)


def test_clauses_behind_one_without_a_condition_are_refused():
    MergeClauses.of([clause(ClauseKind.DELETE), clause(ClauseKind.INSERT)], None, sides())
    with pytest.raises(InvalidInput, match="comes last"):
        MergeClauses.of([clause(ClauseKind.DELETE), clause(ClauseKind.UPDATE, x="1")], None, sides())


def test_a_name_is_found_in_any_case_if_only_one_is_alike():
    schema = pa.schema([("Id", pa.int64()), ("x", pa.int64()), ("X", pa.int64())])
    assert [found_name(schema, name) for name in ("id", "x", "X", "nope")] == ["Id", "x", "X", None]
    assert found_name(pa.schema([("aB", pa.int64()), ("Ab", pa.int64())]), "ab") is None


def test_source_expressions_get_the_prefix_once():
    spelled = over_source(over_source(parse("id + 1")))
    assert names_in(spelled) == {source_name("id")}

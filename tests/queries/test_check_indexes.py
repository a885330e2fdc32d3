"""A check compares secondary and expression indexes with the rows, and a repair builds them anew."""

import pyarrow as pa
import pytest
from tests.building import TableBuilder, trip, trips

from pyhudi.metadata.partitions import expression_blooms
from pyhudi.metadata.partitions.secondary_index import SecondaryIndexKind
from pyhudi.metadata.stats import expression_stats
from pyhudi.queries import check_indexes

APART = {"hoodie.parquet.small.file.limit": "0", "hoodie.metadata.enable": "true"}


@pytest.fixture(params=["cow", "mor"])
def table(request):
    table = TableBuilder(request.param).create()
    table.upsert(trips(trip("a"), trip("b", city="rio"), trip("c")), options=APART)
    for index, column, named in (
        ("record_index", None, {}),
        ("secondary", "city", {}),
        ("expression", "city", {"expr": "upper"}),
        ("expression", "city", {"expr": "lower", "kind": "bloom_filters"}),
    ):
        table.create_index(index, column, **named)
    return table


def moved(table):
    """Let `a` be of another city, a new key come, and a key go."""
    table.upsert(trips(trip("d", city="berlin"), trip("e", city="rio")), options=APART)
    table.delete(keys=["c"], options=APART)
    return TableBuilder().reopen(table)


def constant(expression, rows):
    return pa.repeat(pa.scalar("m", pa.string()), rows.num_rows)


@pytest.mark.parametrize("all_keys", [False, True])
def test_indexes_that_were_kept_up_hold(table, all_keys):
    assert moved(table).check(all_keys=all_keys).problems.to_pylist() == []


@pytest.mark.parametrize("all_keys", [False, True])
def test_a_secondary_index_that_missed_a_write_is_found_and_repaired(table, all_keys, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(
            SecondaryIndexKind,
            "records_of_commit",
            lambda kind, commit: kind._records(commit.state, commit.rows, (), commit.schema),
        )
        fresh = moved(table)
    found = fresh.check(all_keys=all_keys)
    texts = sorted(text.split(", of")[0] for text in found.problems["found"].to_pylist())
    assert texts[-1] == "2 rows of which it has no entry"
    assert texts[:-1] == ["1 entries of which there is no row"] * all_keys or not all_keys
    assert found.to_repair == ("secondary_index_city",)
    assert fresh.repair(dry_run=True).partitions == ("secondary_index_city",)
    assert not fresh.check(all_keys=all_keys).ok
    fresh.repair()
    assert fresh.check(all_keys=True).ok


@pytest.mark.parametrize(
    ("module", "partition"),
    [(expression_stats, "expr_index_upper_city"), (expression_blooms, "expr_index_lower_city")],
)
def test_an_expression_index_that_lacks_values_is_found_and_repaired(table, module, partition, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(module, "values_of", constant)
        fresh = moved(table)
    found = fresh.check()
    assert set(found.problems["kind"].to_pylist()) == {"expression index"}
    assert found.to_repair == (partition,)
    fresh.repair(partition)
    assert fresh.check(all_keys=True).ok


def test_a_sample_looks_at_what_was_written_last(table, monkeypatch):
    monkeypatch.setattr(check_indexes, "_SAMPLE_GROUPS", 1)
    with monkeypatch.context() as broken:
        broken.setattr(expression_blooms, "values_of", constant)
        fresh = moved(table)
    fresh.upsert(trips(trip("f", city="sf")), options=APART)
    assert TableBuilder().reopen(fresh).check().ok
    assert not TableBuilder().reopen(fresh).check(all_keys=True).ok


def test_a_plan_that_waits_is_no_problem_and_a_definition_without_one_is(table):
    table.create_index("expression", "city", name="later", expr="length", schedule=True)
    assert TableBuilder().reopen(table).check().ok
    table.drop_index("later")
    assert TableBuilder().reopen(table).check().ok

import logging

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.queries.cleaning import plan_clustering
from tests.txn.writing import states_of

from pyhudi.errors import WriteConflict
from pyhudi.timeline.instant import Action

KEEP = {**TINY_FILTERS, "hoodie.clean.commits.retained": 2}


@pytest.fixture
def builder():
    return TableBuilder()


@pytest.fixture(params=[6, 8, 9])
def table(request, builder):
    return builder.create(version=request.param)


def put(table, **options):
    return table.upsert([trip("k", ts=len(table.timeline.completed))], options={**KEEP, **options})


def files_count(table):
    return len([one for one in table.state.storage.list("") if one.path.endswith(".parquet")])


def cleans(table):
    return [one for one in table.timeline.instants if one.action is Action.CLEAN]


def test_a_table_is_cleaned_after_each_commit_that_makes_it_due(table):
    for number in range(1, 9):
        result = put(table)
        assert files_count(table) == min(number, 3)
        assert ("clean" in result.phases) is (number > 2)
    assert len(cleans(table)) == 5  # at the third commit there is nothing to take yet
    assert {state for _, state in states_of(table.state)} == {"completed"}


def test_by_default_ten_commits_are_kept_and_the_state_before_them(table):
    for _ in range(13):
        table.upsert([trip("k", ts=len(table.timeline.completed))], options=TINY_FILTERS)
    assert files_count(table) == 11


def test_where_cleaning_is_not_automatic_nothing_goes(table):
    for _ in range(5):
        put(table, **{"hoodie.clean.automatic": False})
    assert files_count(table) == 5
    assert table.run_due_services(options={"hoodie.clean.automatic": False}) == {}


def test_cleans_can_be_left_to_a_process_of_its_own(table, builder):
    for _ in range(5):
        put(table, **{"hoodie.clean.async": True})
    assert files_count(table) == 5
    done = builder.reopen(table).run_due_services(options=KEEP)
    assert files_count(table) == 3
    assert {"clean": tuple(one.requested_time for one in cleans(table))} == done
    assert table.run_due_services(options=KEEP) == {}


def test_a_clean_is_due_after_so_many_commits(table):
    for _ in range(12):
        put(table, **{"hoodie.clean.trigger.max.commits": 4})
    assert len(cleans(table)) == 3


def test_a_clean_that_was_left_pending_is_finished_by_the_next_write(table):
    for _ in range(5):
        put(table, **{"hoodie.clean.automatic": False})
    table.clean(options=KEEP, schedule=True)
    table.upsert([trip("k", ts=99)], options=TINY_FILTERS)
    assert {state for _, state in states_of(table.state)} == {"completed"}
    assert files_count(table) == 4


def test_a_commit_stands_though_a_service_fails_after_it(table, builder, caplog):
    for _ in range(3):
        put(table)
    broken = FaultyStorage(
        table.state.storage,
        plan=[Fault(kind=FaultKind.DENIED, path="*.clean.requested", operations=frozenset({"put"}))],
    )
    with caplog.at_level(logging.WARNING, "pyhudi.actions"):
        result = put(builder.reopen(table, broken))
    assert f"{result.instant} is committed; a table service failed" in caplog.text
    put(table)
    assert files_count(table) == 3


def test_where_nothing_is_due_a_commit_costs_no_listing_more(table, builder):
    put(table)
    put(table)
    counts = []
    for automatic in (False, True):
        faulty = FaultyStorage(table.state.storage)
        builder.reopen(table, faulty).insert(
            [trip(f"new{automatic}", "rio")], options={**TINY_FILTERS, "hoodie.clean.automatic": automatic}
        )
        counts.append([one.name for one in faulty.operations].count("list_names"))
    assert counts[0] == counts[1]


def test_beside_a_planned_clustering_new_rows_go_elsewhere_and_its_rows_are_refused(table, builder):
    done = put(table)
    plan_clustering(table, *done.files)
    fresh = table.upsert([trip("new")], options=TINY_FILTERS)
    assert (fresh.inserted, fresh.updated) == (1, 0)
    assert {path.split("_")[0] for path in fresh.files}.isdisjoint(path.split("_")[0] for path in done.files)
    assert len(builder.rows_of(table)) == 2
    with pytest.raises(WriteConflict, match="a table service is planned"):
        put(table)

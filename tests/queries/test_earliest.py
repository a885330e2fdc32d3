import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip
from tests.queries.cleaning import clean


@pytest.fixture(params=[6, 8, 9])
def table(request):
    return TableBuilder().create(version=request.param)


def put(table, fare, city="sf"):
    return table.upsert([trip("k", city, fare=fare)], options=TINY_FILTERS)


def test_a_table_without_commits_cannot_be_read_as_of_any(table):
    assert table.earliest_readable_instant is None


def test_where_nothing_was_cleaned_the_first_commit_can_be_read(table):
    first = put(table, 1.0)
    put(table, 2.0)
    assert table.earliest_readable_instant == first.instant


def test_what_a_clean_took_makes_the_moments_unreadable_that_showed_it(table):
    done = [put(table, float(number)) for number in range(5)]
    clean(table, *done[0].files, *done[1].files)
    assert table.earliest_readable_instant == done[2].instant


def test_a_file_that_was_hidden_late_makes_all_moments_until_then_unreadable(table):
    first = put(table, 1.0, "a")
    others = [put(table, float(number), "b") for number in range(3)]
    last = put(table, 2.0, "a")
    clean(table, *first.files)
    assert others
    assert table.earliest_readable_instant == last.instant

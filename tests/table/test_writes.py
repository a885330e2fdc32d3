import pytest
from tests.building import TableBuilder, counts, trip, trips

from pyhudi.errors import InvalidInput


@pytest.fixture
def table():
    made = TableBuilder().create()
    made.upsert(trips(trip("a"), trip("b", "oslo")))
    return made


def test_a_scan_of_a_table_is_written_as_it_is(table):
    first = table.latest_instant
    table.delete(where="uuid = 'a'")
    assert counts(table.insert_overwrite_table(table.scan(as_of=first))) == (2, 0, 0)
    other = TableBuilder().create()
    assert counts(other.upsert(table.scan(filter="city = 'oslo'"))) == (1, 0, 0)


def test_a_result_shows_itself_in_one_line_and_in_a_notebook(table):
    result = table.upsert([trip("<b>", ts=2)], commit_metadata={"why": "test"})
    assert repr(result) == f"WriteResult({result})"
    assert "1 inserted" in repr(result)
    shown = result._repr_html_()
    assert shown.startswith("<table>")
    assert result.instant in shown


def test_no_rows_are_refused(table):
    with pytest.raises(InvalidInput, match="give rows"):
        table.upsert(None)

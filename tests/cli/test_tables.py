import pytest
from tests.cli.fake_table import ROWS, FakeTable

from pyhudi.cli.tables import describe, first_rows, storage_options
from pyhudi.errors import InvalidInput


def test_first_rows_read_no_further_than_needed():
    rows, has_more = first_rows(FakeTable().scan(), 1)
    assert (rows.num_rows, has_more) == (1, True)


def test_a_limit_of_all_rows_has_no_more():
    rows, has_more = first_rows(FakeTable().scan(), 3)
    assert rows.equals(ROWS)
    assert not has_more


def test_no_limit_reads_everything():
    assert first_rows(FakeTable().scan(), 0)[0].num_rows == 3


def test_an_empty_scan_keeps_its_columns():
    scan = FakeTable().scan()
    scan.rows = ROWS.slice(0, 0)
    scan.to_batches = lambda: iter(())
    assert first_rows(scan, 5)[0].column_names == ROWS.column_names


@pytest.mark.parametrize("text", ["region", "=x"])
def test_a_storage_option_needs_a_key_and_an_equals_sign(text):
    with pytest.raises(InvalidInput):
        storage_options([text])


def test_describe_lists_the_columns():
    assert list(describe(FakeTable())["columns"]) == ["id", "fare", "raw"]

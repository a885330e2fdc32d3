import pytest
from tests.cli.fake_table import FakeTable

from pyhudi.cli.tables import comma_separated, describe, one_more, storage_options
from pyhudi.errors import InvalidInput


def test_names_are_separated_by_commas():
    assert comma_separated(" id, fare,") == ["id", "fare"]
    assert comma_separated(" , ") is None


def test_one_more_row_than_is_shown_is_read():
    assert [one_more(limit) for limit in (0, 1, 20)] == [None, 2, 21]


@pytest.mark.parametrize("text", ["region", "=x"])
def test_a_storage_option_needs_a_key_and_an_equals_sign(text):
    with pytest.raises(InvalidInput):
        storage_options([text])


def test_describe_lists_the_columns():
    assert list(describe(FakeTable())["columns"]) == ["id", "fare", "raw"]

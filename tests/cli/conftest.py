import pytest
from tests.cli.fake_table import FakeTable

from pyhudi.errors import TableNotFound


@pytest.fixture
def table(monkeypatch):
    fake = FakeTable()

    def open_table(path, storage_options=None):
        if path == "nowhere":
            raise TableNotFound("no table here; create it first", path=path)
        fake.opened_with = storage_options
        return fake

    monkeypatch.setattr("pyhudi.open_table", open_table, raising=False)
    return fake

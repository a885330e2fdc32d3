"""The demo's stream, with a query in Spark's place that carries the changes itself."""

import json

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.demo import stream
from pyhudi.demo.engines import RowsHere
from pyhudi.demo.flights import KEY, SCHEMA, load_flights
from pyhudi.demo.report import Report
from pyhudi.demo.stream import show_stream


class Carrying:
    """Carries what changed since it was asked last, or only some of it."""

    def __init__(self, forgets=0):
        self.since, self.forgets = None, forgets

    def __call__(self, session, source, path, checkpoint):
        table = pyhudi.open_table(source)
        rows = table.changes(after=self.since, columns=SCHEMA.names).to_arrow()
        rows = rows.slice(self.forgets if self.since else 0)
        self.since = table.latest_instant
        pyhudi.write_table(path, rows, record_key=list(KEY), name="carried")
        return rows.num_rows


@pytest.mark.parametrize("forgets", [0, 1])
def test_both_tables_are_compared_after_each_query(few, tmp_path, monkeypatch, capsys, forgets):
    for name in ("install", "uninstall"):
        monkeypatch.setattr(stream, name, lambda *session: None)
    monkeypatch.setattr(stream, "_carry", Carrying(forgets))
    flights, report = load_flights(2), Report(as_json=True)
    source, path = str(tmp_path / "source"), str(tmp_path / "copy")
    pyhudi.create_table(source, SCHEMA, name="january", record_key=list(KEY)).insert(flights.flown([1]))
    show_stream(source, path, RowsHere(), flights, report)
    report.close()
    document = json.loads(capsys.readouterr().out)
    assert document["claims"] == 3
    assert len(document["broken"]) == 2 * forgets
    assert isinstance(pyhudi.open_table(path).scan().to_arrow(), pa.Table)

"""The demo's statements, run in this process; what is claimed of them is what the source says."""

import json

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.demo.engines import RowsHere
from pyhudi.demo.flights import load_flights
from pyhudi.demo.report import Report
from pyhudi.demo.sql import show_sql


class Forgetful(RowsHere):
    """Loses a row of what a merge is given."""

    def sql(self, text, given, tables):
        kept = {name: rows.slice(1) if text.startswith("MERGE") else rows for name, rows in given.items()}
        return super().sql(text, kept, tables)


@pytest.mark.parametrize(("on", "broken"), [(RowsHere(), 0), (Forgetful(), 2)])
def test_each_statement_is_held_against_the_source(few, tmp_path, capsys, on, broken):
    report = Report(as_json=True)
    show_sql(str(tmp_path / "schedule"), on, load_flights(3), report)
    report.close()
    document = json.loads(capsys.readouterr().out)
    assert document["claims"] == 6
    assert len(document["broken"]) == broken
    verbs = [row["statement"].split()[0] for row in document["statements"]]
    assert verbs == ["CREATE", "INSERT", "MERGE", "SELECT", "CALL", "SELECT", "SHOW", "DROP"]
    assert isinstance(pyhudi.open_table(str(tmp_path / "schedule")).scan().to_arrow(), pa.Table)

"""What a type checker makes of the façade: results of writes and of merges have their own types."""

from pathlib import Path

from mypy import api

ROOT = Path(__file__).resolve().parents[2]
SNIPPET = """
from typing import Any, assert_type

import pyhudi
from pyhudi import Table, WriteResult


def write(trips: Table, rows: list[dict[str, Any]]) -> int:
    merge = trips.merge(rows, on="t.uuid = s.uuid").when_matched_update_all().when_not_matched_insert_all()
    assert_type(merge.execute(), WriteResult)
    planned = trips.merge(iter(rows), on="t.uuid = s.uuid", dry_run=True).when_matched_delete().execute()
    assert planned.updates is None
    trips.upsert(trips.scan(), options={"hoodie.compact.inline": True})
    trips.insert(trips.scan().to_batches())
    print(trips.update(set={"fare": 1}, dry_run=True).updates, trips.upsert(rows).added, trips.scan().to_duckdb().shape)
    return merge.execute().updated + trips.delete("fare < 0").deleted + len(trips.scan())
"""
WRONG = """
from pyhudi import Table


def write(trips: Table) -> int:
    return trips.merge([], on="t.a = s.a", dry_run=True).when_matched_delete().execute().updated
"""


def checked(tmp_path, text):
    given = tmp_path / "snippet.py"
    given.write_text(text)
    config = ["--config-file", str(ROOT / "pyproject.toml")]
    said, failed, _ = api.run([*config, "--no-error-summary", str(given)])
    assert not failed
    return said


def test_what_writes_and_merges_return_has_a_type(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert checked(tmp_path, SNIPPET) == ""
    assert '"PlannedWrite" has no attribute "updated"' in checked(tmp_path, WRONG)

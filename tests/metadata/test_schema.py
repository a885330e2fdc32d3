"""The record schema against what the metadata tables of golden tables carry."""

import json

import pytest
from tests.golden.catalogue import kept_tables

from pyhudi.metadata.schema import record_schema


def tables(*scripts):
    """Ask of every version of golden tables."""
    found = [one for one in kept_tables() if one.script.name in scripts]
    assert found
    return pytest.mark.parametrize("golden", found, ids=lambda one: one.name)


def without_docs(schema):
    """Leave out what describes fields to people."""
    if isinstance(schema, list):
        return [without_docs(one) for one in schema]
    if isinstance(schema, dict):
        return {key: without_docs(value) for key, value in schema.items() if key != "doc"}
    return schema


@tables("cow_metadata")
def test_records_have_the_schema_of_the_tables_version(tmp_path, golden):
    logs = (golden.unpack(tmp_path) / ".hoodie" / "metadata" / "files").glob(".files*.log.*")
    text = max(logs, key=lambda log: log.stat().st_size).read_bytes().decode("latin-1")
    stored, _ = json.JSONDecoder().raw_decode(text[text.index('{"type":"record"') :])
    spelled = json.dumps(without_docs(stored), separators=(",", ":"))
    assert spelled == record_schema(golden.version, has_meta_fields=True)

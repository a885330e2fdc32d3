"""Every file of every golden timeline decodes, and what our codecs write they write to the same bytes.

Of Avro files the bytes are those of the record: Java's header also holds documentation, which ours leaves out, and so
the schemas are compared without it. The metadata tables' timelines are among them.
"""

import json
import re

import pytest
from tests.golden.catalogue import kept_tables

from pyhudi.formats.avro import decode_container
from pyhudi.timeline.codec import (
    decode_clean_metadata,
    decode_clean_plan,
    decode_commit,
    decode_plan,
    decode_rollback_metadata,
    decode_rollback_plan,
    encode_clean_metadata,
    encode_clean_plan,
    encode_commit,
    encode_requested_replace,
    encode_rollback_metadata,
    encode_rollback_plan,
)
from pyhudi.timeline.codec.restore import (
    decode_restore_metadata,
    decode_restore_plan,
    decode_savepoint,
    encode_restore_metadata,
    encode_restore_plan,
    encode_savepoint,
)
from pyhudi.timeline.codec.schemas import (
    CLEAN_METADATA,
    CLEAN_PLAN,
    COMMIT_METADATA,
    REPLACE_COMMIT_METADATA,
    REQUESTED_REPLACE_METADATA,
    RESTORE_METADATA,
    RESTORE_PLAN,
    ROLLBACK_METADATA,
    ROLLBACK_PLAN,
    SAVEPOINT_METADATA,
)
from pyhudi.timeline.instant import WRITE_ACTIONS, Action, State, file_name, parse_name
from pyhudi.txn.checks import require_older_targets

OUR_SCHEMAS = {
    one["name"]: one
    for one in (
        CLEAN_METADATA,
        CLEAN_PLAN,
        COMMIT_METADATA,
        REPLACE_COMMIT_METADATA,
        REQUESTED_REPLACE_METADATA,
        RESTORE_METADATA,
        RESTORE_PLAN,
        ROLLBACK_METADATA,
        ROLLBACK_PLAN,
        SAVEPOINT_METADATA,
    )
}
LATER_FIELDS = frozenset({"missingSchedulePartitions"})
"""What 0.15 does not have; it resolves the schemas and ignores it."""
COLUMN_RANGES = "mor_metadata_all-v6"
"""Its delta commits have column ranges in `recordsStats`, for the metadata table's column stats: not kept by ours."""
TABLES = [pytest.param(one, id=one.name) for one in kept_tables()]


def timelines(path):
    """Yield the timeline directories of a table and of its metadata table, with their layouts."""
    for root in (path / ".hoodie", path / ".hoodie" / "metadata" / ".hoodie"):
        if (root / "timeline").exists():
            yield root / "timeline", 2
        elif root.exists():
            yield root, 1


def instants(path):
    """Yield every instant file: instant, bytes, layout."""
    for folder, layout in timelines(path):
        for file in sorted(one for one in folder.iterdir() if one.is_file() and one.name[0].isdigit()):
            instant = parse_name(file.name)
            assert instant is not None, file.name
            yield instant, file.read_bytes(), layout


def without_docs(schema, later=frozenset()):
    """Leave documentation out of a schema, and fields that a release does not know."""
    if isinstance(schema, dict):
        return {key: without_docs(value, later) for key, value in schema.items() if key != "doc"}
    if isinstance(schema, list):
        return [without_docs(one, later) for one in schema if not (isinstance(one, dict) and one.get("name") in later)]
    return schema


def body(data):
    """Return the one record's bytes of a container."""
    _, _, sync = decode_container(data)
    return data.split(sync)[1]


def whole_paths(plan):
    """Return what finds the path of a file of a clean's plan, by partition and name."""
    listed = plan["filePathsToBeDeletedPerPartition"]
    found = {(where, one["filePath"].rsplit("/", 1)[-1]): one["filePath"] for where in listed for one in listed[where]}
    return lambda where, name: found[where, name]


def is_commit(instant):
    return instant.comparable_action in WRITE_ACTIONS and instant.state is not State.REQUESTED


@pytest.mark.parametrize("golden", TABLES)
def test_names_are_spelled_as_they_were_read(unpacked, golden):
    for instant, _, layout in instants(unpacked(golden)):
        assert file_name(instant, layout) == instant.file_name


@pytest.mark.parametrize("golden", TABLES)
def test_commits_are_read_and_written_back_to_the_byte(unpacked, golden):
    for instant, data, layout in instants(unpacked(golden)):
        if not is_commit(instant) or not data:
            continue
        metadata = decode_commit(data, instant.file_name)
        if data.startswith(b"{") and golden.name == COLUMN_RANGES:
            data = re.sub(rb'"val" : \{.*?\n {8}\}', b'"val" : null', data, flags=re.DOTALL)
        if data.startswith(b"{"):
            assert encode_commit(metadata, 1).decode() == data.decode(), instant.file_name
        else:
            assert layout == 2
            assert body(encode_commit(metadata, 2, b"n" * 16)) == body(data), instant.file_name


@pytest.mark.parametrize("golden", TABLES)
def test_what_apache_hudi_commits_is_merged_with_older_base_files(unpacked, golden):
    for instant, data, _ in instants(unpacked(golden)):
        if instant.is_completed and is_commit(instant) and data:
            require_older_targets(instant.requested_time, decode_commit(data, instant.file_name))


@pytest.mark.parametrize("golden", TABLES)
def test_plans_and_services_are_read_and_those_we_write_are_written_back_to_the_byte(unpacked, golden):
    for instant, data, _ in instants(unpacked(golden)):
        if is_commit(instant) or not data:
            continue
        name, nonce = instant.file_name, b"n" * 16
        plan = decode_plan(data, name)
        if instant.action is Action.ROLLBACK and instant.is_completed:
            assert body(encode_rollback_metadata(decode_rollback_metadata(data, name), nonce)) == body(data), name
        elif instant.action is Action.ROLLBACK:
            assert body(encode_rollback_plan(decode_rollback_plan(data, name), nonce)) == body(data), name
        elif instant.action is Action.CLEAN and instant.is_completed:
            assert body(encode_clean_metadata(decode_clean_metadata(data, name), nonce)) == body(data), name
        elif instant.action is Action.CLEAN:
            read = decode_clean_plan(data, name)
            assert body(encode_clean_plan(read, whole_paths(plan), nonce)) == body(data), name
        elif instant.action is Action.RESTORE and instant.is_completed:
            assert body(encode_restore_metadata(decode_restore_metadata(data, name), nonce)) == body(data), name
        elif instant.action is Action.RESTORE:
            assert body(encode_restore_plan(decode_restore_plan(data, name), nonce)) == body(data), name
        elif instant.action is Action.SAVEPOINT:
            assert body(encode_savepoint(decode_savepoint(data, name), nonce)) == body(data), name
        elif instant.action is Action.REPLACECOMMIT and plan["operationType"] is None:
            assert body(encode_requested_replace(nonce)) == body(data), name
        else:
            assert plan, name


@pytest.mark.parametrize("golden", TABLES)
def test_our_schemas_are_those_that_the_files_bring_along(unpacked, golden):
    for instant, data, _ in instants(unpacked(golden)):
        if not data.startswith(b"Obj"):
            continue
        _, schema, _ = decode_container(data)
        ours = OUR_SCHEMAS.get(schema["name"])
        if ours is not None:
            found = json.dumps(without_docs(schema))
            is_old = golden.release == "0.15.0" or golden.script.begins_with is not None
            known = [ours, without_docs(ours, LATER_FIELDS)] if is_old else [ours]
            assert found in map(json.dumps, known), instant.file_name

"""What golden tables have not: files that were archived twice, entries of older releases, damage."""

import json

import pyarrow as pa
import pytest
from tests.new_states import new_state

from pyhudi.errors import CorruptData
from pyhudi.formats.avro import decode_container, encode_container
from pyhudi.formats.log import BlockKind, HeaderKey, NewBlock, encode_blocks, join_rows
from pyhudi.timeline.archive_logs import load_archive_logs

STAT = {"type": "record", "name": "HoodieWriteStat", "fields": [{"name": "fileId", "type": ["null", "string"]}]}
COMMIT = {
    "type": "record",
    "name": "HoodieCommitMetadata",
    "fields": [{"name": "stats", "type": ["null", {"type": "array", "items": STAT}]}],
}
REPLACE = {**COMMIT, "name": "HoodieReplaceCommitMetadata"}
REPLACE["fields"] = [{"name": "stats", "type": ["null", {"type": "array", "items": "HoodieWriteStat"}]}]
TEXT = ["null", "string"]
ENTRY = {
    "type": "record",
    "name": "HoodieArchivedMetaEntry",
    "namespace": "org.apache.hudi.avro.model",
    "fields": [
        {"name": "hoodieCommitMetadata", "type": ["null", COMMIT], "default": None},
        {"name": "hoodieReplaceCommitMetadata", "type": ["null", REPLACE], "default": None},
        {"name": "commitTime", "type": TEXT},
        {"name": "actionType", "type": TEXT},
        {"name": "actionState", "type": TEXT, "default": None},
    ],
}
FIRST, SECOND = "20250101000000000", "20250102000000000"


def entry(time, action="commit", state="COMPLETED", **more):
    return {"commitTime": time, "actionType": action, "actionState": state, **more}


def put(state, number, *entries, damage=0):
    """Write one archive file."""
    rows = []
    for one in entries:
        container = encode_container(ENTRY, one, bytes(16))
        text = json.dumps(ENTRY, separators=(",", ":")).encode()
        body = container[container.index(text) + len(text) + 1 + 16 :]
        rows.append(body[_after_size(body) : -16])
    block = NewBlock(
        kind=BlockKind.AVRO,
        headers={HeaderKey.SCHEMA: json.dumps(ENTRY)},
        content=join_rows(pa.array(rows, pa.binary())),
    )
    data = encode_blocks([block])
    state.storage.put(f".hoodie/archived/.commits_.archive.{number}_1-0-1", data[: len(data) - damage])


def _after_size(body):
    """Return where the record begins, behind the count and its size."""
    at = 1
    while body[at] & 0x80:
        at += 1
    return at + 1


@pytest.fixture
def state():
    return new_state(6)


def test_an_instant_that_was_archived_twice_comes_once(state):
    put(state, 1, entry(FIRST, state="REQUESTED"), entry(FIRST))
    put(state, 10, entry(SECOND))
    put(state, 9, entry(FIRST), entry(SECOND))
    assert load_archive_logs(state)["instantTime"].to_pylist() == [FIRST, SECOND]


def test_what_was_never_completed_is_left_out_and_an_old_entry_without_a_state_is_completed(state):
    put(state, 1, entry(FIRST, state="INFLIGHT"), entry(SECOND, state=None))
    assert load_archive_logs(state).select(["instantTime", "completionTime"]).to_pylist() == [
        {"instantTime": SECOND, "completionTime": None}
    ]


def test_a_record_whose_schema_names_types_of_another_is_taken_out_whole(state):
    put(state, 1, entry(FIRST, "replacecommit", hoodieReplaceCommitMetadata={"stats": [{"fileId": "g"}]}))
    (data,) = load_archive_logs(state)["metadata"].to_pylist()
    assert decode_container(data)[0] == {"stats": [{"fileId": "g"}]}


def test_a_damaged_archive_is_named(state):
    put(state, 1, entry(FIRST), damage=3)
    with pytest.raises(CorruptData) as refused:
        load_archive_logs(state)
    assert refused.value.values["path"].endswith(".commits_.archive.1_1-0-1")


def test_a_table_that_archived_nothing_has_an_empty_archive(state):
    assert load_archive_logs(state).num_rows == 0

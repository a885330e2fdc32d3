"""The examples in `docs/formats` are what the codecs write, and the codecs read them.

An example is a fenced block whose info string is `text NAME` or `hex NAME`; `EXAMPLES` makes each one.
"""

import base64
import io
import re
import tempfile
from datetime import UTC
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.file_names import base_file_name
from tests.fixed_env import FixedEnv
from tests.golden.catalogue import kept_tables
from tests.new_states import new_state

from pyhudi.filegroup.listing import encode_partition_metadata
from pyhudi.filegroup.model import FileId, PartitionPath
from pyhudi.filegroup.names import marker_path, parse_base_file, write_token
from pyhudi.formats.avro_rows import decode_rows, encode_rows
from pyhudi.formats.bloom import build, decode_bloom, encode_bloom, might_contain
from pyhudi.formats.hfile import HFileCodec, open_hfile, write_hfile
from pyhudi.formats.log import Command, HeaderKey, encode_blocks, read_blocks, rollback_block
from pyhudi.formats.parquet import base_file_footer, base_file_key_values, read_footer
from pyhudi.formats.properties import format_properties, java_date, parse_properties, properties_checksum
from pyhudi.kernels.bucket import bucket_file_id, bucket_of
from pyhudi.kernels.keys import KeyGenerator, KeySpec, PartitionField, keys_and_paths
from pyhudi.options import Settings
from pyhudi.schema.meta_fields import META_FIELDS, seqno
from pyhudi.storage.api import FileStatus
from pyhudi.storage.memory import MemoryStorage
from pyhudi.storage.process import process_name
from pyhudi.timeline.codec import (
    decode_commit,
    decode_restore_metadata,
    decode_restore_plan,
    decode_rollback_metadata,
    decode_rollback_plan,
    decode_savepoint,
    encode_commit,
    encode_requested_replace,
    encode_restore_metadata,
    encode_restore_plan,
    encode_rollback_metadata,
    encode_rollback_plan,
    encode_savepoint,
)
from pyhudi.timeline.instant import Action, Instant, InstantTime, State, file_name, parse_name
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.timeline.restore import RestoreMetadata, RestorePlan, SavepointMetadata
from pyhudi.timeline.rollback import RollbackMetadata, RollbackPartition, RollbackPlan, RollbackRequest
from pyhudi.txn.fence import SLOTS, Fence, fence_of, remember_fence
from pyhudi.txn.locks.guard import HUDI_LOCK_PATH
from pyhudi.txn.locks.hudi_file import FileLock
from pyhudi.txn.locks.storage import STORAGE_LOCK_PATH, StorageLock
from pyhudi.txn.recovery.heartbeat import heartbeat_path

PAGES = Path(__file__).parents[2] / "docs" / "formats"
FENCE = re.compile(r"^```(?:text|hex) ([a-z0-9-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

START, DONE = InstantTime("20260101120000001"), InstantTime("20260101120000905")
FILE_ID = FileId("0f8fad5b-d9cb-469f-a165-70867728950e-0")
NAME = base_file_name(FILE_ID, write_token(0, 0), START)
PATH = f"city=oslo/{NAME}"
NONCE = bytes(range(16))
KEYS = pa.array(["a", "b"])
COMMIT = CommitMetadata(
    operation=WriteOperation.UPSERT,
    stats={
        "city=oslo": (
            WriteStat(
                file_id=FILE_ID,
                path=PATH,
                num_writes=2,
                num_inserts=2,
                total_write_bytes=1234,
                file_size_in_bytes=1234,
                partition_path="city=oslo",
                scan_time_ms=0,
                upsert_time_ms=0,
                create_time_ms=7,
            ),
        )
    },
    extra={"schema": '{"type":"record"}'},
)
PLAN = RollbackPlan(
    instant=START,
    action="commit",
    requests=(RollbackRequest(partition_path="city=oslo", files_to_delete=(f"/data/trips/{PATH}",)),),
)
ROLLBACK = RollbackMetadata(
    start_time=DONE,
    time_taken_ms=12,
    rolled_back=((START, "commit"),),
    partitions={"city=oslo": RollbackPartition(partition_path="city=oslo", deleted=(f"/data/trips/{PATH}",))},
)
SAVEPOINT = SavepointMetadata(at_ms=1_767_268_800_001, files={"city=oslo": (NAME,)}, comment="kept")
RESTORE_PLAN = RestorePlan(instants=((START, "commit"),), target="20251231235959000")
RESTORE = RestoreMetadata(
    start_time=DONE, time_taken_ms=12, instants=((START, "commit"),), rollbacks={START: (ROLLBACK,)}
)
BLOOM = build(KEYS, "SIMPLE", entries=2, fpp=0.01)
DYNAMIC = build(KEYS, "DYNAMIC_V0", entries=2, fpp=0.01, max_entries=4)
HFILE = write_hfile(KEYS, pa.array(["1", "2"]), codec=HFileCodec.NONE)


def hexdump(data):
    """Write bytes, 16 a line, with what is printable beside them."""
    lines = []
    for start in range(0, len(data), 16):
        part = data[start : start + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        lines.append(f"{part.hex(' '):<47}  {shown}")
    return "\n".join(lines)


def bytes_of(example):
    """Read `hexdump` back."""
    return b"".join(bytes.fromhex(line[:47]) for line in example.splitlines())


def block_of(container):
    """Return what follows a container's header: count, size, record, sync marker."""
    return container[container.index(NONCE) + len(NONCE) :]


def properties():
    entries = {
        "hoodie.table.name": "trips",
        "hoodie.table.type": "COPY_ON_WRITE",
        "hoodie.table.version": "6",
        "hoodie.table.checksum": str(properties_checksum("shop", "trips")),
        "hoodie.database.name": "shop",
        "hoodie.table.create.schema": '{"type":"record","name":"å"}',
    }
    at = 1_767_268_800_001
    comments = ["Properties saved on 2026-01-01T12:00:00.001Z", java_date(at, UTC)]
    return format_properties(entries, comments).decode("ascii").rstrip("\n")


def names():
    made = [
        Instant(requested_time=START, action=Action.COMMIT, state=state, completion_time=completion)
        for state, completion in ((State.REQUESTED, None), (State.INFLIGHT, None), (State.COMPLETED, DONE))
    ]
    made.append(Instant(requested_time=START, action=Action.REPLACECOMMIT, state=State.INFLIGHT))
    return "\n".join(f"{file_name(one, 1):<42} {file_name(one, 2)}" for one in made)


def footer():
    entries = base_file_key_values(bloom=BLOOM, min_key="a", max_key="b")
    return "\n".join(f"{name} = {value}" for name, value in entries.items())


def lock():
    env = FixedEnv(1_767_268_800_000)
    storage = MemoryStorage(env=env)
    with StorageLock(storage=storage, env=env).hold():
        held = storage.get(STORAGE_LOCK_PATH)
    return "\n".join([STORAGE_LOCK_PATH, held.decode(), storage.get(STORAGE_LOCK_PATH).decode()])


def file_lock():
    """Return the filesystem lock's file, with the name of a process that is always the same."""
    storage, env = MemoryStorage(), FixedEnv(1_767_268_800_000)
    with FileLock(table=storage, storage=storage, path=HUDI_LOCK_PATH, env=env).hold():
        return f"{HUDI_LOCK_PATH}\n{storage.get(HUDI_LOCK_PATH).decode().replace(process_name(), 'host/4711')}"


def keys():
    """Return keys and paths of rows with the values that are spelled in a way of their own."""
    ids, lines = ["a,b", None, ""], [1, 2, 3]
    cities = ["a b/c:d%", "Zürich=1", None]
    spec = KeySpec(
        generator=KeyGenerator.COMPLEX,
        record_key=("id", "line"),
        partition=(PartitionField(name="city"),),
        is_hive_style=True,
        is_url_encoded=True,
    )
    made = keys_and_paths(spec, pa.table({"id": ids, "line": lines, "city": cities}))
    given = [f"{'null' if id is None else id or '(empty)'} / {line}" for id, line in zip(ids, lines, strict=True)]
    spelled = zip(given, *(column.to_pylist() for column in made), strict=True)
    return "\n".join(f"{row:<18} {key:<21} {path}" for row, key, path in spelled)


def buckets():
    one = ["1", "334e26e9-8355-45cc-97c6-c31daf0df330"]
    first, last = bucket_of(pa.array(one), ["id"], ["id"], 8).to_pylist()
    (middle,) = bucket_of(pa.array(["id:a,line:b"]), ["id", "line"], ["id", "line"], 8).to_pylist()
    found = [(one[0], first), ("id:a,line:b", middle), (one[1], last)]
    return "\n".join(f"{key:<38} {bucket}" for key, bucket in found)


def golden_history(folder):
    """Unpack a golden table that has a history, and say where that is."""
    (golden,) = [table for table in kept_tables() if table.name == "cow_archived-v9"]
    return golden.unpack(folder) / ".hoodie" / "timeline" / "history"


def manifest():
    with tempfile.TemporaryDirectory() as folder:
        history = golden_history(Path(folder))
        return (history / f"manifest_{(history / '_version_').read_text()}").read_text()


def history_columns():
    notes = {
        "instantTime": "requested time",
        "metadata": "the completed file",
        "plan": "the requested file, where it has a plan",
        "version": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        schema = pq.read_schema(max(golden_history(Path(folder)).glob("*_1.parquet"))).remove_metadata()
    shown = zip(str(schema).splitlines(), schema.names, strict=True)
    return "\n".join(f"{line:<30} {notes.get(name, '')}" for line, name in shown)


def slots():
    """Return the slots of a commit and of a rollback."""
    state = new_state(env=FixedEnv(1_767_268_800_000))
    state = remember_fence(state, Settings({"pyhudi.fence": "on"}))
    fence_of(state).claim_commit(".hoodie/timeline/20260101120000001_20260101120000905.commit", b"Obj\x01")
    Fence(state=state, number=1).claim_rollback(START, "20260101120000950")
    found = state.storage.list(SLOTS)
    return "\n".join(f"{one.path}\n{state.storage.get(one.path).decode()}" for one in found)


AVRO_SCHEMA = """{"type": "record", "name": "R", "fields": [
  {"name": "key", "type": "string"},
  {"name": "bound", "type": ["null",
    {"type": "record", "name": "IntWrapper", "fields": [{"name": "value", "type": "int"}]},
    {"type": "record", "name": "StringWrapper", "fields": [{"name": "value", "type": "string"}]}]},
  {"name": "sizes", "type": {"type": "map", "values": "long"}}]}"""
AVRO_ROWS = [
    {"key": "a", "bound": {"IntWrapper": {"value": -2}, "StringWrapper": None}, "sizes": []},
    {"key": "b", "bound": {"IntWrapper": None, "StringWrapper": {"value": "oslo"}}, "sizes": [("x", 300), ("y", 1)]},
]


def avro_rows() -> pa.LargeBinaryArray:
    types = decode_rows(pa.array([], pa.binary()), AVRO_SCHEMA).schema
    return encode_rows(pa.RecordBatch.from_pylist(AVRO_ROWS, types), AVRO_SCHEMA)


EXAMPLES = {
    "properties": properties,
    "instant-names": names,
    "commit-json": lambda: encode_commit(COMMIT, 1, NONCE).decode(),
    "commit-avro": lambda: hexdump(block_of(encode_commit(COMMIT, 2, NONCE))),
    "commit-avro-header": lambda: hexdump(encode_commit(COMMIT, 2, NONCE)[:48]),
    "requested-replace": lambda: hexdump(block_of(encode_requested_replace(NONCE))),
    "base-file-name": lambda: f"{PATH}\n{bucket_file_id(3, FILE_ID[:-2])}",
    "meta-columns": lambda: "\n".join(
        f"{name:<24} {value}"
        for name, value in zip(META_FIELDS, (START, seqno(START, 0, 1, 1)[0], "b", "city=oslo", NAME), strict=True)
    ),
    "footer": footer,
    "bloom-simple": lambda: hexdump(_raw(BLOOM)),
    "bloom-dynamic": lambda: hexdump(_raw(DYNAMIC)),
    "log-rollback": lambda: hexdump(encode_blocks([rollback_block(DONE, START)])),
    "avro-schema": lambda: AVRO_SCHEMA,
    "avro-rows": lambda: hexdump(b"".join(avro_rows().to_pylist())),
    "hfile": lambda: hexdump(HFILE[:-4].rstrip(b"\0")),
    "partition-metadata": lambda: _partition().decode().rstrip("\n"),
    "markers": lambda: "\n".join(marker_path(START, PATH, kind) for kind in ("CREATE", "MERGE")),
    "heartbeat": lambda: heartbeat_path(START),
    "storage-lock": lock,
    "filesystem-lock": file_lock,
    "fence": slots,
    "keys": keys,
    "buckets": buckets,
    "history-manifest": manifest,
    "history-columns": history_columns,
    "rollback-plan": lambda: hexdump(block_of(encode_rollback_plan(PLAN, NONCE))),
    "rollback-metadata": lambda: hexdump(block_of(encode_rollback_metadata(ROLLBACK, NONCE))),
    "savepoint-metadata": lambda: hexdump(block_of(encode_savepoint(SAVEPOINT, NONCE))),
    "restore-plan": lambda: hexdump(block_of(encode_restore_plan(RESTORE_PLAN, NONCE))),
    "restore-metadata": lambda: hexdump(block_of(encode_restore_metadata(RESTORE, NONCE))),
}


def _raw(bloom):
    return base64.b64decode(encode_bloom(bloom))


def _partition():
    return encode_partition_metadata(PartitionPath("city=oslo"), START, java_date(1_767_268_800_001, UTC))


def written():
    """Return the examples of all pages by name."""
    found = [match for page in sorted(PAGES.glob("*.md")) for match in FENCE.findall(page.read_text())]
    assert len({name for name, _ in found}) == len(found)
    return {name: text.rstrip("\n") for name, text in found}


def test_every_example_is_checked():
    assert written().keys() == EXAMPLES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_what_the_codec_writes(name):
    shown = [line.rstrip() for line in written()[name].splitlines()]
    assert shown == [line.rstrip() for line in EXAMPLES[name]().splitlines()]


def test_every_page_is_linked():
    index = (PAGES / "index.md").read_text()
    assert all(f"({page.name})" in index for page in PAGES.glob("*.md") if page.name != "index.md")


def test_the_text_examples_are_read_back():
    shown = written()
    assert parse_properties(shown["properties"].encode())["hoodie.table.create.schema"].endswith('"å"}')
    commit = decode_commit(shown["commit-json"].encode(), "x")
    assert (commit.operation, commit.stats["city=oslo"][0].path) == (WriteOperation.UPSERT, PATH)
    assert parse_properties(shown["partition-metadata"].encode()) == {"commitTime": START, "partitionDepth": "1"}
    assert [parse_name(name).state for line in shown["instant-names"].splitlines()[:3] for name in line.split()] == [
        state for state in (State.REQUESTED, State.INFLIGHT, State.COMPLETED) for _ in range(2)
    ]
    assert shown["markers"].splitlines() == [marker_path(START, PATH, kind) for kind in ("CREATE", "MERGE")]
    name = shown["base-file-name"].splitlines()[0].split("/")[1]
    file = parse_base_file(PartitionPath("city=oslo"), FileStatus(path=name, size_bytes=0, modified_ms=0))
    assert (file.file_id, file.write_token, file.instant) == (FILE_ID, "0-0-0", START)


def test_the_binary_examples_are_read_back():
    shown = written()
    assert decode_rows(avro_rows(), shown["avro-schema"]).to_pylist() == AVRO_ROWS

    def whole(container, name):
        head = container[: container.index(NONCE) + len(NONCE)]
        return head + bytes_of(shown[name])

    assert decode_commit(whole(encode_commit(COMMIT, 2, NONCE), "commit-avro"), "x").stats == COMMIT.stats
    assert decode_rollback_plan(whole(encode_rollback_plan(PLAN, NONCE), "rollback-plan"), "x") == PLAN
    found = decode_rollback_metadata(whole(encode_rollback_metadata(ROLLBACK, NONCE), "rollback-metadata"), "x")
    assert found == ROLLBACK
    assert decode_savepoint(whole(encode_savepoint(SAVEPOINT, NONCE), "savepoint-metadata"), "x") == SAVEPOINT
    assert decode_restore_plan(whole(encode_restore_plan(RESTORE_PLAN, NONCE), "restore-plan"), "x") == RESTORE_PLAN
    assert decode_restore_metadata(whole(encode_restore_metadata(RESTORE, NONCE), "restore-metadata"), "x") == RESTORE
    log = bytes_of(shown["log-rollback"])
    (block,) = read_blocks(lambda offset, length: log[offset : offset + length], len(log))
    assert (block.command, block.header(HeaderKey.TARGET_INSTANT_TIME)) == (Command.ROLLBACK, START)
    hfile = bytes_of(shown["hfile"])
    hfile = hfile.ljust(len(HFILE) - 4, b"\0") + HFILE[-4:]
    assert open_hfile(lambda at, length: hfile[at : at + length], len(hfile)).lookup([b"b"])["value"][0].as_py() == b"2"
    for name, kind in (("bloom-simple", "SIMPLE"), ("bloom-dynamic", "DYNAMIC_V0")):
        bloom = decode_bloom(base64.b64encode(bytes_of(shown[name])), kind)
        assert might_contain(bloom, KEYS).to_pylist() == [True, True]
        assert might_contain(bloom, pa.array(["c"])).to_pylist() == [False]


def test_the_footer_example_is_read_back():
    entries = dict(line.split(" = ", 1) for line in written()["footer"].splitlines())
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, pa.schema([("x", pa.int64())])) as writer:
        writer.add_key_value_metadata(entries)
    found = base_file_footer(read_footer(pa.BufferReader(sink.getvalue())).key_values)
    assert (found.min_key, found.max_key, found.bloom_type) == ("a", "b", "")
    assert might_contain(found.bloom(), KEYS).to_pylist() == [True, True]

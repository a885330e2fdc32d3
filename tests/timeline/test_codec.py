import io
import json
import re
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import CorruptData
from pyhudi.timeline.codec import (
    decode_commit,
    decode_plan,
    decode_rollback_metadata,
    decode_rollback_plan,
    encode_commit,
    encode_requested_replace,
    encode_rollback_metadata,
    encode_rollback_plan,
    is_clustering_plan,
)
from pyhudi.timeline.codec.restore import (
    decode_restore_metadata,
    decode_restore_plan,
    decode_savepoint,
    encode_restore_metadata,
    encode_restore_plan,
    encode_savepoint,
)
from pyhudi.timeline.codec.schemas import REPLACE_COMMIT_METADATA
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.timeline.restore import RestoreMetadata, RestorePlan, SavepointMetadata
from pyhudi.timeline.rollback import RollbackMetadata, RollbackPartition, RollbackPlan, RollbackRequest

NONCE = bytes(range(16))
DOCUMENTED = Path(__file__).parent / "version_6_commit.json"
DOCUMENTED_INFLIGHT = Path(__file__).parent / "version_6_inflight.json"

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_numbers = st.none() | st.integers(-(2**62), 2**62)
_small = st.none() | st.integers(0, 2**31 - 1)
_maybe_text = st.none() | _texts
_SPECIAL = {
    "file_id": _maybe_text,
    "path": _maybe_text,
    "prev_commit": _maybe_text,
    "temp_path": _maybe_text,
    "partition_path": _maybe_text,
    "prev_base_file": _maybe_text,
    "base_file": _maybe_text,
    "log_files": st.none() | st.lists(_texts, max_size=2).map(tuple),
    "log_version": _small,
    "cdc_stats": st.none() | st.dictionaries(_texts, st.integers(0, 9), max_size=2),
    "scan_time_ms": st.integers(0, 9),
    "upsert_time_ms": st.integers(0, 9),
    "create_time_ms": st.integers(0, 9),
}
_stats = st.builds(WriteStat, **{one.name: _SPECIAL.get(one.name, _numbers) for one in fields(WriteStat)})
_metadata = st.builds(
    CommitMetadata,
    operation=st.none() | st.sampled_from(WriteOperation),
    stats=st.dictionaries(_texts, st.lists(_stats, max_size=2).map(tuple), max_size=2),
    extra=st.dictionaries(_texts, _texts, max_size=2),
    compacted=st.booleans(),
    replaced=st.none() | st.dictionaries(_texts, st.lists(_texts, max_size=2).map(tuple), max_size=2),
)
LOG_ONLY = {"log_version", "log_offset", "base_file", "log_files"}
AVRO_ONLY = {"total_log_files", "prev_base_file", "total_log_read_time_ms", "num_updates"}


def stat(bucket: int, file_id: str, partition: str, rows: int, size: int, ms: int) -> WriteStat:
    return WriteStat(
        file_id=file_id,
        path=f"{partition}/{file_id}_{bucket}-13-{227 + bucket}_20250928205430030.parquet",
        num_writes=rows,
        num_inserts=rows,
        total_write_bytes=size,
        partition_path=partition,
        file_size_in_bytes=size,
        create_time_ms=ms,
    )


def documented() -> CommitMetadata:
    listed = [
        ("527cfaf3-4a58-417a-be66-babb7888bab4-0", "city=san_francisco", 4, 436250, 767),
        ("66f47ad1-8d7a-47ff-9751-113e02362905-0", "city=sao_paulo", 2, 436088, 1181),
        ("429ecf72-48b4-43c4-bfd0-c84f4c34baf7-0", "city=chennai", 2, 436068, 517),
    ]
    columns = ["ts", "uuid", "rider", "driver", "fare", "city"]
    kinds = {"ts": "long", "fare": "double"}
    schema = {
        "type": "record",
        "name": "spark_hudi_table_record",
        "namespace": "hoodie.spark_hudi_table",
        "fields": [{"name": name, "type": ["null", kinds.get(name, "string")], "default": None} for name in columns],
    }
    return CommitMetadata(
        operation=WriteOperation.INSERT,
        stats={one[1]: (stat(at, *one),) for at, one in enumerate(listed)},
        extra={"schema": json.dumps(schema, separators=(",", ":"))},
    )


def documented_inflight() -> CommitMetadata:
    rows = {"city=san_francisco": 4, "city=sao_paulo": 2, "city=chennai": 2}
    return CommitMetadata(
        operation=WriteOperation.INSERT,
        stats={name: (WriteStat(file_id="", path=None, num_inserts=count),) for name, count in rows.items()},
    )


def test_the_documents_commit_is_reproduced_byte_for_byte():
    assert encode_commit(documented(), 1) == DOCUMENTED.read_bytes()


def test_the_documents_inflight_is_reproduced_byte_for_byte():
    assert encode_commit(documented_inflight(), 1) == DOCUMENTED_INFLIGHT.read_bytes()


def test_the_documents_commit_reads_back_as_its_values():
    assert decode_commit(DOCUMENTED.read_bytes(), "x") == without(with_zero_times(documented()), AVRO_ONLY)


def test_json_of_a_log_write_has_the_log_keys_in_hudis_order():
    logs = WriteStat(
        file_id="a-0", path="p", log_files=(".a-0_1.log.1_0-1-0",), log_version=1, log_offset=0, base_file="b"
    )
    text = encode_commit(CommitMetadata(operation=None, stats={"": (logs,)}), 1).decode()
    keys = re.findall(r'"(\w+)" :', text)
    assert keys[keys.index("runtimeStats") + 1 :][:5] == [
        "logVersion",
        "logOffset",
        "baseFile",
        "logFiles",
        "recordsStats",
    ]
    assert '"logFiles" : [ ".a-0_1.log.1_0-1-0" ]' in text


@given(_metadata)
def test_avro_gives_back_what_it_was_given(metadata):
    data = encode_commit(metadata, 2, NONCE)
    read = decode_commit(data, "x")
    assert read == with_zero_times(metadata)


@given(_metadata)
def test_json_gives_back_all_but_the_fields_it_has_not(metadata):
    wanted = without(with_zero_times(metadata), AVRO_ONLY)
    wanted = replace(wanted, stats={name: tuple(map(_without_logs, listed)) for name, listed in wanted.stats.items()})
    assert decode_commit(encode_commit(metadata, 1), "x") == wanted


def _without_logs(one: WriteStat) -> WriteStat:
    return one if one.log_files is not None else replace(one, **dict.fromkeys(LOG_ONLY))


def without(metadata: CommitMetadata, names: set[str]) -> CommitMetadata:
    nothing = dict.fromkeys(names)
    return replace(
        metadata,
        stats={part: tuple(replace(one, **nothing) for one in listed) for part, listed in metadata.stats.items()},
    )


def with_zero_times(metadata: CommitMetadata) -> CommitMetadata:
    def one(stat: WriteStat) -> WriteStat:
        times = {
            "scan_time_ms": stat.scan_time_ms,
            "upsert_time_ms": stat.upsert_time_ms,
            "create_time_ms": stat.create_time_ms,
        }
        if all(value is None for value in times.values()):
            return stat
        return replace(stat, **{name: value or 0 for name, value in times.items()})

    return replace(metadata, stats={part: tuple(map(one, listed)) for part, listed in metadata.stats.items()})


def test_a_nonce_in_json_is_an_extra_entry():
    data = encode_commit(documented(), 1, NONCE)
    assert decode_commit(data, "x").extra["pyhudi.nonce"] == NONCE.hex()


def test_avro_is_javas_shape():
    data = encode_commit(replace(documented(), replaced={"city=x": ("a-0",)}), 2, NONCE)
    reader = fastavro.reader(io.BytesIO(data))
    record = next(reader)
    schema = json.loads(reader.metadata["avro.schema"])
    assert list(reader.metadata) == ["avro.schema"]
    assert schema["name"] == "HoodieReplaceCommitMetadata"
    assert [one["name"] for one in schema["fields"]] == [
        "partitionToWriteStats", "compacted", "extraMetadata", "version", "operationType", "partitionToReplaceFileIds",
    ]  # fmt: skip
    assert record["version"] is None
    assert record["partitionToWriteStats"]["city=chennai"][0]["totalLogFiles"] is None
    assert data.endswith(NONCE)
    assert '{"type":"map","values":{"type":"array"' in reader.metadata["avro.schema"].replace(" ", "")


def test_write_stats_have_hudis_field_order():
    stats = REPLACE_COMMIT_METADATA["fields"][0]["type"][1]["values"]["items"]["fields"]
    names = [one["name"] for one in stats]
    assert names[16:21] == ["fileSizeInBytes", "logVersion", "logOffset", "baseFile", "logFiles"]
    assert (len(names), names[0], names[25], names[30]) == (31, "fileId", "runtimeStats", "numUpdates")


@pytest.mark.parametrize("decode", [decode_commit, decode_plan, decode_rollback_metadata, decode_rollback_plan])
def test_an_empty_file_is_corrupt_by_name(decode):
    with pytest.raises(CorruptData, match="empty") as refused:
        decode(b"", "20250101000000000.replacecommit")
    assert refused.value.values["file"] == "20250101000000000.replacecommit"


def test_unknown_keys_and_operations_are_borne():
    data = (
        b'{"partitionToWriteStats": {"p": [{"fileId": "f", "new": {"x": 1}}]}, "operationType": "TELEPORT", "more": 1}'
    )
    read = decode_commit(data, "x")
    assert read.operation is WriteOperation.UNKNOWN
    assert read.stats["p"][0].file_id == "f"


@pytest.mark.parametrize(
    "data",
    [b"x", b"{", b"[]", b"null", b"Obj\x01", b"\xff\xfe", b'{"partitionToWriteStats": 3}', b"[" * 100_000,
     b'{"partitionToWriteStats": {"p": {}}}', b'{"partitionToWriteStats": {"p": [3]}}', b'{"extraMetadata": [1]}',
     b'{"partitionToWriteStats": {"p": [{"numWrites": "many"}]}}', b'{"partitionToReplaceFileIds": {"p": [1]}}'],
)  # fmt: skip
def test_hostile_bytes_name_the_file(data):
    with pytest.raises(CorruptData, match=r"20250101000000000\.commit"):
        decode_commit(data, ".hoodie/20250101000000000.commit")


@given(st.integers(0, 600), st.binary(min_size=1, max_size=3))
def test_damaged_files_are_read_or_refused_never_more(at, noise):
    data = bytearray(encode_commit(documented_inflight(), 2, NONCE))
    data[at : at + len(noise)] = noise
    with suppress(CorruptData):
        decode_commit(bytes(data), "x")


def test_the_request_of_a_replacement_is_a_record_of_nulls():
    data = encode_requested_replace(NONCE)
    assert data[-17 - 4 : -16] == bytes([8, 0, 0, 0, 2])
    plan = decode_plan(data, "x")
    assert set(plan.values()) == {None}
    assert not is_clustering_plan(plan)
    assert is_clustering_plan({"operationType": "CLUSTER"})


def test_rollbacks_read_back_as_they_were_written():
    plan = RollbackPlan(
        instant="20250101000000000",
        action="commit",
        requests=(
            RollbackRequest(partition_path="p", files_to_delete=("/t/p/a.parquet",)),
            RollbackRequest(partition_path="q", file_id="f", latest_base_instant="1", log_blocks_to_delete={"x": 5}),
        ),
    )
    assert decode_rollback_plan(encode_rollback_plan(plan, NONCE), "x") == plan
    done = RollbackMetadata(
        start_time="20250101000000001",
        time_taken_ms=7,
        rolled_back=(("20250101000000000", "commit"),),
        partitions={"p": RollbackPartition(partition_path="p", deleted=("/t/p/a.parquet",), failed=("b",))},
    )
    data = encode_rollback_metadata(done, NONCE)
    assert decode_rollback_metadata(data, "x") == done
    assert decode_plan(data, "x")["totalFilesDeleted"] == 1


def test_savepoints_and_restores_read_back_as_they_were_written():
    kept = SavepointMetadata(at_ms=1_795_255_920_544, files={"p": ("a", ".b.log.1"), "": ("c",)}, by="me", comment="it")
    assert decode_savepoint(encode_savepoint(kept, NONCE), "x") == kept
    first, second = ("20250101000000000", "commit"), ("20250102000000000", "replacecommit")
    plan = RestorePlan(instants=(second, first), target="20240101000000000")
    assert decode_restore_plan(encode_restore_plan(plan, NONCE), "x") == plan
    rollback = RollbackMetadata(start_time="20250103000000000", time_taken_ms=1, rolled_back=(first,))
    done = RestoreMetadata(
        start_time="20250103000000000", time_taken_ms=7, instants=(second, first), rollbacks={first[0]: (rollback,)}
    )
    assert decode_restore_metadata(encode_restore_metadata(done, NONCE), "x") == done


@pytest.mark.parametrize(
    "data", [b"", b'{"instantsToRollback": 1, "partitionMetadata": 1}', b'{"instantsToRollback": [1]}']
)
def test_restores_that_are_none_are_corrupt(data):
    for decode in (decode_restore_plan, decode_restore_metadata):
        with pytest.raises(CorruptData, match="x"):
            decode(data, "x")


@pytest.mark.parametrize("data", [b"", b'{"partitionMetadata": 1}', b'{"partitionMetadata": {"p": {}}}'])
def test_a_savepoint_that_is_none_is_corrupt(data):
    with pytest.raises(CorruptData, match="x"):
        decode_savepoint(data, "x")


@pytest.mark.parametrize("data", [b"", b"{}", encode_requested_replace(NONCE)])
def test_a_rollback_without_its_plan_is_corrupt(data):
    with pytest.raises(CorruptData):
        decode_rollback_plan(data, "x")

"""Commit metadata to bytes and back: pretty JSON in timeline layout 1, an Avro container in layout 2.

Reading looks at the first bytes, not at the layout: upgraded tables mix both. Hostile bytes are `CorruptData` naming
the instant's file. Start at `encode_commit` and `decode_commit`.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from pyhudi.errors import CorruptData
from pyhudi.formats.avro import decode_container, encode_container
from pyhudi.schema.json_text import parse_json
from pyhudi.timeline.codec.schemas import COMMIT_METADATA, REPLACE_COMMIT_METADATA
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat

__all__ = ["AVRO_MAGIC", "NONCE_KEY", "decode_commit", "encode_commit", "encode_profile", "read_record"]

AVRO_MAGIC: Final = b"Obj\x01"
NONCE_KEY: Final = "pyhudi.nonce"
"""Layout 1: the extraMetadata key that makes a commit's bytes one writer's own."""

_MOST_BITS: Final = 63
_T = TypeVar("_T")

_STAT_FIELDS: Final = {
    "fileId": "file_id",
    "path": "path",
    "cdcStats": "cdc_stats",
    "prevCommit": "prev_commit",
    "numWrites": "num_writes",
    "numDeletes": "num_deletes",
    "numUpdateWrites": "num_update_writes",
    "numInserts": "num_inserts",
    "totalWriteBytes": "total_write_bytes",
    "totalWriteErrors": "total_write_errors",
    "tempPath": "temp_path",
    "partitionPath": "partition_path",
    "totalLogRecords": "total_log_records",
    "totalLogFilesCompacted": "total_log_files_compacted",
    "totalLogSizeCompacted": "total_log_size_compacted",
    "totalUpdatedRecordsCompacted": "total_updated_records_compacted",
    "totalLogBlocks": "total_log_blocks",
    "totalCorruptLogBlock": "total_corrupt_log_block",
    "totalRollbackBlocks": "total_rollback_blocks",
    "fileSizeInBytes": "file_size_in_bytes",
    "minEventTime": "min_event_time",
    "maxEventTime": "max_event_time",
}
"""By the name on disk, in the key order of the JSON."""
_LOG_FIELDS: Final = {"logVersion": "log_version", "logOffset": "log_offset", "baseFile": "base_file"}
_AVRO_ONLY: Final = {
    "totalLogFiles": "total_log_files",
    "prevBaseFile": "prev_base_file",
    "totalLogReadTimeMs": "total_log_read_time_ms",
    "numUpdates": "num_updates",
}
_RUNTIME: Final = {
    "totalScanTime": "scan_time_ms",
    "totalUpsertTime": "upsert_time_ms",
    "totalCreateTime": "create_time_ms",
}
_TEXTS: Final = frozenset({"fileId", "path", "prevCommit", "tempPath", "partitionPath", "baseFile", "prevBaseFile"})
_SCALARS: Final = {**_STAT_FIELDS, **_LOG_FIELDS, **_AVRO_ONLY}


def encode_commit(metadata: CommitMetadata, timeline_layout: int, nonce: bytes = b"") -> bytes:
    """Format commit or replace metadata for a completed or inflight file.

    `nonce` is 16 bytes that no other writer draws: the container's sync marker, or in layout 1 a key of extraMetadata
    (left out where empty, as in inflight files).

    Bytes:  layout 1: Jackson's pretty JSON. Layout 2: one Avro record; `version` and `totalLogFiles` are null.
    Spec:   format/timeline 2.4, 2.5, 3.1-3.3.
    """
    if timeline_layout == 1:
        return _pretty(_to_json(metadata, nonce)).encode()
    schema = COMMIT_METADATA if metadata.replaced is None else REPLACE_COMMIT_METADATA
    return encode_container(schema, _to_record(metadata), nonce)


def encode_profile(profile: CommitMetadata | None, timeline_layout: int, nonce: bytes) -> bytes:
    """Format what an inflight file holds; None leaves it empty. In layout 1 only completed files have room for a nonce.

    Bytes: as `encode_commit`.
    """
    return b"" if profile is None else encode_commit(profile, timeline_layout, nonce if timeline_layout > 1 else b"")


def decode_commit(data: bytes, file_name: str) -> CommitMetadata:
    """Read commit or replace metadata of either layout.

    Raises: CorruptData naming `file_name`, also for an empty file: its writer died before it was whole.
    """
    record = read_record(data, file_name)
    try:
        return _from_record(record)
    except (TypeError, ValueError, AttributeError) as error:
        raise CorruptData("this instant's metadata is not commit metadata", file=file_name) from error


def read_record(data: bytes, file_name: str) -> dict[str, Any]:
    """Read the one record of an instant's file, JSON or Avro, by the schema that it brings along.

    Raises: CorruptData naming `file_name`.
    """
    if not data:
        raise CorruptData("this instant's file is empty; restore it, or roll the instant back", file=file_name)
    if not data.startswith(AVRO_MAGIC):
        return _parse_json(data, file_name)
    try:
        record, _, _ = decode_container(data)
    except CorruptData as error:
        raise CorruptData(f"this instant's file cannot be read: {error.message}", file=file_name) from error
    if not isinstance(record, dict):
        raise CorruptData("this instant's file holds no record", file=file_name)
    return record


def _parse_json(data: bytes, file_name: str) -> dict[str, Any]:
    try:
        record = parse_json(data)
    except CorruptData as error:
        raise CorruptData("this instant's file is neither JSON nor Avro", file=file_name) from error
    if not isinstance(record, dict):
        raise CorruptData("this instant's file holds no JSON object", file=file_name)
    return record


def _to_json(metadata: CommitMetadata, nonce: bytes) -> dict[str, Any]:
    extra = dict(metadata.extra)
    if nonce:
        extra[NONCE_KEY] = nonce.hex()
    spelled: dict[str, Any] = {
        "partitionToWriteStats": {
            partition: [_stat_to_json(stat) for stat in stats] for partition, stats in metadata.stats.items()
        },
        "compacted": metadata.compacted,
        "extraMetadata": extra,
        "operationType": metadata.operation,
    }
    if metadata.replaced is not None:
        spelled["partitionToReplaceFileIds"] = {name: list(ids) for name, ids in metadata.replaced.items()}
    return spelled


def _stat_to_json(stat: WriteStat) -> dict[str, Any]:
    spelled = {name: getattr(stat, own) for name, own in _STAT_FIELDS.items()}
    spelled["cdcStats"] = dict(stat.cdc_stats) if stat.cdc_stats is not None else None
    spelled["runtimeStats"] = _runtime(stat)
    if stat.log_files is not None:
        spelled.update({name: getattr(stat, own) for name, own in _LOG_FIELDS.items()})
        spelled["logFiles"] = list(stat.log_files)
        spelled["recordsStats"] = {"val": None}
    return spelled


def _to_record(metadata: CommitMetadata) -> dict[str, Any]:
    record: dict[str, Any] = {
        "partitionToWriteStats": {
            partition: [_stat_to_record(stat) for stat in stats] for partition, stats in metadata.stats.items()
        },
        "compacted": metadata.compacted,
        "extraMetadata": dict(metadata.extra),
        "version": None,
        "operationType": str(metadata.operation) if metadata.operation is not None else None,
    }
    if metadata.replaced is not None:
        record["partitionToReplaceFileIds"] = {name: list(ids) for name, ids in metadata.replaced.items()}
    return record


def _stat_to_record(stat: WriteStat) -> dict[str, Any]:
    record = {name: getattr(stat, own) for name, own in _SCALARS.items()}
    record["cdcStats"] = dict(stat.cdc_stats) if stat.cdc_stats is not None else None
    record["logFiles"] = list(stat.log_files) if stat.log_files is not None else None
    record["runtimeStats"] = _runtime(stat)
    return record


def _runtime(stat: WriteStat) -> dict[str, int | None] | None:
    """Format the three times; those not taken are 0 beside one that was."""
    times = {name: getattr(stat, own) for name, own in _RUNTIME.items()}
    if all(value is None for value in times.values()):
        return None
    return {name: value or 0 for name, value in times.items()}


def _from_record(record: Mapping[str, Any]) -> CommitMetadata:
    stats = _mapping(record.get("partitionToWriteStats"))
    replaced = record.get("partitionToReplaceFileIds")
    operation = record.get("operationType")
    return CommitMetadata(
        operation=_operation(operation),
        stats={_text(partition): tuple(map(_stat, _sequence(listed))) for partition, listed in stats.items()},
        extra={
            _text(key): _text(value)
            for key, value in _mapping(record.get("extraMetadata")).items()
            if value is not None
        },
        compacted=bool(record.get("compacted")),
        replaced=None
        if replaced is None
        else {_text(name): tuple(map(_text, _sequence(ids))) for name, ids in _mapping(replaced).items()},
    )


def _operation(text: object) -> WriteOperation | None:
    if text is None:
        return None
    named = str(text).upper()
    return WriteOperation(named) if named in WriteOperation.__members__ else WriteOperation.UNKNOWN


def _stat(record: object) -> WriteStat:
    found = _mapping(record)
    values: dict[str, Any] = {
        own: _typed(found.get(name), _text if name in _TEXTS else _number)
        for name, own in _SCALARS.items()
        if name != "cdcStats"
    }
    runtime = _mapping(found.get("runtimeStats"))
    values |= {own: _typed(runtime.get(name), _number) for name, own in _RUNTIME.items()}
    logs, cdc = found.get("logFiles"), found.get("cdcStats")
    return WriteStat(
        **values,
        log_files=None if logs is None else tuple(map(_text, _sequence(logs))),
        cdc_stats=None if cdc is None else {_text(key): _number(value) for key, value in _mapping(cdc).items()},
    )


def _typed(value: object, check: Callable[[object], _T]) -> _T | None:
    return None if value is None else check(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("expected text")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value.bit_length() > _MOST_BITS:
        raise TypeError("expected a number of 64 bits")
    return value


def _mapping(value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError("expected a map")
    return value


def _sequence(value: object) -> Iterable[Any]:
    if not isinstance(value, list | tuple):
        raise TypeError("expected an array")
    return value


def _pretty(value: object, indent: str = "") -> str:
    """Print JSON as Jackson's default pretty printer does: objects over lines, arrays inside one."""
    if isinstance(value, dict):
        if not value:
            return "{ }"
        inner = indent + "  "
        lines = (f"{inner}{_quote(key)} : {_pretty(item, inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list):
        return "[ " + ", ".join(_pretty(item, indent) for item in value) + " ]" if value else "[ ]"
    return _quote(value) if isinstance(value, str) else json.dumps(value)


_quote = json.JSONEncoder(ensure_ascii=False).encode
"""Quote text; Jackson leaves everything beyond ASCII and DEL as it is."""

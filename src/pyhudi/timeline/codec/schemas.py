"""The Avro schemas that Hudi's Java classes embed in the instants we write.

Built from short notations; strings and maps carry `avro.java.string` as Java's do, field docs are left out (readers
resolve by name). Only data: what is written with them is in the modules beside.
"""

from typing import Any, Final

__all__ = [
    "ARCHIVED_ENTRY",
    "CLEAN_METADATA",
    "CLEAN_PLAN",
    "COMMIT_METADATA",
    "COMPACTION_PLAN",
    "INDEX_COMMIT_METADATA",
    "INDEX_PLAN",
    "REPLACE_COMMIT_METADATA",
    "REQUESTED_REPLACE_METADATA",
    "RESTORE_METADATA",
    "RESTORE_PLAN",
    "ROLLBACK_METADATA",
    "ROLLBACK_PLAN",
    "SAVEPOINT_METADATA",
]

Schema = Any
"""Avro schema JSON."""

_TEXT: Final = {"type": "string", "avro.java.string": "String"}
_VERSION: Final = ["int", "null"]


def _map(values: Schema) -> Schema:
    return {"type": "map", "values": values, "avro.java.string": "String"}


def _array(items: Schema, **more: Schema) -> Schema:
    return {"type": "array", "items": items, **more}


def _maybe(name: str, kind: Schema) -> Schema:
    return {"name": name, "type": ["null", kind], "default": None}


def _field(name: str, kind: Schema, **more: Schema) -> Schema:
    return {"name": name, "type": kind, **more}


def _record(name: str, *fields: Schema) -> Schema:
    return {"type": "record", "name": name, "fields": list(fields)}


def _root(record: Schema) -> Schema:
    """Put the namespace where Java spells it: after the name."""
    name = {key: record[key] for key in ("type", "name")}
    return {**name, "namespace": "org.apache.hudi.avro.model", **record}


def _longs(*names: str) -> list[Schema]:
    return [_maybe(name, "long") for name in names]


_WRITE_STAT: Final = _record(
    "HoodieWriteStat",
    *(_maybe(name, _TEXT) for name in ("fileId", "path", "prevCommit")),
    *_longs("numWrites", "numDeletes", "numUpdateWrites", "totalWriteBytes", "totalWriteErrors"),
    _maybe("partitionPath", _TEXT),
    *_longs("totalLogRecords", "totalLogFiles", "totalUpdatedRecordsCompacted", "numInserts", "totalLogBlocks"),
    *_longs("totalCorruptLogBlock", "totalRollbackBlocks", "fileSizeInBytes"),
    _maybe("logVersion", "int"),
    _maybe("logOffset", "long"),
    _maybe("baseFile", _TEXT),
    _maybe("logFiles", _array(_TEXT, default=None)),
    _maybe("cdcStats", {**_map("long"), "default": None}),
    _maybe("prevBaseFile", _TEXT),
    *_longs("minEventTime", "maxEventTime"),
    _maybe(
        "runtimeStats", _record("HoodieRuntimeStats", *_longs("totalScanTime", "totalCreateTime", "totalUpsertTime"))
    ),
    *_longs("totalLogFilesCompacted", "totalLogReadTimeMs", "totalLogSizeCompacted"),
    _maybe("tempPath", _TEXT),
    _maybe("numUpdates", "long"),
)


def _commit_fields(extra: Schema) -> list[Schema]:
    return [
        _maybe("partitionToWriteStats", _map(_array(_WRITE_STAT))),
        _maybe("compacted", "boolean"),
        _maybe("extraMetadata", extra),
        _field("version", _VERSION, default=1),
        _maybe("operationType", _TEXT),
    ]


# Java's schema has a default inside this map, which means nothing there; its sibling has not.
COMMIT_METADATA: Final = _root(_record("HoodieCommitMetadata", *_commit_fields({**_map(_TEXT), "default": None})))
REPLACE_COMMIT_METADATA: Final = _root(
    _record(
        "HoodieReplaceCommitMetadata",
        *_commit_fields(_map(_TEXT)),
        _maybe("partitionToReplaceFileIds", _map(_array(_TEXT))),
    )
)

_SLICE: Final = _record(
    "HoodieSliceInfo",
    _maybe("dataFilePath", _TEXT),
    _maybe("deltaFilePaths", _array(_TEXT)),
    _field("fileId", ["null", _TEXT]),
    _maybe("partitionPath", _TEXT),
    _maybe("bootstrapFilePath", _TEXT),
    _field("version", _VERSION, default=1),
)
_CLUSTERING_GROUP: Final = _record(
    "HoodieClusteringGroup",
    _maybe("slices", _array(_SLICE)),
    _maybe("metrics", _map("double")),
    _field("numOutputFileGroups", _VERSION, default=1),
    _maybe("extraMetadata", _map(_TEXT)),
    _field("version", _VERSION, default=1),
)
_CLUSTERING_STRATEGY: Final = _record(
    "HoodieClusteringStrategy",
    _maybe("strategyClassName", _TEXT),
    _maybe("strategyParams", _map(_TEXT)),
    _field("version", _VERSION, default=1),
)
_CLUSTERING_PLAN: Final = _record(
    "HoodieClusteringPlan",
    _maybe("inputGroups", _array(_CLUSTERING_GROUP)),
    _maybe("strategy", _CLUSTERING_STRATEGY),
    _maybe("extraMetadata", _map(_TEXT)),
    _field("version", _VERSION, default=1),
    _maybe("preserveHoodieMetadata", "boolean"),
    _maybe("missingSchedulePartitions", _array(_TEXT)),
)
_COMPACTION: Final = _record(
    "HoodieCompactionOperation",
    _field("baseInstantTime", ["null", _TEXT]),
    _maybe("deltaFilePaths", _array(_TEXT)),
    _maybe("dataFilePath", _TEXT),
    _field("fileId", ["null", _TEXT]),
    _maybe("partitionPath", _TEXT),
    _maybe("metrics", _map("double")),
    _maybe("bootstrapFilePath", _TEXT),
)
_COMPACTION_STRATEGY: Final = _record(
    "HoodieCompactionStrategy",
    _maybe("compactorClassName", _TEXT),
    _maybe("strategyParams", _map(_TEXT)),
    _field("version", _VERSION, default=1),
)
COMPACTION_PLAN: Final = _root(
    _record(
        "HoodieCompactionPlan",
        _maybe("operations", _array(_COMPACTION)),
        _maybe("extraMetadata", _map(_TEXT)),
        _field("version", _VERSION, default=1),
        _maybe("strategy", _COMPACTION_STRATEGY),
        _field("preserveHoodieMetadata", ["boolean", "null"], default=False),
        _maybe("missingSchedulePartitions", _array(_TEXT)),
    )
)
REQUESTED_REPLACE_METADATA: Final = _root(
    _record(
        "HoodieRequestedReplaceMetadata",
        _maybe("operationType", _TEXT),
        _maybe("clusteringPlan", _CLUSTERING_PLAN),
        _maybe("extraMetadata", _map(_TEXT)),
        _field("version", _VERSION, default=1),
    )
)

_INSTANT_INFO: Final = _record("HoodieInstantInfo", _field("commitTime", _TEXT), _field("action", _TEXT))
ROLLBACK_PLAN: Final = _root(
    _record(
        "HoodieRollbackPlan",
        _maybe("instantToRollback", _INSTANT_INFO),
        _maybe(
            "RollbackRequests",
            _array(
                _record(
                    "HoodieRollbackRequest",
                    _field("partitionPath", _TEXT),
                    _maybe("fileId", _TEXT),
                    _maybe("latestBaseInstant", _TEXT),
                    _field("filesToBeDeleted", _array(_TEXT, default=[]), default=[]),
                    _maybe("logBlocksToBeDeleted", _map("long")),
                )
            ),
        ),
        _field("version", _VERSION, default=1),
    )
)
_ROLLBACK_METADATA: Final = _record(
    "HoodieRollbackMetadata",
    _field("startRollbackTime", _TEXT),
    _field("timeTakenInMillis", "long"),
    _field("totalFilesDeleted", "int"),
    _field("commitsRollback", _array(_TEXT)),
    _field(
        "partitionMetadata",
        _map(
            _record(
                "HoodieRollbackPartitionMetadata",
                _field("partitionPath", _TEXT),
                _field("successDeleteFiles", _array(_TEXT)),
                _field("failedDeleteFiles", _array(_TEXT)),
                _maybe("rollbackLogFiles", _map("long")),
                _maybe("logFilesFromFailedCommit", _map("long")),
            )
        ),
    ),
    _field("version", _VERSION, default=1),
    _field("instantsRollback", _array(_INSTANT_INFO, default=[]), default=[]),
)
ROLLBACK_METADATA: Final = _root(_ROLLBACK_METADATA)

SAVEPOINT_METADATA: Final = _root(
    _record(
        "HoodieSavepointMetadata",
        _field("savepointedBy", _TEXT),
        _field("savepointedAt", "long"),
        _field("comments", _TEXT),
        _field(
            "partitionMetadata",
            _map(
                _record(
                    "HoodieSavepointPartitionMetadata",
                    _field("partitionPath", _TEXT),
                    _field("savepointDataFile", _array(_TEXT)),
                )
            ),
        ),
        _field("version", _VERSION, default=1),
    )
)
RESTORE_PLAN: Final = _root(
    _record(
        "HoodieRestorePlan",
        _field("instantsToRollback", _array(_INSTANT_INFO, default=None), default=[]),
        _field("version", _VERSION, default=2),
        _maybe("savepointToRestoreTimestamp", _TEXT),
    )
)
RESTORE_METADATA: Final = _root(
    _record(
        "HoodieRestoreMetadata",
        _field("startRestoreTime", _TEXT),
        _field("timeTakenInMillis", "long"),
        _field("instantsToRollback", _array(_TEXT)),
        _field("hoodieRestoreMetadata", _map(_array(["null", _ROLLBACK_METADATA], default=None))),
        _field("version", _VERSION, default=1),
        _field("restoreInstantInfo", _array("HoodieInstantInfo", default=None), default=[]),
    )
)

_CLEAN_PARTITION: Final = _record(
    "HoodieCleanPartitionMetadata",
    _field("partitionPath", _TEXT),
    _field("policy", _TEXT),
    *(_field(name, _array(_TEXT)) for name in ("deletePathPatterns", "successDeleteFiles", "failedDeleteFiles")),
    _maybe("isPartitionDeleted", "boolean"),
)
CLEAN_PLAN: Final = _root(
    _record(
        "HoodieCleanerPlan",
        _maybe(
            "earliestInstantToRetain",
            _record("HoodieActionInstant", *(_field(name, _TEXT) for name in ("timestamp", "action", "state"))),
        ),
        _field("lastCompletedCommitTimestamp", _TEXT, default=""),
        _field("policy", _TEXT),
        _maybe("filesToBeDeletedPerPartition", _map(_array(_TEXT))),
        _field("version", _VERSION, default=1),
        _maybe(
            "filePathsToBeDeletedPerPartition",
            _map(
                _array(
                    _record("HoodieCleanFileInfo", _maybe("filePath", _TEXT), _maybe("isBootstrapBaseFile", "boolean"))
                )
            ),
        ),
        _maybe("partitionsToBeDeleted", _array(_TEXT)),
        _maybe("extraMetadata", {**_map(_TEXT), "default": None}),
    )
)
CLEAN_METADATA: Final = _root(
    _record(
        "HoodieCleanMetadata",
        _field("startCleanTime", _TEXT),
        _field("timeTakenInMillis", "long"),
        _field("totalFilesDeleted", "int"),
        _field("earliestCommitToRetain", _TEXT),
        _field("lastCompletedCommitTimestamp", _TEXT, default=""),
        _field("partitionMetadata", _map(_CLEAN_PARTITION)),
        _field("version", _VERSION, default=1),
        _maybe("bootstrapPartitionMetadata", {**_map("HoodieCleanPartitionMetadata"), "default": None}),
        _maybe("extraMetadata", {**_map(_TEXT), "default": None}),
    )
)

_INDEXED: Final = _maybe(
    "indexPartitionInfos",
    _array(
        _record(
            "HoodieIndexPartitionInfo",
            _field("version", _VERSION, default=1),
            *(_maybe(name, _TEXT) for name in ("metadataPartitionPath", "indexUptoInstant")),
            _maybe("extraMetadata", {**_map(_TEXT), "default": None}),
        )
    ),
)
INDEX_PLAN: Final = _root(_record("HoodieIndexPlan", _field("version", _VERSION, default=1), _INDEXED))
INDEX_COMMIT_METADATA: Final = _root(
    _record(
        "HoodieIndexCommitMetadata",
        _field("version", _VERSION, default=1),
        _maybe("operationType", _TEXT),
        _INDEXED,
    )
)

_SAID: Final = {
    "hoodieCommitMetadata": COMMIT_METADATA,
    "hoodieCleanMetadata": CLEAN_METADATA,
    "hoodieRollbackMetadata": ROLLBACK_METADATA,
    "hoodieSavePointMetadata": SAVEPOINT_METADATA,
    "hoodieCompactionPlan": COMPACTION_PLAN,
    "hoodieCleanerPlan": CLEAN_PLAN,
    "hoodieReplaceCommitMetadata": REPLACE_COMMIT_METADATA,
    "hoodieRequestedReplaceMetadata": REQUESTED_REPLACE_METADATA,
    "HoodieInflightReplaceMetadata": COMMIT_METADATA,
}


def _once(kind: Schema, defined: set[str]) -> Schema:
    """Put the name in the place of a definition that was met before: Avro takes one of each."""
    if isinstance(kind, list):
        return [_once(part, defined) for part in kind]
    if not isinstance(kind, dict):
        return kind
    if kind.get("type") == "record":
        if kind["name"] in defined:
            return kind["name"]
        defined.add(kind["name"])
        kept = {key: value for key, value in kind.items() if key != "namespace"}
        return {**kept, "fields": [{**one, "type": _once(one["type"], defined)} for one in kind["fields"]]}
    return {key: _once(value, defined) if key in {"type", "items", "values"} else value for key, value in kind.items()}


# Two fields of Java's are left out, which no instant of layout 1 has; its readers take them for null.
ARCHIVED_ENTRY: Final = _root(
    _once(
        _record(
            "HoodieArchivedMetaEntry",
            *(_maybe(name, _TEXT) for name in ("commitTime", "actionType", "actionState", "stateTransitionTime")),
            _field("version", _VERSION, default=1),
            *(_maybe(name, schema) for name, schema in _SAID.items()),
        ),
        set(),
    )
)

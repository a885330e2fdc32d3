"""The index of a table that does not keep one yet: recognised by its file groups, and kept from its first use on.

Apache Hudi keeps no index in a table's properties. The bucket index alone shows in the names of file groups, and the
stored keys tell how many buckets there are. Start at `unkept_index`, then `remember_index`.

Spec: format/files 9.1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import Final

import pyarrow as pa

from pyhudi.commit.call import WriteCall
from pyhudi.engine.api import KEY, ScanFile
from pyhudi.errors import FileMissing, InvalidInput, NotBuilt, OptionError, WriteConflict
from pyhudi.filegroup.model import BaseFile, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.index.choice import (
    BUCKETS,
    INDEX_TYPE,
    IndexKind,
    index_declaration,
    index_plan,
)
from pyhudi.index.stored_keys import stored_keys
from pyhudi.kernels.bucket import are_buckets, bucket_number, bucket_of, common_divisor
from pyhudi.options import Settings
from pyhudi.state.config import INDEX_KEYS, TableConfig
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.timeline.view import Timeline, completed_writes
from pyhudi.txn.locks import lock_for

__all__ = ["remember_index", "unkept_index", "with_index"]

_OTHER_BUCKETS: Final = ".hoodie/.bucket_index"
"""Where Apache Hudi says of consistent hashing, and of bucket counts that differ by partition."""
_ENOUGH_KEYS: Final = 64
"""So many keys lie right by chance, under a wrong number of buckets, once in 2 ** 64 tables."""
_SAMPLED_KEYS: Final = 1_000


def unkept_index(call: WriteCall, timeline: Timeline, operation: WriteOperation | None = None) -> dict[str, str]:
    """Return the properties that the table should keep of its index and does not; none where they say it already.

    Cost:   nothing for a table that keeps its index; else the newest commit, and for hash buckets the keys of a file.
    Raises: OptionError for options that do not fit the stored file groups; NotBuilt.
    """
    if INDEX_TYPE.key in call.state.config.index:
        return {}
    if not call.state.is_planned and call.state.storage.list(_OTHER_BUCKETS):
        raise NotBuilt(
            "pyhudi does not write consistent hash buckets, or bucket counts that differ by partition, yet; write this "
            "table with Apache Hudi",
            found=_OTHER_BUCKETS,
        )
    files, settings = _newest_files(call.state, timeline), call.settings
    is_replaced = operation is WriteOperation.INSERT_OVERWRITE_TABLE and settings.has(INDEX_TYPE)
    if files and not is_replaced and are_buckets([file.file_id for file in files]):
        return _recognised(call, files)
    plan = index_plan(settings, call.state.config)
    if files and plan.kind is IndexKind.BUCKET:
        if is_replaced:
            return {}  # not before there are buckets
        raise InvalidInput(
            "the table was not written with the bucket index; use the index it was written with, or write it anew "
            "with insert_overwrite_table",
            file_id=files[0].file_id,
        )
    return index_declaration(settings, call.state.config.record_key) if plan.is_binding else {}


def with_index(state: TableState, found: Mapping[str, str]) -> TableState:
    """Return the table as it is once it keeps this index."""
    if not found:
        return state
    return replace(state, config=TableConfig.of({**state.config.properties, **found}))


def remember_index(state: TableState, found: Mapping[str, str], settings: Settings, seen: Timeline) -> TableState:
    """Write the index into the properties of a table that keeps none.

    `seen` is the timeline by which it was chosen. Every commit compares the properties with those its write began with,
    under the same lock, so none with another index can come between.

    Locks:  takes the table lock.
    Raises: WriteConflict where another writer was first; LockNotAcquired.
    """
    if not found:
        return state
    with lock_for(state, settings).hold():
        fresh = open_state(state.storage, state.env)
        if fresh.config.index or load_timeline(fresh).completed.keys() != seen.completed.keys():
            raise WriteConflict("another writer came first as the table was given its index; write again")
        stored = update_properties(state.storage, state.env, found)
        return replace(fresh, config=TableConfig.of(stored))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """Some keys of a file of one bucket."""

    bucket: int
    keys: pa.ChunkedArray


def _recognised(call: WriteCall, files: Sequence[BaseFile | LogFile]) -> dict[str, str]:
    """Return the bucket index that wrote these files; the options tell what the keys cannot.

    Raises: OptionError.
    """
    settings = Settings({key: text for key, text in call.settings.values.items() if key in INDEX_KEYS})
    if settings.get(INDEX_TYPE) != IndexKind.BUCKET and settings.has(INDEX_TYPE):
        raise OptionError(
            "the table's file groups are hash buckets; leave the option out",
            key=INDEX_TYPE.key,
            value=settings.get(INDEX_TYPE),
            file_id=files[0].file_id,
        )
    samples, lowest = _samples(call, files), max(bucket_number(file.file_id) for file in files) + 1
    counted = None if settings.has(BUCKETS) else _count(call, samples, lowest)
    if counted is None and not (settings.has(BUCKETS) or settings.has(INDEX_TYPE)):
        raise OptionError(
            f"the table's file groups are hash buckets, and their keys do not tell how many; give {INDEX_TYPE.key}="
            f"BUCKET and {BUCKETS.key} as the table was written with",
            file_id=files[0].file_id,
        )
    said = settings.over(Settings({INDEX_TYPE.key: IndexKind.BUCKET}))
    found = index_declaration(said.over(Settings({BUCKETS.key: str(counted)})) if counted else said, _key_fields(call))
    _require_fit(call, found, samples, lowest)
    return found


def _require_fit(call: WriteCall, found: Mapping[str, str], samples: Sequence[_Sample], lowest: int) -> None:
    plan = index_plan(Settings(found), call.state.config)
    for one in samples:
        numbers = bucket_of(one.keys, plan.hash_fields, _key_fields(call), plan.buckets_count)
        if numbers.unique().to_pylist() not in ([], [one.bucket]):
            break
    else:
        if plan.buckets_count >= lowest:
            return
    raise OptionError(
        "the table's hash buckets were not written with this number of buckets and these hash fields",
        key=BUCKETS.key,
        value=plan.buckets_count,
        fields=list(plan.hash_fields),
    )


def _count(call: WriteCall, samples: Sequence[_Sample], lowest: int) -> int | None:
    """Return how many buckets the keys were spread over; None where they are too few to tell."""
    fields = index_plan(call.settings, call.state.config).hash_fields
    divisor = gcd(*(common_divisor(one.keys, one.bucket, fields, _key_fields(call)) for one in samples))
    is_told = sum(len(one.keys) for one in samples) >= _ENOUGH_KEYS
    # Keys hashed by other fields have nothing in common, which is right for one bucket alone.
    is_chance = divisor == 1 and len(_key_fields(call)) > 1
    return divisor if is_told and divisor >= lowest and not is_chance else None


def _samples(call: WriteCall, files: Sequence[BaseFile | LogFile]) -> list[_Sample]:
    """Read keys of so many base files as it takes."""
    samples: list[_Sample] = []
    for file in [one for one in files if isinstance(one, BaseFile)]:
        if sum(len(one.keys) for one in samples) >= _SAMPLED_KEYS:
            break
        scanned = ScanFile(path=file.path, size_bytes=file.size_bytes, partition=file.partition)
        try:
            found = stored_keys((0, scanned), storage=call.state.storage, spec=call.keys(), stored=pa.schema([]))
            keys = pa.chunked_array([batch.column(KEY) for batch in found], pa.string())
        except FileMissing:  # replaced and cleaned since
            continue
        samples.append(_Sample(bucket=bucket_number(file.file_id), keys=keys.slice(0, _SAMPLED_KEYS)))
    return samples


def _newest_files(state: TableState, timeline: Timeline) -> list[BaseFile | LogFile]:
    """List the files of the newest commit that wrote any."""
    for instant in sorted(completed_writes(timeline), key=timeline.point, reverse=True):
        stats = read_commit_metadata(state, instant).stats
        named = [(partition, stat) for partition, found in stats.items() for stat in found if stat.path]
        parsed = [
            parse_file(
                PartitionPath(partition),
                FileStatus(path=stat.path or "", size_bytes=stat.file_size_in_bytes or 0, modified_ms=0),
            )
            for partition, stat in named
        ]
        files = [file for file in parsed if file is not None]
        if files:
            return files
    return []


def _key_fields(call: WriteCall) -> tuple[str, ...]:
    return call.state.config.record_key

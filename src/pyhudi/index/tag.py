"""From keys to where they are: which index a write uses, and what it finds.

Every index here works without a metadata table: SIMPLE reads stored keys, BLOOM first leaves out files whose footer
says that none of the keys is there, the GLOBAL kinds look in all partitions. BUCKET needs no look-up: a key's hash
names its file group. Start at `find_keys`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final

import pyarrow as pa

from pyhudi.engine.api import KEY, PARTITION, Engine, Frame, Moves, ScanFile
from pyhudi.filegroup.model import BaseFile
from pyhudi.index.bloom import prune_file
from pyhudi.kernels.keys import KeySpec
from pyhudi.options import Settings, boolean, one_of, option
from pyhudi.predicate import column
from pyhudi.storage.api import Storage

__all__ = ["INDEX_TYPE", "Found", "IndexKind", "IndexPlan", "find_keys", "index_plan"]


class IndexKind(StrEnum):
    """The value of `hoodie.index.type`."""

    SIMPLE = "SIMPLE"
    GLOBAL_SIMPLE = "GLOBAL_SIMPLE"
    BLOOM = "BLOOM"
    GLOBAL_BLOOM = "GLOBAL_BLOOM"
    BUCKET = "BUCKET"


INDEX_TYPE: Final = option("hoodie.index.type", "SIMPLE", "How keys are found.", parse=one_of(*IndexKind))
SIMPLE_MOVES: Final = option(
    "hoodie.simple.index.update.partition.path",
    True,
    "GLOBAL_SIMPLE: a record whose partition changed moves there; false: it is updated where it is.",
    parse=boolean,
)
BLOOM_MOVES: Final = option(
    "hoodie.bloom.index.update.partition.path",
    True,
    "GLOBAL_BLOOM: a record whose partition changed moves there; false: it is updated where it is.",
    parse=boolean,
)
BUCKETS: Final = option("hoodie.bucket.index.num.buckets", 256, "BUCKET: file groups a partition.")
BUCKET_FIELDS: Final = option(
    "hoodie.bucket.index.hash.field", "", "BUCKET: record key fields that are hashed; empty: all of them."
)
_PRUNABLE_KEYS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlan:
    """What the options ask of the index."""

    kind: IndexKind
    is_global: bool
    moves: Moves
    buckets_count: int
    hash_fields: tuple[str, ...]


def index_plan(settings: Settings, key_fields: Sequence[str]) -> IndexPlan:
    """Read the index options."""
    kind = IndexKind(settings.get(INDEX_TYPE))
    is_global = kind in {IndexKind.GLOBAL_SIMPLE, IndexKind.GLOBAL_BLOOM}
    follows = settings.get(SIMPLE_MOVES if kind is IndexKind.GLOBAL_SIMPLE else BLOOM_MOVES)
    moves = Moves.DELETE_AND_INSERT if follows else Moves.KEEP_PARTITION
    fields = settings.get(BUCKET_FIELDS)
    return IndexPlan(
        kind=kind,
        is_global=is_global,
        moves=moves if is_global else Moves.IMPOSSIBLE,
        buckets_count=settings.get(BUCKETS),
        hash_fields=tuple(name.strip() for name in fields.split(",")) if fields else tuple(key_fields),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where keys were found: `frame` as `Engine.locate` gives it, its FILE_INDEX counting `files`."""

    frame: Frame
    files: tuple[BaseFile, ...]


def find_keys(
    *,
    engine: Engine,
    storage: Storage,
    keyed: Frame,
    keys_count: int,
    files: Sequence[BaseFile],
    spec: KeySpec,
    plan: IndexPlan,
    columns: Sequence[str] = (),
) -> Found:
    """Look up which of the files holds which key.

    Cost: reads the key column of the files that may hold a key.
    """
    kept = list(files)
    if plan.kind in {IndexKind.BLOOM, IndexKind.GLOBAL_BLOOM} and keys_count <= _PRUNABLE_KEYS:
        kept = _pruned(engine, storage, keyed, kept, by_partition=not plan.is_global)
    scanned = [_scan_file(file) for file in kept]
    frame = engine.locate(keyed, scanned, spec, by_partition=not plan.is_global, columns=columns)
    return Found(frame=frame, files=tuple(kept))


def _pruned(
    engine: Engine, storage: Storage, keyed: Frame, files: Sequence[BaseFile], *, by_partition: bool
) -> list[BaseFile]:
    """Leave out files that surely hold none of the keys."""
    keys: pa.Table = engine.collect(engine.select(keyed, {name: column(name) for name in (KEY, PARTITION)}))
    prune = partial(prune_file, storage=storage, keys=keys, by_partition=by_partition)
    candidates = engine.run(prune, [_scan_file(file) for file in files])
    return [file for file, is_candidate in zip(files, candidates, strict=True) if is_candidate]


def _scan_file(file: BaseFile) -> ScanFile:
    return ScanFile(path=file.path, size_bytes=file.size_bytes, partition=file.partition)

"""From keys to where they are.

Every index here works without a metadata table: SIMPLE reads stored keys, BLOOM first leaves out files whose footer
says that none of the keys is there, the GLOBAL kinds look in all partitions. BUCKET needs no look-up: a key's hash
names its file group. Start at `find_keys`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pyarrow as pa

from pyhudi.engine.api import KEY, PARTITION, Engine, Frame, ScanFile
from pyhudi.filegroup.model import BaseFile
from pyhudi.index.bloom import prune_file
from pyhudi.index.choice import IndexKind, IndexPlan
from pyhudi.kernels.keys import KeySpec
from pyhudi.predicate import column
from pyhudi.storage.api import Storage

__all__ = ["Found", "find_keys"]


_PRUNABLE_KEYS: Final = 1_000_000


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

"""From keys to where they are.

Every index here works without a metadata table: SIMPLE reads stored keys, BLOOM first leaves out files whose footer
says that none of the keys is there, the GLOBAL kinds look in all partitions. BUCKET needs no look-up: a key's hash
names its file group. Start at `find_keys`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyhudi.engine.api import KEY, PARTITION, Engine, Frame, KeyedRows, ScanFile
from pyhudi.filegroup.model import BaseFile
from pyhudi.index.bloom import prune_file
from pyhudi.index.choice import IndexKind, IndexPlan
from pyhudi.index.lookup import locate
from pyhudi.kernels.keys import KeySpec
from pyhudi.storage.api import Storage

__all__ = ["Found", "find_keys"]


_PRUNABLE_KEYS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where keys were found: `frame` as `index.lookup.locate` returns it, its FILE_INDEX counting `files`."""

    frame: Frame
    files: tuple[BaseFile, ...]
    rows: KeyedRows
    """The rows, with their keys where the look-up brought them here."""


def find_keys(
    *,
    engine: Engine,
    storage: Storage,
    rows: KeyedRows,
    files: Sequence[BaseFile],
    spec: KeySpec,
    plan: IndexPlan,
    columns: Sequence[str] = (),
) -> Found:
    """Look up which of the files holds which key.

    Cost: reads the key column of the files that may hold a key.
    """
    kept = list(files)
    if plan.kind in {IndexKind.BLOOM, IndexKind.GLOBAL_BLOOM}:
        rows = engine.fetch_keys(rows)
        kept = _pruned(engine, storage, rows, kept, by_partition=not plan.is_global)
    scanned = [_scan_file(file) for file in kept]
    found = locate(engine, storage, rows, scanned, spec, by_partition=not plan.is_global, columns=columns)
    return Found(frame=found.frame, files=tuple(kept), rows=found.rows)


def _pruned(
    engine: Engine, storage: Storage, rows: KeyedRows, files: Sequence[BaseFile], *, by_partition: bool
) -> list[BaseFile]:
    """Leave out files that surely hold none of the keys; all stay where the keys are too many to be here."""
    if rows.keys is None or rows.keys.num_rows > _PRUNABLE_KEYS:
        return list(files)
    prune = partial(prune_file, storage=storage, keys=rows.keys.select([KEY, PARTITION]), by_partition=by_partition)
    candidates = engine.run(prune, [_scan_file(file) for file in files])
    return [file for file, is_candidate in zip(files, candidates, strict=True) if is_candidate]


def _scan_file(file: BaseFile) -> ScanFile:
    return ScanFile(path=file.path, size_bytes=file.size_bytes, partition=file.partition)

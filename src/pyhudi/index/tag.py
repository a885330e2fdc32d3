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
from pyhudi.filegroup.model import BaseFile, FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.index.bloom import prune_file
from pyhudi.index.choice import IndexKind, IndexPlan
from pyhudi.index.lookup import locate
from pyhudi.index.merged_keys import MergedSlices
from pyhudi.kernels.keys import KeySpec
from pyhudi.storage.api import Storage

__all__ = ["Found", "KeysInLogs", "find_keys"]


_PRUNABLE_KEYS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where keys were found: `frame` as `index.lookup.locate` returns it, its FILE_INDEX counting `slices`."""

    frame: Frame
    slices: tuple[FileSlice, ...]
    rows: KeyedRows
    """The rows, with their keys where the look-up brought them here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysInLogs:
    """Which slices hold the keys that their readers see.

    Any other slice holds those of its base file, also of rows that its logs delete: enough to know where a change of a
    key goes where only base files get new keys.
    """

    spec: SliceSpec
    has_all: bool
    """False: only slices without a base file."""

    def concerns(self, one: FileSlice) -> bool:
        """Return whether a slice is merged to be looked into."""
        return bool(one.logs) and (self.has_all or one.base is None)


def find_keys(
    *,
    engine: Engine,
    storage: Storage,
    rows: KeyedRows,
    slices: Sequence[FileSlice],
    spec: KeySpec,
    plan: IndexPlan,
    columns: Sequence[str] = (),
    merging: KeysInLogs | None = None,
) -> Found:
    """Look up which of the slices holds which key.

    Cost: reads the key column of the base files that may hold a key; of merged slices the logs, too.
    """
    together = [] if merging is None else [one for one in slices if merging.concerns(one)]
    kept = [one for one in slices if one.base is not None and one not in together]
    if plan.kind in {IndexKind.BLOOM, IndexKind.GLOBAL_BLOOM}:
        rows = engine.fetch_keys(rows)
        kept = _pruned(engine, storage, rows, kept, by_partition=not plan.is_global)
    scanned = [_scan_file(one.base) for one in kept if one.base is not None]
    merged = MergedSlices(slices=tuple(together), spec=merging.spec) if merging is not None else None
    by_partition = not plan.is_global
    found = locate(engine, storage, rows, scanned, spec, by_partition=by_partition, columns=columns, merged=merged)
    return Found(frame=found.frame, slices=(*kept, *together), rows=found.rows)


def _pruned(
    engine: Engine, storage: Storage, rows: KeyedRows, slices: Sequence[FileSlice], *, by_partition: bool
) -> list[FileSlice]:
    """Leave out base files that surely hold none of the keys; all stay where the keys are too many to be here."""
    if rows.keys is None or rows.keys.num_rows > _PRUNABLE_KEYS:
        return list(slices)
    prune = partial(prune_file, storage=storage, keys=rows.keys.select([KEY, PARTITION]), by_partition=by_partition)
    candidates = engine.run(prune, [_scan_file(one.base) for one in slices if one.base is not None])
    return [one for one, is_candidate in zip(slices, candidates, strict=True) if is_candidate]


def _scan_file(file: BaseFile) -> ScanFile:
    return ScanFile(path=file.path, size_bytes=file.size_bytes, partition=file.partition)

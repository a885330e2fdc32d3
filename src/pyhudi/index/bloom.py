"""BLOOM and GLOBAL_BLOOM: footers are read first, and keys only of base files that may have one.

A footer says the key range, and a bloom filter what inside it is there. Start at `BLOOM`; `prune_file` runs in tasks.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY, PARTITION, Engine, KeyedRows, ScanFile
from pyhudi.engine.scanning import naming_file
from pyhudi.filegroup.model import FileSlice
from pyhudi.formats.bloom import might_contain
from pyhudi.formats.parquet import base_file_footer, read_footer
from pyhudi.index.api import Index, Place
from pyhudi.index.stored_keys import base_scan
from pyhudi.options import Settings, boolean, option
from pyhudi.storage.api import Storage

__all__ = ["BLOOM", "BLOOM_MOVES", "GLOBAL_BLOOM", "bloom", "global_bloom", "prune_file"]

BLOOM_MOVES: Final = option(
    "hoodie.bloom.index.update.partition.path",
    True,
    "GLOBAL_BLOOM: a record whose partition changed moves there; false: it is updated where it is.",
    parse=boolean,
)
_PRUNABLE_KEYS: Final = 1_000_000


def _pruned(
    engine: Engine, storage: Storage, rows: KeyedRows, slices: Sequence[FileSlice], by_partition: bool
) -> tuple[KeyedRows, list[FileSlice]]:
    """Leave out base files that surely hold none of the keys; all stay where the keys are too many to be here."""
    rows = engine.fetch_keys(rows)
    if rows.keys is None or rows.keys.num_rows > _PRUNABLE_KEYS:
        return rows, list(slices)
    prune = partial(prune_file, storage=storage, keys=rows.keys.select([KEY, PARTITION]), by_partition=by_partition)
    candidates = engine.run(prune, [base_scan(one.base) for one in slices if one.base is not None])
    return rows, [one for one, is_candidate in zip(slices, candidates, strict=True) if is_candidate]


def prune_file(file: ScanFile, *, storage: Storage, keys: pa.Table, by_partition: bool) -> bool:
    """Return whether a file may hold one of the keys (KEY, PARTITION); a file without key range or filter may.

    Cost: one footer; the filter is asked only for keys inside the range.
    Spec: format/files 4.2, 4.3.
    """
    candidates = keys.column(KEY)
    if by_partition:
        candidates = candidates.filter(pc.equal(keys.column(PARTITION), file.partition))
    with naming_file(file.path), storage.open_input(file.path) as source:
        footer = read_footer(source)
    if footer.rows_count == 0:
        return False
    known = base_file_footer(footer.key_values)
    if known.min_key is not None and known.max_key is not None:
        inside = pc.and_(pc.greater_equal(candidates, known.min_key), pc.less_equal(candidates, known.max_key))
        candidates = candidates.filter(inside)
    with naming_file(file.path):
        bloom = known.bloom() if len(candidates) else None
    if bloom is None:
        return len(candidates) > 0
    return bool(pc.any(might_contain(bloom, candidates)).as_py())


BLOOM: Final = Index(name="BLOOM", place=Place.PARTITION, narrow=_pruned)
GLOBAL_BLOOM: Final = Index(name="GLOBAL_BLOOM", place=Place.TABLE, narrow=_pruned)


def bloom(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the index that reads the footers of a row's partition first."""
    return BLOOM


def global_bloom(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the index that reads the footers of all partitions first."""
    return GLOBAL_BLOOM.moving(follows=settings.get(BLOOM_MOVES))

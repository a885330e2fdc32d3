"""Leave out base files whose footer says that none of the keys is there: key range first, then bloom filter.

Start at `prune_file`; it runs in tasks.
"""

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY, PARTITION, ScanFile
from pyhudi.engine.scanning import naming_file
from pyhudi.formats.bloom import might_contain
from pyhudi.formats.parquet import base_file_footer, read_footer
from pyhudi.storage.api import Storage

__all__ = ["prune_file"]


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

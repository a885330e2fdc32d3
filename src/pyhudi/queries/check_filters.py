"""Whether the bloom filters of the metadata table are those of the base files, and let their keys be found.

Start at `find_wrong_filters`.

Spec: format/metadata-table 5.3.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY
from pyhudi.engine.scanning import naming_file, read_columns
from pyhudi.errors import CorruptData, Unsupported
from pyhudi.filegroup.file_index import storage_index
from pyhudi.filegroup.listing import at_once
from pyhudi.formats.bloom import decode_bloom, might_contain
from pyhudi.formats.parquet import read_footer
from pyhudi.metadata.filter_records import newest_filters
from pyhudi.metadata.keys import file_keys
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.state import MetadataTable
from pyhudi.queries.problems import Problem, ProblemKind, rebuilt
from pyhudi.queries.slices import slices_of_any_format
from pyhudi.state.metadata_table import METADATA_TABLE_PATH
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.timeline.view import Timeline

__all__ = ["find_wrong_filters"]

_PARQUET: Final = ".parquet"
_PART: Final = MetadataPartition.BLOOM_FILTERS
_Filters = Mapping[str, tuple[str, bytes]]
"""Type and content by key."""


def find_wrong_filters(
    state: TableState, timeline: Timeline, table: MetadataTable, files: Sequence[tuple[str, str]]
) -> Iterator[Problem]:
    """Ask each filter for the keys of its file, which it must not deny, and find filters of files that are gone.

    A file without a filter leaves out nothing. `files` are partition path and name of those that there are.

    Cost: all filters; the keys of the base files of the newest slices, file by file.
    """
    if _PART not in table.partitions:
        return
    stored, filters = newest_filters(read_entries(table, _PART, Wanted()), state.config.table_version)
    columns = stored.to_pylist(), filters.field("type").to_pylist(), filters.field("bloomFilter").to_pylist()
    told = {key: (kind, text) for key, kind, text in zip(*columns, strict=True)}
    where = f"{METADATA_TABLE_PATH}/{_PART}"
    gone = set(told).difference(_keys(files))
    if gone:
        yield rebuilt(ProblemKind.BLOOM_FILTERS, where, "filters of files that there are", f"{len(gone)} others", _PART)
    newest = slices_of_any_format(storage_index(state, timeline, is_checked=False))
    bases = [one.base for one in newest if one.base is not None and one.base.path.endswith(_PARQUET)]
    keys = dict(zip((one.path for one in bases), _keys([(one.partition, one.name) for one in bases]), strict=True))
    paths = [path for path, key in keys.items() if key in told]
    wrong = at_once(partial(_wrong, state.storage, {path: told[keys[path]] for path in paths}), paths)
    for path, text in wrong.items():
        if text:
            yield rebuilt(ProblemKind.BLOOM_FILTERS, path, "a filter that has the keys of the file", text, _PART)


def _keys(files: Sequence[tuple[str, str]]) -> list[str]:
    columns = list(zip(*files, strict=True)) or [(), ()]
    found: list[str] = file_keys(*(pa.array(column, pa.string()) for column in columns)).to_pylist()
    return found


def _wrong(storage: Storage, told: _Filters, path: str) -> str:
    """Yield what is wrong of the filter of one file; nothing, where it has each key.   Cost: the key column."""
    try:
        bloom = decode_bloom(told[path][1], told[path][0])
    except (CorruptData, Unsupported) as error:
        return str(error)
    with naming_file(path), storage.open_input(path) as source:
        footer = read_footer(source)
        if KEY not in footer.schema.names:
            return ""
        keys = read_columns(source, pa.schema([(KEY, pa.string())]), footer)[KEY].drop_null()
    denied = pc.sum(pc.invert(might_contain(bloom, keys)), min_count=0).as_py()
    return f"one that denies {denied} of {len(keys)} keys" if denied else ""

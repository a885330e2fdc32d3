"""Whether the record index names each key's own file group, and no key that has no row. Start at `find_wrong_places`.

Spec: format/metadata-table 5.4.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.slice_keys import rows_with_keys
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.record_places import PLACES, read_places
from pyhudi.metadata.state import MetadataTable
from pyhudi.options import Settings
from pyhudi.queries.problems import Problem, ProblemKind, rebuilt
from pyhudi.queries.slice_rows import slice_spec
from pyhudi.queries.slices import table_schema, visible_slices
from pyhudi.state.metadata_table import METADATA_TABLE_PATH
from pyhudi.state.model import TableState
from pyhudi.timeline.view import Timeline

__all__ = ["find_wrong_places"]

_NAMED: Final = 3


def find_wrong_places(state: TableState, timeline: Timeline, table: MetadataTable) -> Iterator[Problem]:
    """Compare the record index with the rows of all file groups; nothing without one.

    Cost: all keys of the table, in this process.
    """
    part = MetadataPartition.RECORD_INDEX
    if part not in table.partitions:
        return
    spec = slice_spec(state, table_schema(state, timeline), timeline, Settings())
    slices = visible_slices(file_index(state, timeline))
    actual = pa.concat_tables([PLACES.empty_table(), *(_places(state, one, spec) for one in slices)])
    told = read_places(table)
    path = f"{METADATA_TABLE_PATH}/{part}"
    # By partition a record may be right and in file groups where no look-up of its key goes.
    sought = read_places(table, pc.unique(actual.column("key"))) if table.has_keys_by_partition else told
    for wrong, found in (
        (_without(told, sought), "keys that it has where they are not looked for"),
        (_without(actual, told), "keys with rows that it does not name there"),
        (_without(told, actual), "keys that it names where no row of them is"),
    ):
        if wrong.num_rows:
            examples = ", ".join(map(repr, wrong.slice(0, _NAMED).column("key").to_pylist()))
            text = f"{wrong.num_rows} {found}, {examples} among them"
            yield rebuilt(ProblemKind.RECORD_INDEX, path, "the file group of each key's row", text, part)


def _places(state: TableState, one: FileSlice, spec: SliceSpec) -> pa.Table:
    keys = pc.unique(rows_with_keys(one, storage=state.storage, spec=spec, stored=pa.schema([])).column(KEY))
    group = [pa.repeat(pa.scalar(name, pa.string()), len(keys)) for name in (one.group.partition, one.group.file_id)]
    return pa.table([keys, *group], schema=PLACES)


def _without(places: pa.Table, others: pa.Table) -> pa.Table:
    return places.join(others, keys=PLACES.names, join_type="left anti").sort_by("key")

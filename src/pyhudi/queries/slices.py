"""Which file slices a reader at one instant sees, and which columns they have.

Reads the timeline's metadata and listings; start at `slices_at` and `table_schema`.
"""

from collections.abc import Iterable

import pyarrow as pa

from pyhudi.errors import CorruptData
from pyhudi.filegroup.listing import list_partitions, storage_listing
from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.filegroup.view import latest_file_slices
from pyhudi.schema.meta_fields import without_meta_fields
from pyhudi.schema.types import avro_to_arrow
from pyhudi.state.model import TableState
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.view import Timeline, completed_writes, replaced_file_groups

__all__ = ["slices_at", "table_schema"]


def slices_at(
    state: TableState, timeline: Timeline, partitions: Iterable[PartitionPath] | None = None
) -> list[FileSlice]:
    """List the visible file slices of some partitions, or of all; sorted by partition and file id.

    Cost: one listing a partition.
    Spec: Reader Expectations 2-4.
    """
    wanted = list_partitions(state) if partitions is None else sorted(set(partitions))
    listing = storage_listing(state)
    files = {partition: listing(partition) for partition in wanted}
    replaced = replaced_file_groups(timeline, lambda instant: read_commit_metadata(state, instant))
    return latest_file_slices(files, timeline, replaced)


def table_schema(state: TableState, timeline: Timeline) -> pa.Schema:
    """Give the table's columns, without meta columns: the newest commit's schema, else the one it was made with.

    Raises: CorruptData for a table that says neither.
    """
    newest_first = sorted(completed_writes(timeline), key=timeline.point, reverse=True)
    for instant in newest_first:
        stored = read_commit_metadata(state, instant).extra.get("schema")
        if stored:
            return without_meta_fields(avro_to_arrow(stored))
    if state.config.create_schema:
        return without_meta_fields(avro_to_arrow(state.config.create_schema))
    raise CorruptData("neither a commit nor the table's properties tell its schema", table=state.storage.url)

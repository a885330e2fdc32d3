"""Write a base file from others, column chunk by column chunk, without decoding a row.

Runs in tasks. For clusterings that leave rows in their order, and only make files larger. Start at `copy_base_files`.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack

import pyarrow as pa

from pyhudi.engine.scanning import naming_file
from pyhudi.filegroup.model import BaseFile
from pyhudi.filegroup.write_task import FileTask, WriteSpec, WriteStatus
from pyhudi.filegroup.writer import Tally, planned_base_file, publish_base_file
from pyhudi.formats.bloom import BloomFilter, union
from pyhudi.formats.parquet import (
    StitchedFile,
    are_stitchable,
    base_file_footer,
    iter_batches,
    read_footer,
    stitch,
)
from pyhudi.schema.meta_fields import FILE_NAME, RECORD_KEY
from pyhudi.storage.api import Storage

__all__ = ["copy_base_files"]


def copy_base_files(
    storage: Storage, spec: WriteSpec, task: FileTask, bases: Sequence[BaseFile], *, least_bytes: int = 0
) -> WriteStatus | None:
    """Write a new file group's base file from the column chunks of others, as they are; None where that cannot be.

    Only `_hoodie_file_name` is encoded anew. Files of other columns than
    the table's, in an old calendar, or with row groups that are smaller than `least_bytes` on average, are not copied.

    Cost:   a read of each file, and where bloom filters are of different shapes of its keys; one row group in memory.
    Raises: CorruptData naming the file.
    """
    with ExitStack() as opened:
        parts = []
        for base in bases:
            opened.enter_context(naming_file(base.path))
            source = opened.enter_context(storage.open_input(base.path))
            parts.append(StitchedFile.of(source, read_footer(source)))
        if not are_stitchable(parts, spec.layout.file_schema, least_bytes=least_bytes):
            return None
        tally = Tally(rows=sum(one.footer.rows_count for one in parts))
        tally.inserts = tally.rows
        name = planned_base_file(spec, task).name

        def write(sink: pa.NativeFile, footer: Callable[[], dict[str, str]]) -> bytes:
            stitch(
                sink,
                parts,
                spec.layout.file_schema,
                constants={FILE_NAME: name},
                options=spec.parquet,
                footer=footer,
            )
            return b""

        said = [base_file_footer(one.footer.key_values) for one in parts if one.footer.rows_count]
        tally.smallest = min((one.min_key for one in said if one.min_key is not None), default=None)
        tally.largest = max((one.max_key for one in said if one.max_key is not None), default=None)
        filters = [one.bloom() for one in said]

        def bloom() -> BloomFilter | None:
            if spec.bloom is None:
                return None
            known = [one for one in filters if one is not None]
            together = union(known) if known and len(known) == len(filters) else None
            return together or spec.bloom.build(_keys_of(parts))

        return publish_base_file(storage, spec, task, write=write, tally=tally, bloom=bloom)


def _keys_of(files: Sequence[StitchedFile]) -> pa.ChunkedArray:
    batches = (batch for one in files for batch in iter_batches(one.source, [RECORD_KEY], footer=one.footer))
    return pa.chunked_array([batch.column(0) for batch in batches], pa.string())

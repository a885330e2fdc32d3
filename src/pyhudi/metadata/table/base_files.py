"""The base files of the metadata table: HFiles. Start at `base_file_content`.

Spec: format/metadata-table 1.4.
"""

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.filegroup.model import BaseFile, FileGroupId
from pyhudi.formats.hfile import write_hfile
from pyhudi.metadata.schema import record_schema
from pyhudi.timeline.instant import InstantTime

__all__ = ["base_file", "base_file_content"]


def base_file(group: FileGroupId, time: InstantTime, token: str, size_bytes: int) -> BaseFile:
    """Return the base file of a file group that an instant writes."""
    return BaseFile(
        partition=group.partition,
        file_id=group.file_id,
        write_token=token,
        instant=time,
        extension=".hfile",
        size_bytes=size_bytes,
    )


def base_file_content(entries: pa.Table, table_version: int, block_bytes: int) -> bytes:
    """Write the HFile of a base file, with its least and greatest key.   Shape: as `records.encode_records`."""
    info = {"schema": record_schema(table_version, has_meta_fields=True).encode()}
    if entries.num_rows:
        ends = pc.min_max(entries.column("key"))
        info |= {"minRecordKey": ends["min"].as_py(), "maxRecordKey": ends["max"].as_py()}
    return write_hfile(entries.column("key"), entries.column("value"), file_info=info, block_bytes=block_bytes)

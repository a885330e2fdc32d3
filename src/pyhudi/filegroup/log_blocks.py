"""Changes of rows into log blocks. Start at `encode_changes`."""

import io
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InternalError
from pyhudi.filegroup.writer import FileTask, WriteSpec
from pyhudi.formats.avro_rows import encode_rows
from pyhudi.formats.log import (
    DELETES,
    BlockKind,
    HeaderKey,
    NewBlock,
    encode_deletes,
    join_rows,
)
from pyhudi.formats.parquet import write_base_file
from pyhudi.kernels.changes import RowChanges

__all__ = ["encode_changes"]

_WRAPPERS: Final = {
    pa.bool_(): "BooleanWrapper",
    pa.int32(): "IntWrapper",
    pa.int64(): "LongWrapper",
    pa.float32(): "FloatWrapper",
    pa.float64(): "DoubleWrapper",
    pa.binary(): "BytesWrapper",
    pa.string(): "StringWrapper",
    pa.date32(): "DateWrapper",
}


def encode_changes(part: RowChanges, spec: WriteSpec, task: FileTask) -> NewBlock:
    """Return the block of changes that are all rows, or all deletes."""
    if spec.logs is None:
        raise InternalError("a write without log files was to write one")
    schema, kind = spec.logs.schema, spec.logs.kind
    headers = {HeaderKey.INSTANT_TIME: spec.instant, HeaderKey.SCHEMA: schema}
    if part.is_delete.any():
        return NewBlock(kind=BlockKind.DELETE, headers=headers, content=_deletes(part, spec, task.partition))
    if kind is BlockKind.AVRO:
        return NewBlock(kind=kind, headers=headers, content=join_rows(encode_rows(part.rows, schema).cast(pa.binary())))
    sink = io.BytesIO()
    write_base_file(sink, part.rows.to_batches(), spec.layout.file_schema, spec.parquet, dict)
    return NewBlock(kind=kind, headers=headers, content=sink.getvalue())


def _deletes(part: RowChanges, spec: WriteSpec, partition: str) -> bytes:
    kind, names = DELETES.field("ordering").type, spec.merge.ordering
    has_none = pa.array(part.is_unordered | (len(names) != 1))
    columns = {field.name: pa.nulls(len(part.keys), field.type) for field in kind}
    if len(names) == 1:
        value = part.rows.column(names[0]).combine_chunks()
        has_none = pc.or_(has_none, value.is_null())
        name = _WRAPPERS.get(value.type, "TimestampMicrosWrapper")
        inner = value.cast(kind.field(name).type.field(0).type)
        columns[name] = pa.StructArray.from_arrays([inner], ["value"], mask=has_none)
    zero = pa.array(np.zeros(len(part.keys), np.int32))
    none = pa.StructArray.from_arrays([zero], ["value"], mask=pc.invert(has_none))
    columns["IntWrapper"] = pc.if_else(has_none, none, columns["IntWrapper"])
    paths = pa.array([partition], pa.string()).take(zero)
    ordering = pa.StructArray.from_arrays(list(columns.values()), fields=list(kind))
    return encode_deletes(pa.table([part.keys.combine_chunks(), paths, ordering], schema=DELETES))

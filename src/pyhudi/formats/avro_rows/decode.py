"""Avro records, many of one schema, to Arrow columns. Start at `decode_rows`."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa

from pyhudi.errors import CorruptData, InvalidInput, LimitExceeded
from pyhudi.formats.avro_rows.columns import Slots
from pyhudi.formats.avro_rows.nested import Records
from pyhudi.formats.avro_rows.resolve import resolve_records, select_fields
from pyhudi.formats.avro_rows.shape import read_shape
from pyhudi.formats.avro_rows.source import Source

__all__ = ["decode_batches", "decode_rows"]

_MOST_BYTES = (1 << 31) - 64
_KNOWN_CHARACTERS = 1 << 19
"""Decoders of schemas up to this size are remembered: the files of a table have few schemas."""
_PART_BYTES = 2 << 20
"""Records are decoded in parts whose bytes and places stay in a processor's cache."""


def decode_rows(
    values: pa.BinaryArray | pa.LargeBinaryArray | pa.ChunkedArray,
    writer_schema: str,
    reader_schema: str | None = None,
    columns: Sequence[str] | None = None,
) -> pa.RecordBatch:
    """Read one Avro record from each value, into a column a field of the reader's schema: of the writer's without one.

    `columns` reads only those fields, in that order. Types are those of `schema.types.avro_to_arrow`. A union of
    several types is a struct of one nullable field a type, named as the type is, of which a row has at most one: so a
    branch of all rows is one column, `pc.struct_field(minValue, ["LongWrapper", "value"])`, and every kernel of Arrow
    works on it, which few do on Arrow's own unions. Enums are strings.

    Raises: CorruptData where bytes and schema differ, with the field's name; LimitExceeded beyond 2 GiB; SchemaMismatch
            naming the field that the reader's schema cannot read; InvalidInput for nulls among the values.
    Cost:   a pass over all records a field; memory of the columns and a few numbers a record.
    Spec:   Avro 1.11, Binary Encoding and Schema Resolution; format/files 2.1, format/metadata-table 2.
    """
    batches = list(decode_batches(values, writer_schema, reader_schema, columns))
    if len(batches) == 1:
        return batches[0]
    return pa.RecordBatch.from_struct_array(pa.concat_arrays([batch.to_struct_array() for batch in batches]))


def decode_batches(
    values: pa.BinaryArray | pa.LargeBinaryArray | pa.ChunkedArray,
    writer_schema: str,
    reader_schema: str | None = None,
    columns: Sequence[str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read records as `decode_rows` does, a few mebibytes of them at a time: at least one batch, which may be empty.

    Raises: as `decode_rows`.
    """
    is_known = len(writer_schema) + len(reader_schema or "") <= _KNOWN_CHARACTERS
    make = _decoder if is_known else _decoder.__wrapped__
    decoder = make(writer_schema, reader_schema, None if columns is None else tuple(columns))
    data, offsets = _bytes_of(values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values)
    for begin, end in _parts(offsets):
        yield pa.RecordBatch.from_struct_array(_decode_part(data, offsets[begin : end + 1], decoder))


@lru_cache(maxsize=64)
def _decoder(writer: str, reader: str | None, columns: tuple[str, ...] | None) -> Records:
    stored = read_shape(writer)
    wanted = stored if reader is None else read_shape(reader)
    return resolve_records(stored, wanted if columns is None else select_fields(wanted, columns))


def _bytes_of(values: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of all values, and where each begins, with the end of the last."""
    if not (pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type)):
        raise InvalidInput("Avro records must be a binary array", type=str(values.type))
    if values.null_count:
        raise InvalidInput("an Avro record is null", nulls=values.null_count)
    _, places, data = values.buffers()
    kind = np.int32 if pa.types.is_binary(values.type) else np.int64
    if not len(values):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    offsets = np.frombuffer(places, kind)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    return np.frombuffer(data or b"", np.uint8), offsets


def _parts(offsets: np.ndarray) -> list[tuple[int, int]]:
    """Cut the records into parts of so many bytes: (first, behind the last)."""
    cuts = np.arange(offsets[0] + _PART_BYTES, offsets[-1], _PART_BYTES)
    inner = np.unique(np.searchsorted(offsets, cuts))
    edges = [0, *inner[(inner > 0) & (inner < len(offsets) - 1)].tolist(), len(offsets) - 1]
    return list(pairwise(edges))


def _decode_part(data: np.ndarray, offsets: np.ndarray, decoder: Records) -> pa.StructArray:
    size = int(offsets[-1] - offsets[0])
    if size > _MOST_BYTES:
        raise LimitExceeded("an Avro record is too large", size_bytes=size, limit_bytes=_MOST_BYTES)
    places = offsets - offsets[0]
    try:
        rows, ends = decoder.read(Source(data[offsets[0] : offsets[-1]]), places[:-1])
    except IndexError as error:
        raise CorruptData("Avro record is cut off") from error
    if (wrong := np.flatnonzero(ends != places[1:])).size:
        raise CorruptData("Avro record has more or fewer bytes than its schema", record=int(wrong[0]))
    return rows.build(Slots(len(places) - 1))

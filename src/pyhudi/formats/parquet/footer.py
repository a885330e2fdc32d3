"""What a base file says about itself: schema, key values, how columns are stored, statistics.

Nothing here reads rows. Start at `read_footer`; Hudi's own entries are read by `base_file_footer`.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.errors import CorruptData, HudiError, LimitExceeded, Unsupported
from pyhudi.formats.bloom import BloomFilter, BloomType, decode_bloom, encode_bloom
from pyhudi.formats.parquet.old_calendar import OldCalendar, find_old_calendar
from pyhudi.formats.parquet.statistics import ColumnStats, StoredStatistics, WrittenStatistics
from pyhudi.formats.parquet.thrift import Only, Struct, decode

__all__ = [
    "INSTANT",
    "BaseFileFooter",
    "Footer",
    "base_file_footer",
    "base_file_key_values",
    "bounded_leaf",
    "damage_as_corrupt_data",
    "open_file",
    "read_footer",
    "read_rows_count",
    "require_rows",
    "row_group_stats",
    "written_footer",
]

INSTANT = pa.timestamp("us", "UTC")

_BLOOM = "org.apache.hudi.bloomfilter"
_OLD_BLOOM = "com.uber.hoodie.bloomfilter"
_BLOOM_TYPE = "hoodie_bloom_filter_type_code"
_MIN_KEY = "hoodie_min_record_key"
_MAX_KEY = "hoodie_max_record_key"
_AVRO_SCHEMA = "parquet.avro.schema"
_DICTIONARY_BYTES_A_VALUE = 8
_MAGIC = b"PAR1"
_END = struct.Struct("<I4s")
_MAX_FOOTER_BYTES = 256 << 20
_STREAM_BYTES = 1 << 16
_LAYOUT: Only = {
    2: None,  # the schema
    4: {1: {3: dict.fromkeys((1, 2, 4, 5, 6, 7, 9, 11)), **dict.fromkeys((1, 4, 5, 6, 7, 8, 9))}, 3: None},
    6: None,  # the name of the writer
    7: None,  # orders of columns
}


@dataclass(frozen=True, kw_only=True)
class Footer:
    """A parquet footer, read once."""

    metadata: pq.FileMetaData
    """What pyarrow needs to read on without reading the footer again."""
    schema: pa.Schema
    key_values: Mapping[str, str]
    rows_count: int
    instants: tuple[str, ...]
    """The top-level columns of old INT96 timestamps, which are instants, though nothing says their zone."""
    statistics: StoredStatistics

    @cached_property
    def types(self) -> Mapping[str, pa.DataType]:
        """Return the types of the top-level columns by their names."""
        return {field.name: field.type for field in self.schema}

    @cached_property
    def leaves(self) -> Mapping[str, int]:
        """Number the leaf columns by their paths."""
        schema = self.metadata.schema
        return {schema.column(at).path: at for at in range(self.metadata.num_columns)}

    @cached_property
    def layout(self) -> Struct:
        """Decode where columns lie, as the footer has it: schema, row groups and chunks without statistics.

        Raises: CorruptData.
        """
        return decode(self.statistics.data, only=_LAYOUT)

    @cached_property
    def old_calendar(self) -> OldCalendar | None:
        """Return which dates and times are in the old calendar; None where none are."""
        return find_old_calendar(self.metadata)

    @cached_property
    def dictionary_columns(self) -> tuple[str, ...]:
        """Name the columns of text or bytes in which every page points into a small dictionary.

        Reading them as one is cheaper.   Raises: CorruptData.
        """
        with damage_as_corrupt_data():
            return _dictionary_columns(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileFooter:
    """What Hudi writes into a base file's footer.   Spec: format/files 4.2."""

    bloom_text: str = ""
    """As stored; empty: no filter."""
    bloom_type: str = ""
    min_key: str | None = None
    """None for a file without rows."""
    max_key: str | None = None

    def bloom(self) -> BloomFilter | None:
        """Decode the filter.

        Raises: CorruptData, Unsupported.
        """
        return decode_bloom(self.bloom_text, self.bloom_type or "SIMPLE") if self.bloom_text else None


def read_footer(source: pa.NativeFile) -> Footer:
    """Read a file's footer.

    Cost:   two reads at the end of the file.
    Raises: CorruptData if this is not a whole parquet file; LimitExceeded; what the source raises.
    """
    with damage_as_corrupt_data():
        tail = _read_tail(source)
        metadata: pq.FileMetaData = pq.read_metadata(pa.BufferReader(tail))
        file = open_file(source, metadata, buffer_size=_STREAM_BYTES)
        _require_readable(file)
        require_rows(metadata.num_rows, metadata, range(metadata.num_row_groups))
        return _footer(file, tail)


def written_footer(end: bytes) -> Footer:
    """Return the footer of a file that this process has just written.

    Bytes: the end of the file, as `write_base_file` returned it.
    """
    source = pa.BufferReader(end)
    file, tail = open_file(source, None, buffer_size=_STREAM_BYTES), _read_tail(source)
    return replace(_footer(file, tail), statistics=WrittenStatistics(tail[: -_END.size], file.metadata))


def _footer(file: pq.ParquetFile, tail: bytes) -> Footer:
    metadata = file.metadata
    instants = _int96_columns(metadata)
    among = frozenset(instants)
    pairs = metadata.metadata or {}
    schema = pa.schema([_with_zone(field.remove_metadata(), among) for field in file.schema_arrow])
    if len(set(schema.names)) < len(schema):
        raise CorruptData("parquet file has two columns of one name", names=schema.names)
    return Footer(
        metadata=metadata,
        schema=schema,
        key_values={key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in pairs.items()},
        rows_count=metadata.num_rows,
        instants=instants,
        statistics=StoredStatistics(tail[: -_END.size]),
    )


def read_rows_count(source: pa.NativeFile) -> int:
    """Read how many rows a file has.

    Cost, Raises: as `read_footer`, but that nothing else of the footer is checked.
    """
    with damage_as_corrupt_data():
        metadata: pq.FileMetaData = pq.read_metadata(pa.BufferReader(_read_tail(source)))
        require_rows(metadata.num_rows, metadata, range(metadata.num_row_groups))
        rows_count: int = metadata.num_rows
        return rows_count


def open_file(
    source: pa.NativeFile,
    metadata: pq.FileMetaData | None,
    *,
    read_dictionary: Sequence[str] = (),
    buffer_size: int = 0,
) -> pq.ParquetFile:
    """Open a file whose footer was read, and nothing is read here; None: it is read.

    Raises: what pyarrow raises.
    """
    return pq.ParquetFile(
        source,
        metadata=metadata,
        read_dictionary=list(read_dictionary) or None,
        coerce_int96_timestamp_unit="us",
        buffer_size=buffer_size,
        pre_buffer=not buffer_size,  # it would read what is to be streamed
    )


def row_group_stats(footer: Footer, column: str) -> tuple[ColumnStats, ...]:
    """Return the bounds of a column, one a row group; nothing is known of a nested or absent one, or of old dates.

    Shape:  as many as there are row groups.
    Raises: CorruptData.
    """
    metadata = footer.metadata
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    leaf = bounded_leaf(footer, column)
    if leaf is None:
        return tuple(ColumnStats(least=None, greatest=None, nulls_count=None, rows_count=count) for count in rows)
    kind = footer.types[column]
    with damage_as_corrupt_data():
        return tuple(footer.statistics.of(group, leaf, kind, count) for group, count in enumerate(rows))


def bounded_leaf(footer: Footer, column: str) -> int | None:
    """Return the number of a column whose bounds mean its values.

    Nulls: None for a nested or absent one, and for dates and times of the old calendar.
    """
    leaf = footer.leaves.get(column)
    if leaf is None or column not in footer.types:
        return None
    old = footer.old_calendar
    is_old = old is not None and old.holds(footer.types[column], is_int96=column in footer.instants)
    return None if is_old else leaf


def base_file_footer(key_values: Mapping[str, str]) -> BaseFileFooter:
    """Find Hudi's entries among a footer's.

    Spec: format/files 4.2.
    """
    return BaseFileFooter(
        bloom_text=key_values.get(_BLOOM) or key_values.get(_OLD_BLOOM, ""),
        bloom_type=key_values.get(_BLOOM_TYPE, ""),
        min_key=key_values.get(_MIN_KEY),
        max_key=key_values.get(_MAX_KEY),
    )


def base_file_key_values(
    *, bloom: BloomFilter | None = None, min_key: str | None = None, max_key: str | None = None, avro_schema: str = ""
) -> dict[str, str]:
    """Return the entries Hudi expects in a base file's footer.

    Spec: format/files 4.2; without rows there are no keys, `avro_schema` is the one with meta fields.
    """
    entries: dict[str, str] = {}
    if bloom is not None:
        entries[_BLOOM] = encode_bloom(bloom)
        if bloom.type_code is not BloomType.SIMPLE:  # which is what a filter without a kind is
            entries[_BLOOM_TYPE] = bloom.type_code.value
    if min_key is not None and max_key is not None:
        entries |= {_MIN_KEY: min_key, _MAX_KEY: max_key}
    if avro_schema:
        entries[_AVRO_SCHEMA] = avro_schema
    return entries


def _int96_columns(metadata: pq.FileMetaData) -> tuple[str, ...]:
    schema = metadata.schema
    leaves = (schema.column(at) for at in range(metadata.num_columns))
    return tuple(leaf.path for leaf in leaves if leaf.physical_type == "INT96")


def require_rows(rows_count: int, metadata: pq.FileMetaData, row_groups: Iterable[int]) -> None:
    """Check that row groups hold as many rows as were found or declared.

    Raises: CorruptData.
    """
    declared = sum(metadata.row_group(group).num_rows for group in row_groups)
    if rows_count != declared:
        raise CorruptData("parquet file has another number of rows than it says", rows=rows_count, expected=declared)


@contextmanager
def damage_as_corrupt_data() -> Iterator[None]:
    """Turn what pyarrow says of damaged files into our errors; the source's own errors pass.

    Raises: CorruptData, Unsupported.
    """
    try:
        yield
    except HudiError:
        raise
    except pa.ArrowNotImplementedError as error:
        raise Unsupported(f"parquet feature is not supported: {_first_line(error)}") from error
    except (pa.ArrowException, OSError, MemoryError, OverflowError, UnicodeDecodeError) as error:
        raise CorruptData(f"parquet file is damaged: {_first_line(error)}") from error


def _read_tail(source: pa.NativeFile) -> bytes:
    """Read the footer with its length and the magic bytes, after a look at the length."""
    size = source.size()
    source.seek(max(0, size - _END.size))
    end = source.read(_END.size)
    if len(end) != _END.size or end[4:] != _MAGIC:
        raise CorruptData("not a parquet file: it does not end as one", size_bytes=size, ends=end.hex())
    [length, _] = _END.unpack(end)
    if length > _MAX_FOOTER_BYTES:
        raise LimitExceeded("parquet footer is too large", size_bytes=length)
    if length + _END.size > size:
        raise CorruptData("parquet file is shorter than its footer", size_bytes=size, footer_bytes=length)
    source.seek(size - _END.size - length)
    tail: bytes = source.read(length + _END.size)
    return tail


def _require_readable(file: pq.ParquetFile) -> None:
    """Check what the footer says of every column chunk, where damage is an exception.

    Asked for a chunk's metadata, pyarrow ends the process if its checks fail: they throw through functions that let
    no exception of C++ pass. A reader of no rows makes the same checks and reports them. It reads nothing, because a
    file with a buffer size is streamed.

    Raises: what pyarrow raises.
    """
    for group in range(file.metadata.num_row_groups):
        next(file.reader.iter_batches(0, [group], use_threads=False), None)


def _with_zone(field: pa.Field, instants: frozenset[str]) -> pa.Field:
    return field.with_type(INSTANT) if field.name in instants else field


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _dictionary_columns(footer: Footer) -> tuple[str, ...]:
    metadata, leaves = footer.metadata, footer.leaves
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    if not groups:
        return ()
    names = [field.name for field in footer.schema if pa.types.is_string(field.type) or pa.types.is_binary(field.type)]
    return tuple(name for name in names if all(_is_dictionary(group.column(leaves[name])) for group in groups))


def _is_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    """Return whether a chunk is a dictionary: by its encodings, which name a fallback to plain pages, and its size."""
    encodings = set(chunk.encodings)
    if "PLAIN_DICTIONARY" in encodings and "PLAIN" in encodings:
        return False
    is_small = chunk.total_uncompressed_size <= _DICTIONARY_BYTES_A_VALUE * max(chunk.num_values, 1)
    return is_small and not encodings.isdisjoint({"PLAIN_DICTIONARY", "RLE_DICTIONARY"})

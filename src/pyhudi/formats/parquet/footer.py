"""What a base file says about itself: schema, key values, how columns are stored, statistics.

Nothing here reads rows. Start at `read_footer`; Hudi's own entries are read by `base_file_footer`.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.errors import CorruptData, HudiError, Unsupported
from pyhudi.formats.bloom import BloomFilter, BloomType, decode, encode

__all__ = [
    "INSTANT",
    "BaseFileFooter",
    "ColumnForm",
    "ColumnStats",
    "Footer",
    "Range",
    "base_file_footer",
    "base_file_key_values",
    "damage_as_corrupt_data",
    "dictionary_columns",
    "int96_columns",
    "read_footer",
    "require_rows",
    "row_group_stats",
    "row_groups_matching",
]

Range: TypeAlias = tuple[Any | None, Any | None]
"""Lowest and highest wanted value, both included; None: no bound."""

INSTANT = pa.timestamp("us", "UTC")

_BLOOM = "org.apache.hudi.bloomfilter"
_OLD_BLOOM = "com.uber.hoodie.bloomfilter"
_BLOOM_TYPE = "hoodie_bloom_filter_type_code"
_MIN_KEY = "hoodie_min_record_key"
_MAX_KEY = "hoodie_max_record_key"
_AVRO_SCHEMA = "parquet.avro.schema"
_DICTIONARY_BYTES_A_VALUE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnForm:
    """How a leaf column is stored."""

    compression: str
    is_dictionary: bool
    """Every page points into a small dictionary, so that reading it as one is cheaper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStats:
    """Bounds of a column in one row group; None: not known."""

    least: Any | None
    greatest: Any | None
    nulls_count: int | None
    rows_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """A parquet footer, read once."""

    metadata: pq.FileMetaData
    """What pyarrow needs to read on without reading the footer again."""
    schema: pa.Schema
    key_values: Mapping[str, str]
    rows_count: int
    columns: Mapping[str, ColumnForm]
    """Leaf columns by dotted path; empty for a file without rows."""
    created_by: str


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
        return decode(self.bloom_text, self.bloom_type or "SIMPLE") if self.bloom_text else None


def read_footer(source: pa.NativeFile) -> Footer:
    """Read a file's footer.

    Cost:   one or two reads at the end of the file.
    Raises: CorruptData if this is not a whole parquet file; what the source raises.
    """
    with damage_as_corrupt_data():
        file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=False)
        metadata: pq.FileMetaData = file.metadata
        require_rows(metadata.num_rows, metadata, range(metadata.num_row_groups))
        pairs = metadata.metadata or {}
        instants = int96_columns(metadata)
        return Footer(
            metadata=metadata,
            schema=pa.schema([_with_zone(field.remove_metadata(), instants) for field in file.schema_arrow]),
            key_values={
                key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in pairs.items()
            },
            rows_count=metadata.num_rows,
            columns=dict(_column_forms(metadata)),
            created_by=metadata.created_by or "",
        )


def dictionary_columns(footer: Footer) -> tuple[str, ...]:
    """Name the string columns that are cheaper to read as dictionaries.

    Shape: names of top-level columns, in the order of the file.
    """
    return tuple(
        field.name
        for field in footer.schema
        if (pa.types.is_string(field.type) or pa.types.is_binary(field.type))
        and field.name in footer.columns
        and footer.columns[field.name].is_dictionary
    )


def row_group_stats(footer: Footer, column: str) -> tuple[ColumnStats, ...]:
    """Return the bounds of a leaf column, one a row group.

    Shape: as many as there are row groups.
    """
    groups = range(footer.metadata.num_row_groups)
    at = next((n for n, path in enumerate(_leaf_paths(footer.metadata)) if path == column), None)
    if at is None:
        rows = (footer.metadata.row_group(group).num_rows for group in groups)
        return tuple(ColumnStats(least=None, greatest=None, nulls_count=None, rows_count=count) for count in rows)
    with damage_as_corrupt_data():
        return tuple(_stats_of(footer.metadata.row_group(group), at) for group in groups)


def row_groups_matching(footer: Footer, ranges: Mapping[str, Range]) -> list[int]:
    """Name the row groups that may hold a row whose columns all lie in their ranges.

    Bounds that are missing, or of another type than the range, keep their row group.

    Shape: numbers of row groups, rising.
    Nulls: null lies in no range.
    """
    kept = list(range(footer.metadata.num_row_groups))
    for column, (low, high) in ranges.items():
        stats = row_group_stats(footer, column)
        kept = [group for group in kept if _may_match(stats[group], low, high)]
    return kept


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
        entries[_BLOOM] = encode(bloom)
        if bloom.type_code is not BloomType.SIMPLE:  # which is what a filter without a kind is
            entries[_BLOOM_TYPE] = bloom.type_code.value
    if min_key is not None and max_key is not None:
        entries |= {_MIN_KEY: min_key, _MAX_KEY: max_key}
    if avro_schema:
        entries[_AVRO_SCHEMA] = avro_schema
    return entries


def int96_columns(metadata: pq.FileMetaData) -> tuple[str, ...]:
    """Name the top-level columns of old INT96 timestamps: instants, though nothing says their zone.

    Shape: names, in the order of the file.
    """
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


def _with_zone(field: pa.Field, instants: tuple[str, ...]) -> pa.Field:
    return field.with_type(INSTANT) if field.name in instants else field


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _leaf_paths(metadata: pq.FileMetaData) -> list[str]:
    schema = metadata.schema
    return [schema.column(at).path for at in range(metadata.num_columns)]


def _column_forms(metadata: pq.FileMetaData) -> Iterator[tuple[str, ColumnForm]]:
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    for at, path in enumerate(_leaf_paths(metadata)):
        chunks = [group.column(at) for group in groups]
        if chunks:
            is_dictionary = all(_is_dictionary(chunk) for chunk in chunks)
            yield path, ColumnForm(compression=chunks[0].compression, is_dictionary=is_dictionary)


def _is_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    """Return whether a chunk is a dictionary: by its encodings, which name a fallback to plain pages, and its size."""
    encodings = set(chunk.encodings)
    if "PLAIN_DICTIONARY" in encodings and "PLAIN" in encodings:
        return False
    is_small = chunk.total_uncompressed_size <= _DICTIONARY_BYTES_A_VALUE * max(chunk.num_values, 1)
    return is_small and not encodings.isdisjoint({"PLAIN_DICTIONARY", "RLE_DICTIONARY"})


def _stats_of(group: pq.RowGroupMetaData, at: int) -> ColumnStats:
    stats = group.column(at).statistics
    if stats is None:
        return ColumnStats(least=None, greatest=None, nulls_count=None, rows_count=group.num_rows)
    has_bounds = stats.has_min_max
    return ColumnStats(
        least=stats.min if has_bounds else None,
        greatest=stats.max if has_bounds else None,
        nulls_count=stats.null_count if stats.has_null_count else None,
        rows_count=group.num_rows,
    )


def _may_match(stats: ColumnStats, low: object, high: object) -> bool:
    if low is None and high is None:
        return True
    if stats.nulls_count is not None and stats.nulls_count >= stats.rows_count:
        return False
    if stats.least is None or stats.greatest is None:
        return True
    # NaN counts in no bound, yet engines sort it last: only an upper bound excludes it
    ignores_low = isinstance(stats.greatest, float) and high is None
    try:
        return not (
            (low is not None and not ignores_low and stats.greatest < low) or (high is not None and stats.least > high)
        )
    except TypeError:
        return True

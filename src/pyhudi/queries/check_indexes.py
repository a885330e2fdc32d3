"""Whether indexes by definition hold for the rows: secondary and expression indexes. Start at `find_wrong_indexes`.

An index that says too little of a value, or encloses too little, hides rows; one that says too much costs reads. What
has no entry of a file leaves no file out, so it is no problem.

Spec: format/metadata-table 3.7, 5.5, 5.6.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.engine.api import KEY
from pyhudi.filegroup.listing import at_once
from pyhudi.filegroup.model import FileSlice, PartitionPath
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.slice_keys import rows_with_keys
from pyhudi.formats.bloom import decode_bloom, might_contain
from pyhudi.metadata.expressions import expression_of, follows_zone, type_of, values_of
from pyhudi.metadata.keys import bounds_keys, file_keys, stats_keys
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.names import SECONDARY_PREFIX, is_by_definition
from pyhudi.metadata.partitions.api import Comparison, PartitionKind
from pyhudi.metadata.partitions.kinds import kinds_of
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.record_places import read_places
from pyhudi.metadata.records import MetadataRecords
from pyhudi.metadata.secondary_keys import can_index, entry_keys, indexed_record_keys
from pyhudi.metadata.secondary_places import entries_of_values
from pyhudi.metadata.state import MetadataTable
from pyhudi.metadata.stats.column_stats import column_stats_schema
from pyhudi.metadata.stats.expression_stats import column_batches, read_expression_stats
from pyhudi.metadata.stats.merging import partition_stats
from pyhudi.options import Settings
from pyhudi.predicate import Expression
from pyhudi.queries.check_statistics import unlike
from pyhudi.queries.problems import Problem, ProblemKind, rebuilt
from pyhudi.queries.slice_rows import slice_spec
from pyhudi.queries.slices import table_schema, visible_slices
from pyhudi.state.metadata_table import METADATA_TABLE_PATH
from pyhudi.state.model import TableState
from pyhudi.storage.api import Storage
from pyhudi.timeline.view import Timeline

__all__ = ["find_wrong_indexes"]

_SAMPLE_GROUPS: Final = 16
_SAMPLE_BYTES: Final = 256 << 20
_SAMPLE_VALUES: Final = 1_000
_NAMED: Final = 3
_UTC: Final = "UTC"
_BLOOM: Final = "bloom_filters"


def find_wrong_indexes(
    state: TableState, timeline: Timeline, table: MetadataTable, *, all_rows: bool
) -> Iterator[Problem]:
    """Compare secondary indexes with the rows that readers see, and expression indexes with the files of these.

    Cost: of the 16 file groups that were written last, of 256 MiB, keys and indexed columns, and the entries of up to
          1,000 of their values; with `all_rows` of all file groups, and all entries, in this process.
    """
    kinds = kinds_of([one for one in table.partitions if is_by_definition(one)], table.definitions)
    if not kinds:
        return
    schema, stored = table_schema(state, timeline), visible_slices(file_index(state, timeline))
    slices = stored if all_rows else _sample(stored)
    for kind in kinds:
        definition = table.definitions[kind.name]
        if definition.fields[0] not in schema.names:
            continue
        field = schema.field(definition.fields[0])
        if not kind.name.startswith(SECONDARY_PREFIX):
            yield from _unlike_files(table, kind, field, slices, state.storage)
        elif can_index(field.type):
            spec = slice_spec(state, schema, timeline, Settings())
            read = partial(_rows, storage=state.storage, spec=spec, field=field)
            rows = pa.concat_tables([_rows_schema(field).empty_table(), *map(read, slices)])
            yield from _unlike_rows(table, kind, rows, None if all_rows else slices)


def _sample(slices: Sequence[FileSlice]) -> list[FileSlice]:
    """Choose the groups that were written last, as long as they are few and small."""
    chosen: list[FileSlice] = []
    left = _SAMPLE_BYTES
    for one in sorted(slices, key=_written, reverse=True):
        left -= (one.base.size_bytes if one.base else 0) + sum(log.size_bytes for log in one.logs)
        if chosen and (left < 0 or len(chosen) >= _SAMPLE_GROUPS):
            break
        chosen.append(one)
    return chosen


def _written(one: FileSlice) -> str:
    return max([one.base_instant, *(log.instant for log in one.logs)])


# --- secondary indexes


def _rows_schema(field: pa.Field) -> pa.Schema:
    return pa.schema([(KEY, pa.string()), (field.name, field.type)])


def _rows(one: FileSlice, *, storage: Storage, spec: SliceSpec, field: pa.Field) -> pa.Table:
    rows = rows_with_keys(one, storage=storage, spec=spec, stored=pa.schema([field]))
    return pa.table(rows.columns, schema=_rows_schema(field))


def _unlike_rows(
    table: MetadataTable, kind: PartitionKind, rows: pa.Table, sample: Sequence[FileSlice] | None
) -> Iterator[Problem]:
    """Compare entries with rows; of a sample those of its values, whose rows the record index has in its groups."""
    if sample is None:
        newest = read_entries(table, kind.name, Wanted()).newest(table.state.config.table_version)
        told = newest.column("key").cast(pa.string()).combine_chunks()
    else:
        some = pc.unique(rows.column(1)).slice(0, _SAMPLE_VALUES)
        rows = rows.filter(pc.is_in(rows.column(1), value_set=some))
        told = entries_of_values(table, kind.name, some)
    keys, values = (column.combine_chunks() for column in rows.columns)
    actual = pc.unique(entry_keys(values, keys))
    stale = _without(told, actual)
    for wrong, found in (
        (_without(actual, told), "rows of which it has no entry"),
        (stale if sample is None else stale.filter(_is_of(table, stale, sample)), "entries of which there is no row"),
    ):
        if len(wrong):
            examples = ", ".join(map(repr, indexed_record_keys(wrong.slice(0, _NAMED)).to_pylist()))
            text = f"{len(wrong)} {found}, of the keys {examples} among them"
            path = f"{METADATA_TABLE_PATH}/{kind.name}"
            yield rebuilt(ProblemKind.SECONDARY_INDEX, path, "an entry a row", text, kind.name)


def _is_of(table: MetadataTable, entries: pa.Array, slices: Sequence[FileSlice]) -> pa.BooleanArray:
    """Return of which entries the record index has no place, or one in these slices."""
    keys = indexed_record_keys(entries)
    places = read_places(table, pc.unique(keys))
    groups = [f"{one.group.partition}/{one.group.file_id}" for one in slices]
    told = pc.binary_join_element_wise(places.column("partition"), places.column("file_id"), "/")
    others = places.column("key").filter(pc.invert(pc.is_in(told, value_set=pa.array(groups, pa.string()))))
    return pc.invert(pc.is_in(keys, value_set=others.combine_chunks()))


def _without(entries: pa.Array, others: pa.Array) -> pa.Array:
    return entries.filter(pc.invert(pc.is_in(entries, value_set=others)))


# --- expression indexes


def _unlike_files(
    table: MetadataTable, kind: PartitionKind, field: pa.Field, slices: Sequence[FileSlice], storage: Storage
) -> Iterator[Problem]:
    """Compare what is told of files with their values; not where these are of a zone of time that is not known."""
    definition = table.definitions[kind.name]
    if definition.zone != _UTC and follows_zone(definition, pa.schema([field])):
        return
    bases = [(one.group.partition, one.base.name) for one in slices if one.base is not None]
    logs = [(one.group.partition, log.name) for one in slices for log in one.logs]
    if definition.type == _BLOOM:
        yield from _unlike_filters(table, kind, field, bases, storage)
    else:
        yield from _unlike_bounds(table, kind, field, [*bases, *logs], storage)


def _unlike_bounds(
    table: MetadataTable,
    kind: PartitionKind,
    field: pa.Field,
    files: Sequence[tuple[PartitionPath, str]],
    storage: Storage,
) -> Iterator[Problem]:
    """Compare bounds of files and of partitions: they have to enclose what is there."""
    version, definition = table.state.config.table_version, table.definitions[kind.name]
    read = partial(
        read_expression_stats,
        storage=storage,
        expression=expression_of(definition),
        source=field,
        table_version=version,
    )
    found = at_once(lambda file: read([file]), files).values()
    own = pa.concat_tables([column_stats_schema(version).empty_table(), *found]).combine_chunks()
    filled = own.filter(pc.greater(own.column("valueCount"), 0))
    wide = partition_stats(filled, version, is_all=False) if filled.num_rows else filled
    keys = pa.concat_arrays([stats_keys(*_columns(own)), bounds_keys(*_columns(wide)[:2])])
    told = kind.fold(table, read_entries(table, kind.name, Wanted(keys=keys)))
    assert isinstance(told, MetadataRecords), "statistics are folded into records"
    compared = Comparison(
        stored_keys=told.keys,
        stored=pa.Table.from_arrays(told.values.flatten(), schema=pa.schema(list(told.values.type))),
        actual_keys=keys,
        actual=pa.concat_tables([own, wide]),
    )
    made = pa.schema([pa.field(field.name, type_of(definition, pa.schema([field])))])
    yield from unlike(compared, made, kind)


def _columns(stats: pa.Table) -> list[pa.Array]:
    return [stats.column(name).combine_chunks() for name in ("columnName", "partition", "fileName")]


def _unlike_filters(
    table: MetadataTable,
    kind: PartitionKind,
    field: pa.Field,
    bases: Sequence[tuple[PartitionPath, str]],
    storage: Storage,
) -> Iterator[Problem]:
    """Probe the filter of each base file for all of its values."""
    places, names = (pa.array([one[at] for one in bases], pa.string()) for at in (0, 1))
    keys = file_keys(places, names)
    told = kind.fold(table, read_entries(table, kind.name, Wanted(keys=keys)))
    assert isinstance(told, MetadataRecords), "filters are folded into records"
    rows = pc.index_in(told.keys, value_set=keys).to_pylist()
    texts = zip(told.values.field("bloomFilter").to_pylist(), told.values.field("type").to_pylist(), strict=True)
    filters = dict(zip(rows, texts, strict=True))
    expression = expression_of(table.definitions[kind.name])
    read = partial(_texts, storage=storage, expression=expression, source=field)
    for row, values in at_once(lambda row: read(bases[row]), list(filters)).items():
        text, type_ = filters[row]
        lost = values.filter(pc.invert(might_contain(decode_bloom(text, type_), values)))
        if len(lost):
            path = "/".join(filter(None, (*bases[row],)))
            yield rebuilt(
                ProblemKind.EXPRESSION_INDEX,
                f"{path}: {field.name}",
                "a filter that has all values",
                f"{len(lost)} values that it says are not there, {lost[0].as_py()!r} among them",
                kind.name,
            )


def _texts(file: tuple[PartitionPath, str], *, storage: Storage, expression: Expression, source: pa.Field) -> pa.Array:
    """Return the distinct values of a base file, as filters have them."""
    batches = column_batches(storage, "/".join(filter(None, file)), source) or ()
    found = [values_of(expression, batch).cast(pa.string()) for batch in batches]
    return pc.unique(pa.chunked_array(found, pa.string())).drop_null()

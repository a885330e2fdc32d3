"""Statistics of columns that a task tells of a file which it has written, so that the file is not read again.

What the footer of a base file does not tell, as whether floats have NaN, is measured as the rows go by; of a log the
task has all rows. A file's statistics travel as
some 80 bytes a column, and those of many files are unpacked at once, type by type. Start at `StatsMeasures` and
`unpack_stats`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.filegroup.bounds import Measured, measured, together
from pyhudi.filegroup.model import PartitionPath
from pyhudi.formats.parquet import written_footer
from pyhudi.metadata.stats.column_stats import StatsOfType, stats_table
from pyhudi.metadata.stats.file_stats import FileStats, footer_bounds, stats_within
from pyhudi.metadata.stats.values import can_encode

__all__ = ["StatsMeasures", "unpack_stats"]

_PACKED: Final = pa.schema(
    [
        ("column", pa.string()),
        ("type", pa.string()),
        ("least", pa.binary()),
        ("greatest", pa.binary()),
        *((name, pa.int64()) for name in ("values", "nulls", "packed", "unpacked")),
    ]
)
_ABSENT: Final = ""
"""The type of a column that a file has not, or not of a type that has statistics."""


@dataclass(frozen=True, slots=True)
class StatsMeasures:
    """Statistics of some columns, as `filegroup.write_task.Measures`."""

    columns: tuple[str, ...]
    table_version: int
    seen: tuple[str, ...]
    """Those of floats: footers leave NaN out of their bounds."""

    def told(self, end: bytes, seen: Mapping[str, Measured]) -> bytes:
        """Pack the statistics; nothing where neither the footer nor the rows told some, as bounds of long texts."""
        footer = written_footer(end)
        found: dict[pa.Field, Measured] = {}
        for field, told in footer_bounds(footer, self.columns, self.table_version).items():
            if told is None and field.name not in seen:
                return b""
            found[field] = told or seen[field.name]
        return self._packed(stats_within(footer, found))

    def told_of_log(self, columns: pa.Schema, rows: Sequence[pa.Table]) -> bytes:
        """Pack the statistics of the rows of a log's blocks, of columns that all of these have."""
        whole = pa.concat_tables(rows, promote_options="default") if rows else columns.empty_table()
        kept = {*columns.names}.intersection(*(one.column_names for one in rows))
        fields = [whole.schema.field(name) for name in self.columns if name in kept]
        stats: list[FileStats] = []
        for field in (one for one in fields if can_encode(one.type, self.table_version)):
            nulls, bounds = together([measured(chunk) for chunk in whole.column(field.name).chunks])
            stats.append((field.name, field.type, bounds, (whole.num_rows, nulls, 0, 0)))
        return self._packed(stats)

    def _packed(self, stats: Sequence[FileStats]) -> bytes:
        return _packed(stats, sorted({*self.columns} - {name for name, *_ in stats}))


def unpack_stats(
    packed: Mapping[tuple[PartitionPath, str], bytes], types: Mapping[str, pa.DataType], table_version: int
) -> pa.Table:
    """Return statistics of some columns of files, by partition path and name, as records.

    A file is left out, and is to be read, that was not measured for one of the columns or has it in another type.

    Shape: `column_stats_schema`, a row a file and column.
    """
    names, batches = list(packed), [pa.ipc.read_record_batch(pa.py_buffer(one), _PACKED) for one in packed.values()]
    rows = pa.Table.from_batches(batches, _PACKED).combine_chunks()
    of_file = np.repeat(np.arange(len(names)), [one.num_rows for one in batches])
    columns = pa.array([*types], pa.string())
    is_wanted = pc.is_in(rows["column"], columns)
    rows, of_file = rows.filter(is_wanted), of_file[is_wanted.to_numpy()]
    spelled = pa.array([str(kind) for kind in types.values()], pa.string())
    is_alike = pc.is_in(rows["type"], pa.array([_ABSENT]))
    is_alike = pc.or_(is_alike, pc.equal(rows["type"], spelled.take(pc.index_in(rows["column"], columns))))
    is_whole = np.bincount(of_file[is_alike.to_numpy()], minlength=len(names)) == len(types)
    parts = []
    for kind in dict.fromkeys(types.values()):
        lanes = np.flatnonzero(pc.equal(rows["type"], str(kind)).to_numpy() & is_whole[of_file])
        if len(lanes):
            parts.append(_of_type(rows.take(pa.array(lanes)), [names[at] for at in of_file[lanes]], kind))
    return stats_table(parts, table_version)


def _of_type(rows: pa.Table, files: Sequence[tuple[PartitionPath, str]], kind: pa.DataType) -> StatsOfType:
    columns = {name: rows.column(name).combine_chunks() for name in rows.column_names}
    return StatsOfType(
        partitions=pa.array([partition for partition, _ in files], pa.string()),
        files=pa.array([name for _, name in files], pa.string()),
        columns=columns["column"],
        least=_from_bytes(columns["least"], kind),
        greatest=_from_bytes(columns["greatest"], kind),
        counts=(columns["values"], columns["nulls"], columns["packed"], columns["unpacked"]),
    )


def _packed(stats: Sequence[FileStats], left: Sequence[str]) -> bytes:
    """Pack the statistics of a file, and the names of those that were asked for and which it has not."""
    by_type: dict[pa.DataType, list[FileStats]] = defaultdict(list)
    for one in stats:
        by_type[one[1]].append(one)
    ordered = [one for found in by_type.values() for one in found]
    bounds = [
        _to_bytes(pa.array([pair[at] for *_, pair, _ in found], kind))
        for at in (0, 1)
        for kind, found in by_type.items()
    ]
    nothing = pa.nulls(len(left), pa.binary())
    columns = [
        pa.array([*(name for name, *_ in ordered), *left], pa.string()),
        pa.array([*(str(kind) for _, kind, *_ in ordered), *(_ABSENT for _ in left)], pa.string()),
        pa.concat_arrays([*bounds[: len(by_type)], nothing]),
        pa.concat_arrays([*bounds[len(by_type) :], nothing]),
        *(pa.array([*(counts[at] for *_, counts in ordered), *(None for _ in left)], pa.int64()) for at in range(4)),
    ]
    return bytes(pa.RecordBatch.from_arrays(columns, schema=_PACKED).serialize())


def _to_bytes(values: pa.Array) -> pa.Array:
    """Return the bytes of each value, as it lies in memory."""
    if pt.is_string(values.type):
        return values.cast(pa.binary())
    plain = values.cast(pa.uint8()) if pt.is_boolean(values.type) else values
    return plain.view(pa.binary(plain.type.bit_width // 8)).cast(pa.binary())


def _from_bytes(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pt.is_string(kind):
        return values.cast(kind)
    plain = pa.uint8() if pt.is_boolean(kind) else kind
    return values.cast(pa.binary(plain.bit_width // 8)).view(plain).cast(kind)

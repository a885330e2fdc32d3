"""What decides between two rows of one key: the rules of a table, and the narrow columns that they look at.

Pure Arrow kernels. Start at `MergeSpec`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.schema.meta_fields import COMMIT_SEQNO, COMMIT_TIME, FILE_NAME, OPERATION

__all__ = [
    "DELETE_COLUMNS",
    "IS_DELETED",
    "META_COLUMNS",
    "Bools",
    "Fill",
    "Indices",
    "LogRule",
    "MergeFunction",
    "MergeSpec",
    "Merger",
    "deleted_rows",
    "empty_cells",
    "empty_in",
    "one_array",
    "ordering_values",
    "to_bools",
    "without_value",
]

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]
Indices = np.ndarray[tuple[int], np.dtype[np.int64]]

IS_DELETED = "_hoodie_is_deleted"
DELETE_COLUMNS = (IS_DELETED, OPERATION)
"""Columns by which a row itself says that it is a delete."""
META_COLUMNS = (COMMIT_TIME, COMMIT_SEQNO, FILE_NAME)
"""Columns that say by which write a row came, and not what it is."""


MergeFunction = Callable[[pa.Table, pa.Table], pa.Table]
"""From the older and the newer rows of n keys to what becomes of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merger:
    """A function of the user's that merges rows.   See `kernels.mergers.register_merger`."""

    name: str
    function: MergeFunction
    is_order_dependent: bool = False


class Fill(StrEnum):
    """Which cells of a row are taken from the older row of its key.   Spec: format/files 6.5."""

    NOTHING = "nothing"
    NULLS = "nulls"
    UNAVAILABLE = "unavailable"
    """Texts that equal the table's marker of a value that was not at hand."""


class LogRule(StrEnum):
    """How changes meet in a log, where that is not as they meet the stored row.   Spec: format/files 6.3, 6.6."""

    AS_STORED = "as stored"
    ORDERED_DELETES = "ordered deletes"
    """A delete and a row meet by ordering value, in commit-time order too: payload classes at version 8."""
    PRECOMBINED = "precombined"
    """By ordering value in commit-time order too; any row beats the deletes by key before it, and such deletes beat the
    stored row: payload classes at version 6.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeSpec:
    """How two rows of one key become one.   Spec: format/files 6."""

    ordering: tuple[str, ...] = ()
    is_event_time: bool = False
    """The greater ordering value wins against the stored row; else the later commit does."""
    keeps_ties: bool = False
    """A row loses to the stored one with an equal ordering value."""
    is_binlog: bool = False
    """The ordering column has texts `file.position`, which compare as two numbers."""
    delete_field: str = ""
    delete_marker: str = ""
    """A row whose `delete_field` equals this is a delete; both or neither."""
    ignores_case: bool = False
    """Of the delete marker."""
    log_rule: LogRule = LogRule.AS_STORED
    fill: Fill = Fill.NOTHING
    unavailable: str = ""
    """The text that Fill.UNAVAILABLE looks for."""
    fills_log: bool = True
    """Cells are filled between changes in a log too."""
    marks_filled: bool = False
    """A row that wins over a later one, and takes cells of it, says that it came by the later one's write.

    Where payload classes rule, it says so whether it takes any or not.
    """

    merger: Merger | None = None
    """Makes one row of two; none of the other rules counts then, but for what marks a delete."""

    @property
    def orders_log(self) -> bool:
        """Return whether ordering values decide between changes of a log."""
        return bool(self.ordering) and (self.is_event_time or self.log_rule is not LogRule.AS_STORED)

    @property
    def precombines_as_text(self) -> bool:
        """Return whether places in a binary log compare as texts, and the later of equals wins, before the stored row.

        That payload class has rules of its own for what is stored only.
        """
        return self.is_binlog and self.log_rule is LogRule.PRECOMBINED

    @property
    def keeps_first(self) -> bool:
        """Return whether the first of rows with equal ordering values counts within one write."""
        return self.keeps_ties and not self.is_binlog

    @property
    def orders_stored(self) -> bool:
        """Return whether ordering values decide between a change and the stored row."""
        return bool(self.ordering) and (self.is_event_time or self.log_rule is LogRule.ORDERED_DELETES)


def deleted_rows(rows: pa.Table, spec: MergeSpec) -> Bools:
    """Return which rows are deletes by their own columns.   Spec: format/files 6.4."""
    deleted = np.zeros(rows.num_rows, dtype=np.bool_)
    if IS_DELETED in rows.column_names:
        deleted |= to_bools(pc.equal(rows[IS_DELETED], pa.scalar(value=True)))
    if OPERATION in rows.column_names:
        deleted |= to_bools(pc.is_in(rows[OPERATION], value_set=pa.array(["D", "-U"])))
    if spec.delete_field and spec.delete_field in rows.column_names:
        texts, marker = pc.cast(rows[spec.delete_field], pa.string()), spec.delete_marker
        if spec.ignores_case:
            texts, marker = pc.utf8_lower(texts), marker.lower()
        deleted |= to_bools(pc.equal(texts, marker))
    return deleted


def ordering_values(rows: pa.Table | pa.RecordBatch, spec: MergeSpec) -> tuple[pa.ChunkedArray | pa.Array, ...]:
    """Return the ordering columns that rows have, as they compare: without dictionaries, numbers as numbers.

    Shape: n rows -> columns of n values.
    """
    columns = (rows.column(name) for name in spec.ordering if name in rows.schema.names)
    plain = (one.cast(one.type.value_type) if pa.types.is_dictionary(one.type) else one for one in columns)
    return tuple(_binlog_places(one) if spec.is_binlog else one for one in plain)


def _binlog_places(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Make one number of a file's and a position in it, which takes less than 40 bits."""
    matched = pc.extract_regex(texts, r"^(?P<file>[0-9]+)\.(?P<position>[0-9]+)")
    file, position = (pc.struct_field(matched, name).cast(pa.int64()) for name in ("file", "position"))
    return pc.add(pc.multiply(file, 1 << 40), position)


def without_value(ordering: Sequence[pa.ChunkedArray], count: int) -> Bools:
    """Return which rows have no ordering value: null or, as in Java, the 32-bit integer 0.

    Shape: ordering columns of `count` rows -> `count` flags.
    Nulls: where there are several ordering columns each row has a value: nulls in it count as 0.
    """
    if len(ordering) != 1:
        return np.full(count, not ordering)
    flags = to_bools(pc.is_null(ordering[0]))
    return flags | to_bools(pc.equal(ordering[0], 0)) if pa.types.is_int32(ordering[0].type) else flags


def empty_cells(rows: pa.Table, spec: MergeSpec) -> dict[str, Bools]:
    """Return the cells that the older row of a key fills: column -> n flags, of columns that have such cells.

    Spec: format/files 6.5.
    """
    found = {name: empty_in(rows.column(name), spec) for name in rows.column_names}
    return {name: flags for name, flags in found.items() if flags is not None and flags.any()}


def empty_in(column: pa.Array | pa.ChunkedArray, spec: MergeSpec) -> Bools | None:
    """Return which cells of a column the older row of a key fills; None where there can be none.

    Shape: n values -> n flags.
    """
    if spec.fill is Fill.NULLS and column.null_count:
        return to_bools(pc.is_null(column))
    if spec.fill is Fill.UNAVAILABLE and _is_text(column.type):
        plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        return to_bools(pc.equal(plain, pa.scalar(spec.unavailable).cast(plain.type)))
    return None


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return any(of(kind) for of in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary))


def one_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Put the chunks of a column together.

    Shape: n values -> n values.
    """
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def to_bools(flags: pa.Array | pa.ChunkedArray) -> Bools:
    """Return flags as numpy has them.

    Nulls: are no.
    """
    plain: Bools = pc.fill_null(flags, fill_value=False).to_numpy(zero_copy_only=False)
    return plain

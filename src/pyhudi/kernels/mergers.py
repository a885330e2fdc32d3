"""Mergers that users write: functions that make one row of two rows of a key, by the name that a table stores.

A registration lives in one process; a write or read on Spark takes the function along to its workers. Start at
`register_merger`; `merge_in_order` calls the function.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from pyhudi.arguments import as_switch, as_text
from pyhudi.errors import HudiError, InvalidInput, OptionError
from pyhudi.kernels.rules import DELETE_COLUMNS, Bools, Indices, MergeFunction, Merger, to_bools
from pyhudi.schema.meta_fields import without_meta_fields

__all__ = ["KeyedChanges", "Merging", "merge_in_order", "register_merger", "registered_merger"]

_IS_DELETED = DELETE_COLUMNS[0]
_INTERNAL = "_pyhudi_"
"""Before the names of columns that a write adds while it works."""
_MERGERS: dict[str, Merger] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedChanges:
    """Changes of some keys in the order in which they came, a key as often as it changed."""

    codes: Indices
    """n numbers: which key each one is of."""
    rows: pa.Table
    is_delete: Bools

    def of_keys(self, chosen: Indices) -> "KeyedChanges":
        """Return the changes of some keys, which are numbered by their place among these."""
        places = np.full(max(int(self.codes.max(initial=-1)), int(chosen.max(initial=-1))) + 1, -1, dtype=np.int64)
        places[chosen] = np.arange(len(chosen))
        kept = np.flatnonzero(places[self.codes] >= 0)
        return KeyedChanges(
            codes=places[self.codes[kept]], rows=self.rows.take(pa.array(kept)), is_delete=self.is_delete[kept]
        )


def register_merger(name: str, function: MergeFunction, order_dependent: bool = False) -> None:
    """Make a function known as the merger of tables that name it; a name registered again means the new function.

    It decides what becomes of two rows of one key, wherever they meet: in a write, in a read that merges log files, and
    in a compaction. A delete by key always deletes, and a row that comes after a delete is taken as it is.

    Args:
        name: what the table stores as `hoodie.record.merge.strategy.id`, with merge mode CUSTOM; of a table with a
            payload class of its own, the name of the class.
        function: takes the older and the newer rows as two pyarrow Tables with the table's columns, row by row of one
            key, and returns as many rows. A column that it leaves out comes from the newer row. Rows with true in a
            column `_hoodie_is_deleted` are deleted.
        order_dependent: merging the second change into the first, and both into the stored row, is not the same as
            merging one after the other into the stored row. Logs of such tables are not compacted into logs.

    Example:
        >>> def add_up(older, newer):
        ...     return newer.set_column(
        ...         newer.schema.get_field_index("n"), "n", pc.add(older["n"], newer["n"])
        ...     )
        >>> pyhudi.register_merger("2f0e2f5c-7a52-4c0c-9a39-5f2f4b1a3a77", add_up)

    Raises: OptionError for an empty name; InvalidInput for what is no function.
    """
    if not as_text("name", name):
        raise OptionError("a merger needs a name")
    if not callable(function):
        raise InvalidInput("a merger is a function of older and newer rows", name=name, function=function)
    is_dependent = as_switch("order_dependent", order_dependent)
    _MERGERS[name.lower()] = Merger(name=name, function=function, is_order_dependent=is_dependent)


def registered_merger(name: str) -> Merger | None:
    """Find a registered merger; None where there is none of this name in this process.   Cost: reads nothing."""
    return _MERGERS.get(name.lower())


class Merging(NamedTuple):
    """What merging leaves: a row a key."""

    rows: pa.Table
    is_gone: Bools
    """Rows that are deleted."""
    follows_delete: Bools
    """Rows whose key was deleted on the way: nothing of what is before these changes is in them."""


def merge_in_order(state: pa.Table, is_gone: Bools, changes: KeyedChanges, merger: Merger) -> Merging:
    """Let the changes of each key meet what is there of it, one after the other, all keys at once.

    Shape:  state: a row a key, numbered as `changes.codes`, with the columns of the changes -> as many. Dictionaries
            are spelled out.
    Cost:   a call of the function, and a gather of the rows, for each time that a key changes.
    Raises: InvalidInput for a function that fails, or returns what is no merged row.
    """
    counts = np.bincount(changes.codes, minlength=state.num_rows)
    order = np.argsort(changes.codes, kind="stable")
    starts = np.cumsum(counts) - counts
    state, rows, is_gone = _plain(state), _plain(changes.rows), is_gone.copy()
    was_gone = is_gone.copy()
    for number in range(int(counts.max(initial=0))):
        met = np.flatnonzero(counts > number)
        new = order[starts[met] + number]
        both = ~(changes.is_delete[new] | is_gone[met])
        older, newer = state.take(pa.array(met[both])), rows.take(pa.array(new[both]))
        made, is_deleted = _made(merger, older, newer)
        places = np.arange(state.num_rows)
        places[np.concatenate([met[~both], met[both]])] = state.num_rows + np.arange(len(met))
        state = pa.concat_tables([state, rows.take(pa.array(new[~both])), made]).take(pa.array(places))
        is_gone[met] = changes.is_delete[new]
        is_gone[met[both]] = is_deleted
        was_gone |= is_gone
    return Merging(rows=state, is_gone=is_gone, follows_delete=was_gone & ~is_gone)


def _made(merger: Merger, older: pa.Table, newer: pa.Table) -> tuple[pa.Table, Bools]:
    """Call the function, and put what it made in the place of the newer rows."""
    if not newer.num_rows:
        return newer, np.zeros(0, dtype=np.bool_)
    made = _called(merger, _own_columns(older), _own_columns(newer))
    if not isinstance(made, pa.Table) or made.num_rows != newer.num_rows:
        raise InvalidInput("a merger must return an arrow table with a row a pair", name=merger.name, rows=len(newer))
    if unknown := sorted({*made.column_names} - {*newer.column_names, _IS_DELETED}):
        raise InvalidInput("a merger returned columns that the table has not", name=merger.name, columns=unknown)
    flags = np.zeros(newer.num_rows, dtype=np.bool_)
    if _IS_DELETED in made.column_names:
        flags = to_bools(_cast(merger, made.column(_IS_DELETED), pa.field(_IS_DELETED, pa.bool_())))
    given = frozenset(made.column_names)
    columns = [
        _cast(merger, made.column(field.name), field) if field.name in given else newer.column(at)
        for at, field in enumerate(newer.schema)
    ]
    return pa.Table.from_arrays(columns, schema=newer.schema), flags


def _called(merger: Merger, older: pa.Table, newer: pa.Table) -> object:
    try:
        return merger.function(older, newer)
    except (HudiError, MemoryError):
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise InvalidInput(f"the merger failed: {said}", name=merger.name) from error


def _cast(merger: Merger, column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInput(
            "a merger returned a column of another type", name=merger.name, column=field.name, found=str(column.type)
        ) from error


def _plain(rows: pa.Table) -> pa.Table:
    """Spell dictionaries out."""
    types = (one.type.value_type if pa.types.is_dictionary(one.type) else one.type for one in rows.schema)
    return rows.cast(pa.schema([field.with_type(kind) for field, kind in zip(rows.schema, types, strict=True)]))


def _own_columns(rows: pa.Table) -> pa.Table:
    own = without_meta_fields(rows)
    return own.select([name for name in own.column_names if not name.startswith(_INTERNAL)])

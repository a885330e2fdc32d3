"""Take in what users hand over: rows of any kind, or only keys.

Start at `take_records`.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import Any, Final, TypeGuard

import pyarrow as pa

from pyhudi.arguments import as_text
from pyhudi.commit.call import WRITE_MEMORY, WriteCall
from pyhudi.engine.api import KEY, ORDER, PARTITION, Engine, Frame, RowsMemory
from pyhudi.engine.frames import arrow_table
from pyhudi.errors import HudiError, InvalidInput, KeyMissing, SchemaMismatch
from pyhudi.filegroup.merge_memory import SPILL_DIRECTORY
from pyhudi.options import Settings
from pyhudi.predicate import column
from pyhudi.queries.given_keys import keys_as_stored
from pyhudi.queries.key_encoding import stored_key_encoding
from pyhudi.queries.slices import table_schema
from pyhudi.schema.evolution import RECONCILE
from pyhudi.schema.fields import nullable_all_through
from pyhudi.schema.pandas_index import index_names, is_unnamed_index, with_pandas_index
from pyhudi.schema.python_values import to_array
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import InstantTime

__all__ = ["columns_of_new_table", "key_rows", "keyed_rows", "rows_for_new_table", "rows_of_dicts", "take_records"]

_NO_INSTANT: Final = InstantTime("0")
"""A generated key that starts with it is no row's."""
_log = logging.getLogger("pyhudi.actions")


def take_records(call: WriteCall, records: Any, *, is_as_it_is: bool = False) -> Frame:  # noqa: ANN401 - anything Arrow
    """Make a frame of Arrow data, a DataFrame of any library, or a list or generator of batches or of dicts.

    Dicts get the types of the table's columns, an empty list all of them; `is_as_it_is` (a merge's source) leaves them
    what they look like. A generator of dicts is read to its end, one of batches as far as memory is for its rows.

    Raises: InvalidInput for anything else; SchemaMismatch for values that do not fit.
    """
    memory = RowsMemory(max_bytes=call.settings.get(WRITE_MEMORY), spill_directory=call.settings.get(SPILL_DIRECTORY))
    given = _begun(records)
    if isinstance(given, _Batches) and not is_as_it_is:
        return call.engine.frame(given.reader(), memory)
    given = _listed(given)
    if _are_dicts(given):
        known = pa.schema([]) if is_as_it_is else table_schema(call.state, load_timeline(call.state))
        rows = rows_of_dicts(given, known, may_widen=call.settings.get(RECONCILE)) if given else known.empty_table()
        return call.engine.frame(rows)
    rows = _arrow_rows(given, None if is_as_it_is else lambda: _stored_names(call))
    return call.engine.frame(rows, None if is_as_it_is else memory)


def rows_for_new_table(engine: Engine, records: Any, fields: Collection[str], settings: Settings) -> Frame:  # noqa: ANN401 - anything Arrow
    """Make a frame of rows that a table is to be made for; `fields` are its key, partition and ordering fields.

    A pandas frame's index becomes a column only if it is one of the fields.
    """
    memory, given = _memory_of(settings), _begun(records)
    if isinstance(given, _Batches):
        return engine.frame(given.reader(), memory)
    given = _listed(given)
    return engine.frame(rows_of_dicts(given) if _are_dicts(given) else _arrow_rows(given, lambda: fields), memory)


def _memory_of(settings: Settings) -> RowsMemory:
    """Read how much memory rows may take.   Raises: InvalidInput for too little."""
    return RowsMemory(max_bytes=settings.get(WRITE_MEMORY), spill_directory=settings.get(SPILL_DIRECTORY))


def columns_of_new_table(schema: pa.Schema, record_key: Collection[str]) -> pa.Schema:
    """Return the columns of rows that a new table stores: all but Hudi's own and a pandas index without a name.

    But for key fields they are nullable whatever the rows say, inside of lists and structs too: that none of the first
    rows has a null, as Spark tells of literals, is no promise of later ones.
    """
    kept = [one for one in schema if not one.name.startswith("_hoodie_") and not is_unnamed_index(one.name)]
    wide = nullable_all_through(pa.schema(kept))
    return pa.schema([one if one.name in record_key else wide.field(one.name) for one in kept])


class _Batches:
    """A generator of Arrow batches, of which the first was read."""

    def __init__(self, first: pa.RecordBatch | pa.Table, rest: Iterator[Any]) -> None:
        self._parts = chain([first], rest)
        self._schema = first.schema

    def __iter__(self) -> Iterator[Any]:
        return self._parts

    def reader(self) -> pa.RecordBatchReader:
        """Return the batches, which have the columns of the first one."""
        return pa.RecordBatchReader.from_batches(self._schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for number, part in enumerate(self._parts):
            rows = _part(part, number, None)
            if not rows.schema.equals(self._schema):
                raise InvalidInput(
                    "the batches of a write have the same columns", batch=number, columns=rows.schema.names
                )
            yield from rows.to_batches()


def _begun(records: Any) -> Any:  # noqa: ANN401 - anything Arrow
    """Read the first part of a generator: batches are not listed.

    Raises: InvalidInput where the caller's own code fails.
    """
    if not isinstance(records, Iterator) or hasattr(records, "__arrow_c_stream__"):
        return records
    try:
        first = next(records, None)
    except (HudiError, MemoryError):
        raise
    except Exception as error:
        raise InvalidInput(f"these rows cannot be read: {error}", type=type(records).__name__) from error
    if isinstance(first, pa.RecordBatch | pa.Table):
        return _Batches(first, records)
    return records if first is None else chain([first], records)


def _listed(records: Any) -> Any:  # noqa: ANN401 - anything Arrow
    """Return what a generator, or another iterator, has as a list; all else as it is.

    Raises: InvalidInput where the caller's own code fails.
    """
    if isinstance(records, list) or hasattr(records, "__arrow_c_stream__"):
        return records
    if not isinstance(records, tuple | Iterator | _Batches):
        return records
    try:
        return list(records)
    except (HudiError, MemoryError):
        raise
    except Exception as error:
        raise InvalidInput(f"these rows cannot be read: {error}", type=type(records).__name__) from error


def _are_dicts(given: object) -> TypeGuard[list[Any]]:
    """Check whether rows are a list of dicts, as far as the first one tells."""
    return isinstance(given, list) and (not given or isinstance(given[0], dict))


def _arrow_rows(given: Any, columns: Callable[[], Collection[str]] | None) -> Any:  # noqa: ANN401 - anything Arrow
    """Return rows as an engine takes them in: the parts of a list as one table, a pandas frame without its index.

    Raises: InvalidInput for parts that are no Arrow data, or whose columns differ.
    """
    if not isinstance(given, list):
        return _rows_of_pandas(given, columns) if _is_pandas(given) else given
    parts = [_part(one, number, columns) for number, one in enumerate(given)]
    try:
        return pa.concat_tables(parts)
    except pa.ArrowInvalid as error:
        raise InvalidInput(f"the batches of a write have the same columns: {error}", batches=len(parts)) from error


def _part(one: Any, number: int, columns: Callable[[], Collection[str]] | None) -> pa.Table:  # noqa: ANN401
    if isinstance(one, list | tuple | dict | str | bytes | Iterator):
        raise InvalidInput("a list of rows holds dicts, or batches of Arrow", row=number, found=type(one).__name__)
    return _rows_of_pandas(one, columns) if _is_pandas(one) else arrow_table(one)


def _is_pandas(records: object) -> bool:
    """Check whether rows are a pandas frame, which has an index beside its columns."""
    return any(kind.__module__.startswith("pandas.") for kind in type(records).__mro__)


def _rows_of_pandas(records: object, columns: Callable[[], Collection[str]] | None) -> pa.Table:
    """Return a pandas frame as Arrow rows; an index level is a column if its name is among `columns`, or they are None.

    `columns` is asked only where the frame has a named index.
    """
    rows = arrow_table(records)
    names = index_names(rows.schema)
    known = names if columns is None or not names else columns()
    left_out = [name for name in names if name not in known]
    if left_out:
        _log.warning("the index %s of these rows is no column of the table and is left out", ", ".join(left_out))
    return with_pandas_index(rows, known)


def _stored_names(call: WriteCall) -> Collection[str]:
    names: list[str] = table_schema(call.state, load_timeline(call.state)).names
    return names


def key_rows(call: WriteCall, given: Iterable[object]) -> Frame:
    """Make rows of record keys alone, each once: their partitions are unknown, unless the table has none.

    Raises: as `keys_as_stored`.
    """
    keys = keys_as_stored(call.state, given, call.settings)
    partition = None if call.state.config.partition_fields else ""
    rows = pa.table(
        {
            KEY: pa.array(keys, pa.string()),
            PARTITION: pa.array([partition] * len(keys), pa.string()),
            ORDER: pa.array(range(len(keys)), pa.int64()),
        }
    )
    return call.engine.frame(rows)


def keyed_rows(call: WriteCall, rows: Frame) -> Frame:
    """Reduce rows to their keys and partitions.

    Raises: KeyMissing.
    """
    if not call.state.config.record_key and KEY not in call.engine.schema(rows).names:
        raise KeyMissing("this table's keys are generated; give rows that were read from it", missing=KEY)
    spec = replace(call, key_encoding=stored_key_encoding(call.state, load_timeline(call.state))).keys(_NO_INSTANT)
    keyed = call.engine.with_keys(rows, spec)
    return call.engine.select(keyed, {name: column(name) for name in (KEY, PARTITION, ORDER)})


def rows_of_dicts(records: list[Any], known: pa.Schema | None = None, *, may_widen: bool = False) -> pa.Table:
    """Make rows of dicts; a name that a dict lacks is null, and `known` has the types of the columns there are.

    Where columns `may_widen`, values that do not fit have the type they look like.

    Raises: InvalidInput; SchemaMismatch that names row, column and value where a value would change.
    """
    for row, record in enumerate(records):
        if not isinstance(record, dict):
            raise InvalidInput("a list of records holds dicts", row=row, found=type(record).__name__)
    names = list(dict.fromkeys(name for record in records for name in record))
    for name in names:
        as_text("the name of a column", name)
    columns = []
    for name in names:
        kind = known.field(name).type if known is not None and name in known.names else None
        values = [record.get(name) for record in records]
        try:
            columns.append(to_array(values, kind, name))
        except SchemaMismatch:
            if kind is None or not may_widen:
                raise
            columns.append(to_array(values, None, name))
    return pa.table(columns, names=names)

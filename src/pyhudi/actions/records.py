"""Take in what users hand over: rows of any kind, or only keys.

Start at `take_records`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from pyhudi.actions.call import WriteCall
from pyhudi.actions.key_encoding import stored_key_encoding
from pyhudi.engine.api import KEY, ORDER, PARTITION, Frame
from pyhudi.errors import InvalidInput, KeyMissing, SchemaMismatch
from pyhudi.predicate import column
from pyhudi.queries.slices import table_schema
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import InstantTime

__all__ = ["key_rows", "keyed_rows", "rows_of_dicts", "take_records"]

_NO_INSTANT: Final = InstantTime("0")
"""A generated key that starts with it is nobody's."""


def take_records(call: WriteCall, records: Any, *, is_as_it_is: bool = False) -> Frame:  # noqa: ANN401 - anything Arrow
    """Make a frame of Arrow data, a DataFrame of any library, or a list of dicts.

    Dicts get the types of the table's columns, an empty list all of them; `is_as_it_is` (a merge's source) leaves them
    what they look like.

    Raises: InvalidInput for anything else; SchemaMismatch for values that do not fit.
    """
    if isinstance(records, list):
        known = pa.schema([]) if is_as_it_is else table_schema(call.state, load_timeline(call.state))
        return call.engine.frame(rows_of_dicts(records, known) if records else known.empty_table())
    return call.engine.frame(records)


def key_rows(call: WriteCall, keys: Sequence[str]) -> Frame:
    """Make rows of record keys alone: their partitions are unknown, unless the table has none."""
    if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
        raise InvalidInput("keys is a list of record keys, each a text", keys=keys)
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
    spec = replace(call, key_encoding=stored_key_encoding(call.state)).keys(_NO_INSTANT)
    keyed = call.engine.with_keys(rows, spec)
    return call.engine.select(keyed, {name: column(name) for name in (KEY, PARTITION, ORDER)})


def rows_of_dicts(records: list[Any], known: pa.Schema | None = None) -> pa.Table:
    """Make rows of dicts; a name that a dict lacks is null, and `known` tells columns' types.

    Raises: InvalidInput, SchemaMismatch.
    """
    if not all(isinstance(record, dict) for record in records):
        wrong = next(record for record in records if not isinstance(record, dict))
        raise InvalidInput("a list of records holds dicts", found=type(wrong).__name__)
    names = list(dict.fromkeys(name for record in records for name in record))
    columns = []
    for name in names:
        kind = known.field(name).type if known is not None and name in known.names else None
        try:
            columns.append(pa.array([record.get(name) for record in records], kind))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
            raise SchemaMismatch(f"values do not fit the column: {error}", column=name, type=str(kind)) from error
    return pa.table(columns, names=names)

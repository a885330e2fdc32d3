"""Write a DataFrame with the operations, save modes and options of Apache Hudi's data source.

Start at `write`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame

from pyhudi.actions.drop import drop_files
from pyhudi.actions.records import columns_of_new_table
from pyhudi.arguments import as_mapping, as_option_text, as_switch, as_text, as_texts
from pyhudi.commit.call import OPERATION, WriteResult, require_operation
from pyhudi.engine.api import KEY, ORDER, PARTITION
from pyhudi.env import SystemEnv
from pyhudi.errors import InvalidInput, NotBuilt, OptionError, TableExists, TableNotFound
from pyhudi.options import Settings, option
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.schema.types import to_table_schema
from pyhudi.spark.engine import SparkEngine
from pyhudi.spark.failures import spark_errors
from pyhudi.spark.releases import is_frame
from pyhudi.state.agreement import require_agreement
from pyhudi.state.config import PARTITION_FIELDS, key_spec, names_of
from pyhudi.state.creation import NAME
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import has_properties, open_state
from pyhudi.state.refusals import require_writable
from pyhudi.storage.api import Storage
from pyhudi.storage.opening import open_storage
from pyhudi.table import Table
from pyhudi.table.creating import TableArguments, plan_table
from pyhudi.table.types import Records
from pyhudi.txn.locks import lock_for

__all__ = ["plan_new_table", "run_operation", "write", "write_settings"]

PARTITIONS_TO_DELETE: Final = option(
    "hoodie.datasource.write.partitions.to.delete",
    "",
    "delete_partition: partition paths or patterns with `*`, separated by commas.",
    is_kept=False,
)
COMMIT_KEY_PREFIX: Final = option(
    "hoodie.datasource.write.commitmeta.key.prefix",
    "_",
    "Spark: options whose names begin so go into the commit's extraMetadata as they are.",
    is_kept=False,
)

_MODES: Final = {
    "append": "append",
    "overwrite": "overwrite",
    "ignore": "ignore",
    "error": "errorifexists",
    "errorifexists": "errorifexists",
    "default": "errorifexists",
}
_NEED_A_TABLE: Final = ("delete", "delete_partition")
_REPLACING: Final = ("insert_overwrite", "insert_overwrite_table")


def write(
    df: DataFrame,
    path: str,
    operation: str | None = None,
    mode: str | None = "append",
    options: Mapping[str, object] | None = None,
    *,
    partition_by: Sequence[str] | None = None,
    storage_options: Mapping[str, str] | None = None,
    commit_metadata: Mapping[str, str] | None = None,
    needs_name: bool = False,
) -> WriteResult | None:
    """Write rows as one commit; a table that is not there is created of the options and the rows' columns.

    `mode` is Spark's: `append` adds by the operation, `overwrite` drops a table and writes anew (with an
    insert_overwrite operation it replaces within the table), `errorifexists`, `ignore`, which gives None for a table
    that is there. `needs_name` refuses to call a new table after its path.

    Raises: InvalidInput and its kinds, TableNotFound, PathNotShared, NotBuilt before anything is written; Conflict.
    """
    if not is_frame(df):
        raise InvalidInput(
            "give a Spark DataFrame; for other rows there is pyhudi.write_table, and .to_spark() of pandas-on-Spark",
            given=type(df).__name__,
        )
    if df.isStreaming:
        raise InvalidInput("rows of a stream are written by pyhudi.spark.streaming_sink")
    given = as_mapping("options", options)
    storage = open_storage(path, storage_options, SystemEnv())
    engine = SparkEngine.of(df, storage)
    settings, extra = write_settings(given, engine.session_options, partition_by)
    said = {**extra, **as_mapping("commit_metadata", commit_metadata)}
    chosen = _operation(operation, settings, given)
    save_mode, exists = _save_mode(mode, chosen), has_properties(storage)
    if exists and save_mode == "ignore":
        return None
    if exists and save_mode == "errorifexists":
        raise TableExists("there is a table already; choose mode append or overwrite", path=storage.url)
    if not exists and chosen in _NEED_A_TABLE:
        raise TableNotFound(f"there is no table for operation {chosen}", path=storage.url)
    if exists and (save_mode == "append" or chosen in _REPLACING):
        return run_operation(Table(open_state(storage, SystemEnv())), df, settings, said, chosen)
    rows = df.drop(*META_FIELDS)  # another table's keys mean nothing in this one
    planned = plan_new_table(engine.schema(rows), storage, settings, needs_name=as_switch("needs_name", needs_name))
    with _kept(engine, rows, planned, settings) if exists else nullcontext(rows) as kept:
        if exists:
            drop_files(storage)
        return run_operation(Table(planned), kept, settings, said, chosen)


def write_settings(
    options: Mapping[str, object], session: Mapping[str, str], partition_by: Sequence[str] | str | None
) -> tuple[Settings, dict[str, str]]:
    """Read the options of a write, over a session's; those for the commit's metadata go apart.

    `partition_by` may say the partition fields, as Spark's `partitionBy` does.

    Raises: OptionError, NotBuilt.
    """
    said = options.get(COMMIT_KEY_PREFIX.key, session.get(COMMIT_KEY_PREFIX.key, COMMIT_KEY_PREFIX.default))
    prefix = as_option_text(COMMIT_KEY_PREFIX.key, said)
    extra = {key: as_option_text(key, value) for key, value in options.items() if prefix and key.startswith(prefix)}
    settings = Settings.of({key: value for key, value in options.items() if key not in extra}, session)
    named = () if partition_by is None else [partition_by] if isinstance(partition_by, str) else partition_by
    columns = as_texts("partition_by", named)
    if not columns:
        return settings, extra
    fields = [field.partition(":")[0] for field in names_of(settings.get(PARTITION_FIELDS))]
    if fields and fields != columns:
        raise OptionError(
            "partitionBy and option contradict each other; give one of them",
            partition_by=columns,
            key=PARTITION_FIELDS.key,
            value=settings.get(PARTITION_FIELDS),
        )
    return (settings if fields else Settings({**settings.values, PARTITION_FIELDS.key: ",".join(columns)})), extra


def _operation(given: str | None, settings: Settings, options: Mapping[str, object]) -> str:
    """Return the operation: the argument, else the option; empty where neither says.

    Raises: OptionError where the call's argument and options contradict each other.
    """
    if given is None and not settings.has(OPERATION):
        return ""
    chosen = settings.get(OPERATION) if given is None else Settings.of({OPERATION.key: given}).get(OPERATION)
    if OPERATION.key in options:
        require_operation({OPERATION.key: options[OPERATION.key]}, chosen)
    if chosen == "bootstrap":
        raise NotBuilt("pyhudi does not bootstrap tables yet; read the files and write them", operation=chosen)
    return chosen


def _save_mode(given: str | None, operation: str) -> str:
    mode = _MODES.get("default" if given is None else as_text("mode", given).lower())
    if mode is None:
        raise InvalidInput("a save mode is append, overwrite, errorifexists or ignore", mode=given)
    if operation in _NEED_A_TABLE and mode != "append":
        raise InvalidInput(f"operation {operation} takes mode append", mode=given)
    return mode


def plan_new_table(rows: pa.Schema, storage: Storage, settings: Settings, *, needs_name: bool) -> TableState:
    """Plan the new table, of the options and the rows' columns; nothing is written.

    Raises: InvalidInput and its kinds, NotBuilt.
    """
    if needs_name and not settings.get(NAME):
        raise OptionError("a new table needs its name", key=NAME.key)
    columns = columns_of_new_table(rows, TableArguments().key_fields(settings))
    planned = plan_table(storage, SystemEnv(), columns, settings)
    require_agreement(settings, planned.config)
    require_writable(planned.config, planned.layout)
    lock_for(planned, settings)
    return planned


@contextmanager
def _kept(engine: SparkEngine, df: DataFrame, planned: TableState, settings: Settings) -> Iterator[DataFrame]:
    """Compute the rows and their keys while the old table is still there, and keep them until they are written.

    What is wrong with a row is found before anything is dropped, and rows that Spark cannot tell come from the old
    table are not lost with it.
    """
    _require_elsewhere(df, planned.storage)
    if planned.config.record_key:
        columns = to_table_schema(engine.schema(df))
        df = engine.with_keys(engine.conform(df, columns), key_spec(planned.config, settings))
    with engine.hold(df) as held:  # whole rows: a count alone would leave their keys out
        engine.count(held, [])
        yield held.drop(KEY, PARTITION, ORDER)


def _require_elsewhere(df: DataFrame, storage: Storage) -> None:
    """Refuse to drop what the rows are read from, where Spark tells."""
    with spark_errors():
        files = df.inputFiles()
    place = _place(storage.url).rstrip("/") + "/"
    read = next((file for file in files if _place(file).startswith(place)), None)
    if read is not None:
        raise InvalidInput(
            "the rows are read from the table that mode overwrite drops; use operation insert_overwrite_table",
            path=storage.url,
            file=read,
        )


def _place(url: str) -> str:
    """Leave out the scheme, which has several names for one store, and the escapes."""
    return unquote(re.sub(r"^[a-z0-9]+:(//)?", "", url))


def run_operation(
    table: Table, rows: Records, settings: Settings, extra: Mapping[str, str], operation: str = ""
) -> WriteResult | None:
    """Call the verb of an operation, else of the option.

    Where neither says, rows are upserted; those for which keys are generated have none to look up and are inserted.

    Raises: what the verb raises.
    """
    operation = operation or (settings.get(OPERATION) if settings.has(OPERATION) else "")
    verb = operation or (
        "upsert" if table.config.record_key or (isinstance(rows, DataFrame) and KEY in rows.columns) else "insert"
    )
    said: dict[str, Any] = {"options": {**settings.values, OPERATION.key: verb}, "commit_metadata": extra}
    result: WriteResult
    match verb:
        case "upsert":
            result = table.upsert(rows, **said)
        case "insert":
            result = table.insert(rows, **said)
        case "bulk_insert":
            result = table.bulk_insert(rows, **said)
        case "delete":
            result = table.delete(rows, **said)
        case "insert_overwrite":
            result = table.insert_overwrite(rows, **said)
        case "insert_overwrite_table":
            result = table.insert_overwrite_table(rows, **said)
        case _:
            result = table.delete_partitions(_partitions(settings), **said)
    return result


def _partitions(settings: Settings) -> tuple[str, ...]:
    named = names_of(settings.get(PARTITIONS_TO_DELETE))
    if not named:
        raise OptionError("delete_partition needs the partitions", key=PARTITIONS_TO_DELETE.key)
    return named

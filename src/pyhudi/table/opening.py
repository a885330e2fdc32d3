"""Create, open and find tables by their path. Start at `open_table`."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Literal

import pyarrow as pa

from pyhudi.actions.drop import drop_files
from pyhudi.actions.records import columns_of_new_table, rows_for_new_table
from pyhudi.arguments import as_choice, as_switch
from pyhudi.commit.call import WriteResult
from pyhudi.engine.registry import engine_for
from pyhudi.env import Env, SystemEnv
from pyhudi.errors import InvalidInput, TableExists, TableNotFound
from pyhudi.options import Settings
from pyhudi.services.metadata_table import make_table
from pyhudi.state.agreement import require_same_arguments
from pyhudi.state.config import PARTITION_FIELDS, names_of
from pyhudi.state.creation import ORDERING_FIELDS, RECORD_KEY
from pyhudi.state.kept_options import settings_of
from pyhudi.state.properties_file import has_properties, open_state
from pyhudi.storage.opening import open_storage
from pyhudi.table.creating import TableArguments, plan_table, require_as_asked, require_kept_options
from pyhudi.table.table import Table
from pyhudi.table.types import Names, Options, Records, Schema
from pyhudi.table.writes import commit_entries
from pyhudi.txn.locks import lock_report

__all__ = ["create_table", "drop_table", "locks", "open_table", "pending", "table_exists", "write_table"]


def open_table(path: str, *, storage_options: Mapping[str, str] | None = None, env: Env | None = None) -> Table:
    """Open the table at a path.

    Args:
        path: the base path: local, or s3://, gs://, az://, abfss://, hdfs://, memory://.
        storage_options: what the store needs, such as region and credentials: `docs/guide.md` lists them.
        env: clocks and ids of your own, for tests.

    Example:
        >>> pyhudi.open_table(path).name
        'trips'

    Raises: TableNotFound, CorruptData, Unsupported.
    """
    world = env or SystemEnv()
    return Table(open_state(open_storage(path, storage_options, world), world))


def table_exists(path: str, *, storage_options: Mapping[str, str] | None = None) -> bool:
    """Return whether there is a Hudi table at a path.

    Args:
        path: as in `open_table`.
        storage_options: as in `open_table`.

    Example:
        >>> pyhudi.table_exists(path)
        True
    """
    return has_properties(open_storage(path, storage_options, SystemEnv()))


def create_table(
    path: str,
    schema: Schema,
    *,
    name: str | None = None,
    record_key: Names | None = None,
    partition_by: Names | None = None,
    ordering: Names | None = None,
    table_type: str | None = None,
    table_version: int | None = None,
    options: Options | None = None,
    storage_options: Mapping[str, str] | None = None,
    if_exists: Literal["error", "open"] = "error",
    env: Env | None = None,
) -> Table:
    """Create an empty table with these columns.

    Args:
        path: as in `open_table`; the directory is made.
        schema: the columns: a pyarrow Schema, or anything that exports one.
        name: the table's name; the last part of the path, without it.
        record_key: the columns that make a row's key; keys are generated, without it.
        partition_by: the columns that make the directory of a row.
        ordering: the columns of which the greatest value wins among rows of one key; the later commit wins, without it.
        table_type: `cow` or `mor`.
        table_version: 9, 8 or 6: which releases of Apache Hudi read it; 9 is the newest.
        options: options of Apache Hudi by their keys, which the table keeps: those that say what it is, and those of
            its writes and services, for which a write's own win. One that acts on a single call is refused.
        storage_options: as in `open_table`.
        if_exists: `error`, or `open` to take the table that is there, if it is what the arguments and options say.
        env: as in `open_table`.

    Example:
        >>> schema = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("value", pa.float64())])
        >>> pyhudi.create_table(f"{path}-days", schema, record_key=["id"], partition_by=["day"]).schema.names
        ['id', 'day', 'value']

    Raises: TableExists, InvalidInput, OptionError, NotBuilt.
    """
    as_choice("if_exists", if_exists, ("error", "open"))
    world = env or SystemEnv()
    storage = open_storage(path, storage_options, world)
    settings, columns = Settings.of(options), _columns(schema)
    arguments = TableArguments(
        name=name,
        record_key=record_key,
        partition_by=partition_by,
        ordering=ordering,
        table_type=table_type,
        table_version=table_version,
    )
    if not has_properties(storage):
        planned = plan_table(storage, world, columns, settings, arguments, keeps_options=True)
        require_kept_options(settings, planned.config.properties, planned.config.record_key)
        with suppress(TableExists):  # another writer was quicker
            return Table(make_table(planned, settings, engine_for(columns, storage)))
    if if_exists != "open":
        raise TableExists("there is a table already; open it, or pass if_exists='open'", path=storage.url)
    state = open_state(storage, world)
    require_as_asked(state, columns, settings, arguments)
    return Table(state)


def write_table(
    path: str,
    records: Records,
    *,
    record_key: Names | None = None,
    partition_by: Names | None = None,
    ordering: Names | None = None,
    name: str | None = None,
    mode: Literal["append", "overwrite"] = "append",
    options: Options | None = None,
    storage_options: Mapping[str, str] | None = None,
    commit_metadata: Mapping[str, str] | None = None,
) -> WriteResult:
    """Write rows in one call: create the table if there is none, then upsert them, or replace everything by them.

    Args:
        path: as in `open_table`.
        records: rows of any kind that `Table.upsert` takes; a new table gets their columns.
        record_key: as in `create_table`.
        partition_by: as in `create_table`.
        ordering: as in `create_table`.
        name: as in `create_table`.
        mode: `append` upserts, `overwrite` replaces the whole content.
        options: options of Apache Hudi by their keys.
        storage_options: as in `open_table`.
        commit_metadata: entries of your own for the commit.

    Example:
        >>> pyhudi.write_table(f"{path}-cities", [{"city": "oslo", "people": 717710}], record_key=["city"]).inserted
        1

    Raises: as `create_table` and `Table.upsert`.
    """
    as_choice("mode", mode, ("append", "overwrite"))
    said = commit_entries(commit_metadata)
    world, settings = SystemEnv(), Settings.of(options)
    storage = open_storage(path, storage_options, world)
    arguments = TableArguments(name=name, record_key=record_key, partition_by=partition_by, ordering=ordering)
    if has_properties(storage):
        table = Table(open_state(storage, world))
        require_same_arguments(asdict(arguments), table.config)
    else:
        engine = engine_for(records, storage)
        records = rows_for_new_table(engine, records, arguments.fields | _fields(settings), settings)
        columns = columns_of_new_table(engine.schema(records), arguments.key_fields(settings))
        table = Table(plan_table(storage, world, columns, settings, arguments))
    if mode == "append":
        return table.upsert(records, options=options, commit_metadata=said)
    return table.insert_overwrite_table(records, options=options, commit_metadata=said)


def drop_table(
    path: str, *, storage_options: Mapping[str, str] | None = None, missing_ok: bool = False, dry_run: bool = False
) -> tuple[str, ...]:
    """Delete the table at a path with all its files, also those that are not Hudi's; returns them, relative to it.

    Nothing brings them back, and no writer is waited for: let none be at work.

    Args:
        path: as in `open_table`.
        storage_options: as in `open_table`.
        missing_ok: do nothing where there is no table.
        dry_run: return the files and delete none.

    Example:
        >>> len(pyhudi.drop_table(path, dry_run=True)) > 3
        True
        >>> _ = pyhudi.drop_table(path)
        >>> pyhudi.table_exists(path)
        False

    Raises: TableNotFound: a directory without a table is never deleted.
    """
    is_dry_run, is_fine = as_switch("dry_run", dry_run), as_switch("missing_ok", missing_ok)
    storage = open_storage(path, storage_options, SystemEnv())
    if not has_properties(storage):
        if is_fine:
            return ()
        raise TableNotFound("there is no Hudi table at this path; nothing was deleted", path=storage.url)
    files = tuple(status.path for status in storage.list(""))
    if not is_dry_run:
        drop_files(storage)
    return files


def pending(path: str, *, storage_options: Mapping[str, str] | None = None) -> pa.Table:
    """List the pending instants of the table at a path: how old, whose, and what to do.

    Args:
        path: as in `open_table`.
        storage_options: as in `open_table`.

    Example:
        >>> pyhudi.pending(path)["what_to_do"].to_pylist()
        []
    """
    return open_table(path, storage_options=storage_options).inspect.pending()


def locks(path: str, *, options: Options | None = None, storage_options: Mapping[str, str] | None = None) -> pa.Table:
    """Return which lock guards the table at a path, and its holder: since when, how long yet, and what to do.

    Args:
        path: as in `open_table`.
        options: which lock, where the table does not say it: `hoodie.write.lock.*`.
        storage_options: as in `open_table`.

    Example:
        >>> pyhudi.locks(path).num_rows
        1
    """
    state = open_table(path, storage_options=storage_options).state
    return lock_report(state, settings_of(state.config, options))


def _fields(settings: Settings) -> set[str]:
    """Return the columns that options name as fields of a key, of the partition path or of the order."""
    said = [name for one in (RECORD_KEY, PARTITION_FIELDS, ORDERING_FIELDS) for name in names_of(settings.get(one))]
    return {name.partition(":")[0] for name in said}


def _columns(given: object) -> pa.Schema:
    """Take the columns of a new table; rows have columns too, but are written by `write_table`."""
    if hasattr(given, "__arrow_c_stream__") and not hasattr(given, "__arrow_c_schema__"):
        raise InvalidInput(
            "schema is a pyarrow Schema; a new table for rows is made by write_table(path, rows, ...), and a pandas "
            "frame's schema is pyarrow.Schema.from_pandas(frame)",
            schema=type(given).__name__,
        )
    try:
        return pa.schema(given)
    except Exception as error:  # an object of the caller's own
        raise InvalidInput(
            f"schema is a pyarrow Schema, or exports one: {error}", schema=type(given).__name__
        ) from error

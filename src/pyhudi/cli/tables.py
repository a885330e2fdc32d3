"""What commands ask of a table: opening it, describing it, reading what was typed."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import pyhudi
from pyhudi.errors import InvalidInput
from pyhudi.options import Settings
from pyhudi.state.kept_options import kept_by

__all__ = [
    "comma_separated",
    "describe",
    "describe_clean",
    "describe_clustering",
    "describe_compaction",
    "describe_indexing",
    "describe_restore",
    "describe_rollback",
    "describe_savepoint",
    "hoodie_options",
    "named_paths",
    "one_more",
    "open_named",
    "option_pairs",
    "storage_options",
    "values_of_column",
]


def open_named(path: str, options: Sequence[str] | None) -> Any:  # noqa: ANN401 - a Table; named lazily by pyhudi
    """Open the table a command names."""
    return pyhudi.open_table(path, storage_options=storage_options(options))


def storage_options(options: Sequence[str] | None) -> dict[str, str]:
    """Read the `key=value` texts of `--storage-option`.

    Raises: InvalidInput for a text without `=`.
    """
    return _pairs("a storage option", options)


def hoodie_options(options: Sequence[str] | None) -> Settings:
    """Read the `hoodie.key=value` texts of `--option`.

    Raises: InvalidInput for a text without `=`; OptionError for an unknown key.
    """
    return Settings.of(option_pairs(options))


def option_pairs(options: Sequence[str] | None) -> dict[str, str]:
    """Read the same as plain texts."""
    return _pairs("an option", options)


def named_paths(tables: Sequence[str] | None) -> dict[str, str]:
    """Read the `name=path` texts of `--table`.

    Raises: InvalidInput for a text without `=`.
    """
    return _pairs("a table", tables, "name=path")


def _pairs(what: str, options: Sequence[str] | None, shape: str = "key=value") -> dict[str, str]:
    pairs = [option.partition("=") for option in options or ()]
    for key, equals, _ in pairs:
        if not equals or not key:
            raise InvalidInput(f"{what} is written {shape}", option=key)
    return {key: value for key, _, value in pairs}


def describe(table: Any) -> dict[str, object]:  # noqa: ANN401
    """Return what a table is, as facts in the order they are shown."""
    config, partitions = table.config, table.inspect.partitions()
    kept = kept_by(config)
    return {
        "name": config.name,
        "type": str(config.table_type),
        "version": config.table_version,
        "record key": list(config.record_key),
        "partitioned by": list(config.partition_fields),
        "ordered by": list(config.ordering_fields),
        "merge mode": str(config.merge_mode),
        "latest instant": table.latest_instant,
        "earliest readable instant": table.earliest_readable_instant,
        "partitions": partitions.num_rows,
        "file groups": _total(partitions, "file_groups"),
        "size (bytes)": _total(partitions, "size_bytes"),
        "columns": {field.name: str(field.type) for field in table.schema},
        **({"options": kept} if kept else {}),
    }


def describe_clean(result: Any, *, is_done: bool) -> dict[str, object]:  # noqa: ANN401 - what a clean did
    """Describe what a clean deletes, or has deleted."""
    return {
        "instants": list(result.instants),
        "files deleted" if is_done else "files to delete": list(result.files),
        "bytes": result.bytes,
        "partitions left empty": list(result.partitions),
        "earliest instant retained": result.earliest,
    }


def describe_compaction(result: Any, *, is_done: bool) -> dict[str, object]:  # noqa: ANN401 - what a compaction did
    """Describe what a compaction merges, or has merged."""
    return {
        "instants": list(result.instants),
        "file groups": result.file_groups,
        "log files merged" if is_done else "log files to merge": list(result.files),
        "bytes": result.bytes,
    }


def describe_clustering(result: Any, *, is_done: bool) -> dict[str, object]:  # noqa: ANN401 - what a clustering did
    """Describe what a clustering writes anew, or has written."""
    return {
        "instants": list(result.instants),
        "file groups": result.file_groups,
        "new file groups": result.new_file_groups,
        "files written anew" if is_done else "files to write anew": list(result.files),
        "bytes": result.bytes,
    }


def describe_indexing(result: Any) -> dict[str, object]:  # noqa: ANN401 - what became of indexes
    """Describe what became of indexes."""
    return {"indexes": list(result.partitions), "done": result.done, "instants": list(result.instants)}


def describe_rollback(plan: Any, *, is_done: bool) -> dict[str, object]:  # noqa: ANN401 - a plan of a rollback
    """Describe what a rollback deletes, or has deleted."""
    files = [name.rpartition("/")[2] for request in plan.requests for name in request.files_to_delete]
    return {
        "instant": plan.instant,
        "action": plan.action,
        "rolled back": is_done,
        "files deleted" if is_done else "files to delete": files,
    }


def describe_restore(plan: Any, *, is_done: bool) -> dict[str, object]:  # noqa: ANN401 - a plan of a restore
    """Describe what a restore takes back, or has taken back."""
    return {
        "restored to": plan.target,
        "done": is_done,
        "instants": [f"{time}.{action}" for time, action in plan.instants],
        "files deleted" if is_done else "files to delete": list(plan.files),
        "size (bytes)": plan.size_bytes,
    }


def describe_savepoint(kept: Any, *, is_done: bool) -> dict[str, object]:  # noqa: ANN401 - a savepoint
    """Describe what a savepoint keeps, or would keep."""
    return {
        "instant": kept.instant,
        "comment": kept.comment,
        "made": is_done,
        "partitions": len(kept.files),
        "files kept": kept.files_count,
        "size (bytes)": kept.size_bytes,
    }


def comma_separated(text: str) -> list[str] | None:
    """Read names separated by commas; None where there are none."""
    return [name.strip() for name in text.split(",") if name.strip()] or None


def values_of_column(schema: pa.Schema, name: str, texts: Sequence[str]) -> list[Any]:
    """Read texts as values of a column.

    Raises: InvalidInput for a column that is not there, and for a text that is no value of it.
    """
    if name not in schema.names:
        raise InvalidInput("the table has no such column to look up by", by=name, columns=schema.names)
    try:
        values: list[Any] = pa.array(list(texts), pa.string()).cast(schema.field(name).type).to_pylist()
    except pa.ArrowException as error:
        kind = str(schema.field(name).type)
        raise InvalidInput("this is no value of the column", by=name, type=kind, values=list(texts)) from error
    return values


def one_more(limit: int) -> int | None:
    """Return how many rows to read where `limit` are shown: one more tells that there are more; 0 means all."""
    return limit + 1 if limit else None


def _total(table: pa.Table, column: str) -> int:
    return int(pc.sum(table[column]).as_py() or 0)

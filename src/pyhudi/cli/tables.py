"""What commands ask of a table: opening it, describing it, its first rows."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import pyhudi
from pyhudi.errors import InvalidInput
from pyhudi.options import Settings

__all__ = ["describe", "first_rows", "hoodie_options", "open_table", "storage_options"]


def open_table(path: str, options: Sequence[str] | None) -> Any:  # noqa: ANN401 - a Table; named lazily by pyhudi
    """Open the table a command names."""
    return pyhudi.open_table(path, storage_options=storage_options(options))


def storage_options(options: Sequence[str] | None) -> dict[str, str]:
    """Read the `key=value` texts of `--storage-option`.

    Raises: InvalidInput for a text without `=`.
    """
    return _pairs("a storage option", options)


def hoodie_options(options: Sequence[str] | None) -> Settings:
    """Read the `hoodie.key=value` texts of `--option`.

    Raises: InvalidInput for a text without `=`; OptionError for a key nobody knows.
    """
    return Settings.of(_pairs("an option", options))


def _pairs(what: str, options: Sequence[str] | None) -> dict[str, str]:
    pairs = [option.partition("=") for option in options or ()]
    for key, equals, _ in pairs:
        if not equals or not key:
            raise InvalidInput(f"{what} is written key=value", option=key)
    return {key: value for key, _, value in pairs}


def describe(table: Any) -> dict[str, object]:  # noqa: ANN401
    """Return what a table is, as facts in the order they are shown."""
    config, partitions = table.config, table.inspect.partitions()
    return {
        "name": config.name,
        "type": str(config.table_type),
        "version": config.table_version,
        "record key": list(config.record_key),
        "partitioned by": list(config.partition_fields),
        "ordered by": list(config.ordering_fields),
        "merge mode": str(config.merge_mode),
        "latest instant": table.latest_instant,
        "partitions": partitions.num_rows,
        "file groups": _total(partitions, "file_groups"),
        "size (bytes)": _total(partitions, "size_bytes"),
        "columns": {field.name: str(field.type) for field in table.schema},
    }


def first_rows(scan: Any, limit: int) -> tuple[pa.Table, bool]:  # noqa: ANN401
    """Read no more than is shown; tell whether there is more."""
    if not limit:
        return scan.to_arrow(), False
    batches: list[pa.RecordBatch] = []
    count = 0
    for batch in scan.to_batches():
        batches.append(batch)
        count += batch.num_rows
        if count > limit:
            break
    if not batches:
        return scan.to_arrow(), False
    return pa.Table.from_batches(batches).slice(0, limit), count > limit


def _total(table: pa.Table, column: str) -> int:
    return int(pc.sum(table[column]).as_py() or 0)

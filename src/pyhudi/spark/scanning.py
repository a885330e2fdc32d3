"""Read base files with Spark's own parquet scan.

Paths are given literally (no globs), schemas explicitly (no inference job). Where Spark has no file system for a
storage, tasks read through the storage instead. Start at `native_scan`.
"""

import logging
import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as kinds
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pyhudi.engine.api import FILE_INDEX, KEY, PARTITION, STORED, ScanFile
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.scanning import naming_file
from pyhudi.formats.parquet import read_footer
from pyhudi.index.stored_keys import has_stored_keys, stored_schema
from pyhudi.kernels.keys import KeySpec
from pyhudi.spark.keys import computed_keys, named
from pyhudi.spark.releases import frame_of
from pyhudi.spark.types import to_spark
from pyhudi.storage.api import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["can_scan", "key_scan", "native_scan", "widened_files"]

_log = logging.getLogger("pyhudi.spark")

_GLOB = re.compile(r"([\\{}\[\]*?,])")
_HADOOP_SCHEMES = {"s3": "s3a"}
_STRICT = {
    "mergeSchema": "false",
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "datetimeRebaseMode": "CORRECTED",
}
_FILE_NAME = "_pyhudi_file_name"


def native_scan(spark: "SparkSession", storage: Storage, files: Sequence[ScanFile], schema: pa.Schema) -> DataFrame:
    """Read whole files; a column that a file lacks is null."""
    return spark.read.options(**_STRICT).schema(to_spark(schema)).parquet(*(_address(storage, one) for one in files))


def can_scan(spark: "SparkSession", storage: Storage, file: ScanFile) -> bool:
    """Return whether Spark itself reaches a storage; says once in the log why not.

    Local paths always count as reached.
    """
    if storage.url.startswith(("file:", "/")):
        return True
    try:
        _ = native_scan(spark, storage, [file], pa.schema([(KEY, pa.string())])).schema
        spark.read.options(**_STRICT).schema("a int").parquet(_address(storage, file)).isEmpty()
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        _log.warning("spark cannot read %s itself, tasks read it through pyhudi: %s", storage.url, reason)
        return False
    return True


def widened_files(storage: Storage, files: Sequence[ScanFile], schema: pa.Schema) -> set[ScanFile]:
    """Return which files have a column of another type than the schema: files of before it was widened.

    Cost: the footer of one file of each commit, as a commit's files have one schema.
    """
    by_commit: dict[str, list[ScanFile]] = {}
    for file in files:
        by_commit.setdefault(file.path.rpartition("_")[2], []).append(file)
    heads = [group[0] for group in by_commit.values()]
    are_other = LocalEngine(storage).run(partial(_has_other_types, storage=storage, schema=schema), heads)
    return {file for is_other, group in zip(are_other, by_commit.values(), strict=True) if is_other for file in group}


def key_scan(
    spark: "SparkSession", storage: Storage, files: Sequence[ScanFile], spec: KeySpec, stored: pa.Schema
) -> DataFrame:
    """Read the keys of stored rows.

    Shape: KEY, PARTITION and FILE_INDEX of the file, and the `stored` columns named STORED + name.
    """
    # Populated or virtual keys are a property of the table, so one footer tells.
    is_virtual = not has_stored_keys(storage, files[-1].path)
    fields = [name.split(".")[0] for name in spec.record_key] if is_virtual else []
    needed = stored_schema(storage, files, stored, list(dict.fromkeys(fields)))
    read = pa.schema([(KEY, pa.string()), *{field.name: field for field in (*needed, *stored)}.values()])
    scans = []
    for group in _with_single_names(files):
        scan = native_scan(spark, storage, [files[place] for place in group], read)
        scan = scan.withColumn(_FILE_NAME, F.col("_metadata.file_name"))
        scans.append(scan.join(F.broadcast(_numbered(spark, files, group)), _FILE_NAME))
    rows = scans[0]
    for scan in scans[1:]:
        rows = rows.unionByName(scan)
    # Apache Hudi's bulk_insert puts empty texts where keys are virtual.
    carried = F.when(named(KEY) != "", named(KEY))
    key = F.coalesce(carried, computed_keys(rows.schema, spec)) if is_virtual else named(KEY)
    columns = [named(field.name).alias(STORED + field.name) for field in stored]
    return rows.select(key.alias(KEY), PARTITION, FILE_INDEX, *columns)


def _has_other_types(file: ScanFile, *, storage: Storage, schema: pa.Schema) -> bool:
    with naming_file(file.path), storage.open_input(file.path) as source:
        stored = read_footer(source).schema
    return _is_other(pa.struct(list(stored)), pa.struct(list(schema)))


def _is_other(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether values are stored in another type; a field that is not stored is null, whatever its type."""
    if kinds.is_struct(stored) and kinds.is_struct(wanted):
        there = [one for one in wanted if stored.get_field_index(one.name) >= 0]
        return any(_is_other(stored.field(one.name).type, one.type) for one in there)
    if kinds.is_map(stored) and kinds.is_map(wanted):
        return _is_other(stored.item_type, wanted.item_type)
    if kinds.is_list(stored) and kinds.is_list(wanted):
        return _is_other(stored.value_type, wanted.value_type)
    return _physical(stored) != _physical(wanted)


def _physical(kind: pa.DataType) -> str:
    """Return by what Spark's scan tells types apart, roughly."""
    if kinds.is_dictionary(kind):
        return _physical(kind.value_type)
    if kinds.is_integer(kind):
        return "long" if kind.bit_width == 64 else "int"
    if kinds.is_timestamp(kind):
        return "timestamp"
    is_text = kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind)
    is_bytes = kinds.is_binary(kind) or kinds.is_large_binary(kind) or kinds.is_fixed_size_binary(kind)
    return "text" if is_text else "bytes" if is_bytes else str(kind)


def _numbered(spark: "SparkSession", files: Sequence[ScanFile], group: Sequence[int]) -> DataFrame:
    table = pa.table(
        {
            _FILE_NAME: pa.array([files[place].path.rpartition("/")[2] for place in group], pa.string()),
            PARTITION: pa.array([files[place].partition for place in group], pa.string()),
            FILE_INDEX: pa.array(group, pa.int32()),
        }
    )
    return frame_of(spark, table)


def _with_single_names(files: Sequence[ScanFile]) -> list[list[int]]:
    """Cut a list into as few lists as it takes for file names to be unique in each; mostly one.

    File ids are unique within a partition only, and Spark tells a name, or a path escaped in ways that changed.
    """
    groups: list[list[int]] = []
    seen: dict[str, int] = {}
    for place, file in enumerate(files):
        name = file.path.rpartition("/")[2]
        number = seen.get(name, 0)
        seen[name] = number + 1
        if number == len(groups):
            groups.append([])
        groups[number].append(place)
    return groups


def _address(storage: Storage, file: ScanFile) -> str:
    scheme, separator, rest = storage.url.partition("://")
    base = f"{_HADOOP_SCHEMES.get(scheme, scheme)}{separator}{rest}"
    return _GLOB.sub(r"\\\1", f"{base}/{file.path}")

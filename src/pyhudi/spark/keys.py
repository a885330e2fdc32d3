"""Record keys and partition paths as Spark expressions.

Where Spark spells a value exactly as the key kernels do, keys are native expressions; for all other types and
generators the kernels run as a UDF over the narrow key columns, which cross as text. Start at `with_keys`.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark

from pyhudi.engine.api import KEY, ORDER, PARTITION
from pyhudi.engine.frames import select_and_cast
from pyhudi.errors import HudiError, InvalidInput, KeyMissing
from pyhudi.kernels.keys import (
    KeyFunction,
    KeyGenerator,
    KeySpec,
    keys_and_paths,
    partition_paths,
    record_keys,
    register_key_generator,
    registered_key_generator,
)
from pyhudi.kernels.keys.partition import UNSAFE_PATH
from pyhudi.spark.failures import carried, carrying_text
from pyhudi.spark.releases import is_utf8
from pyhudi.spark.types import from_spark, nullable, to_spark

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["computed_keys", "fail_if", "named", "user_keys", "with_keys"]

Kernel = Callable[[KeySpec, pa.Table], pa.ChunkedArray]

_PLAIN = (spark.ByteType, spark.ShortType, spark.IntegerType, spark.LongType, spark.BooleanType, spark.DateType)
_PREFIXED = {KeyGenerator.COMPLEX, KeyGenerator.GLOBAL_DELETE}
_UNPARTITIONED = {KeyGenerator.NON_PARTITION, KeyGenerator.GLOBAL_DELETE}
_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_ROW_BITS = (1 << 33) - 1


def with_keys(frame: DataFrame, spec: KeySpec) -> DataFrame:
    """Add KEY, PARTITION and ORDER to a frame; columns of these names are replaced.

    Raises: now, what the kernels say about the schema; when it runs, KeyMissing and InvalidInput for values.
    """
    if spec.generator is KeyGenerator.USER_PROVIDED:
        return _with_user_keys(frame, spec).withColumn(ORDER, F.monotonically_increasing_id())
    keys_and_paths(spec, from_spark(frame.schema).empty_table())
    columns = {KEY: _key(frame.schema, spec), PARTITION: _path(frame.schema, spec)}
    return frame.withColumns({**columns, ORDER: F.monotonically_increasing_id()})


def computed_keys(schema: spark.StructType, spec: KeySpec) -> Column:
    """Return the record key of stored rows that do not carry it."""
    return _key(schema, spec)


def named(name: str) -> Column:
    """Return a top-level column, whatever is in its name."""
    return F.col(_quoted(name))


def fail_if(condition: Column, error: HudiError, value: Column) -> Column:
    """Return a value, and fail with an error of pyhudi where a condition holds."""
    return F.when(condition, F.raise_error(F.lit(carrying_text(error)))).otherwise(value)


def user_keys(
    batches: Iterator[pa.RecordBatch], *, function: KeyFunction, spec: KeySpec, source: pa.Schema, target: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Run a user's own generator over whole rows, in a worker."""
    register_key_generator(spec.function, function)
    with carried():
        for batch in batches:
            rows = pa.Table.from_batches([select_and_cast(batch, source)])
            keys, paths = keys_and_paths(spec, rows)
            for name, values in ((KEY, keys), (PARTITION, paths)):
                rows = rows.drop_columns([name] if name in rows.schema.names else []).append_column(name, values)
            yield from select_and_cast(rows, target).to_batches()


def _key(schema: spark.StructType, spec: KeySpec) -> Column:
    if not spec.record_key:
        return _generated_key(schema, spec)
    fields = [_find(schema, name) for name in spec.record_key]
    if any(field is None for field in fields):
        return _required(_utf8(named(KEY), KEY), KEY)
    texts = [_text(name, field, spec) for name, field in zip(spec.record_key, fields, strict=True) if field is not None]
    if any(text is None for text in texts):
        return _by_kernel(schema, spec, record_keys, spec.record_key)
    values = [text for text in texts if text is not None]
    if len(values) > 1 or (spec.generator in _PREFIXED and spec.has_prefixed_single_key):
        return _composite(spec.record_key, values)
    return _required(values[0], spec.record_key[0])


def _generated_key(schema: spark.StructType, spec: KeySpec) -> Column:
    row = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_BITS))
    made = F.concat_ws("_", F.lit(spec.key_prefix), F.spark_partition_id(), row)
    return _required(F.coalesce(_utf8(named(KEY), KEY), made), KEY) if KEY in schema.fieldNames() else made


def _composite(names: tuple[str, ...], values: list[Column]) -> Column:
    absent = F.lit(True)
    parts = []
    for name, value in zip(names, values, strict=True):
        absent = absent & (value.isNull() | (value == ""))
        shown = F.when(value.isNull(), "__null__").when(value == "", "__empty__").otherwise(value)
        parts.append(F.concat(F.lit(f"{name}:"), shown))
    return fail_if(absent, _no_key(", ".join(names)), F.concat_ws(",", *parts))


def _required(value: Column, field: str) -> Column:
    return fail_if(value.isNull() | (value == ""), _no_key(field), value)


def _no_key(field: str) -> KeyMissing:
    return KeyMissing("record key is null or empty; give every row a key", field=field)


def _utf8(value: Column, field: str) -> Column:
    """Refuse text that is not UTF-8, which Spark makes of bytes without a look."""
    error = InvalidInput("a key or partition value must be UTF-8 text; encode it", field=field)
    return fail_if(~is_utf8(value), error, value)


def _path(schema: spark.StructType, spec: KeySpec) -> Column:
    if not spec.partition or spec.generator in _UNPARTITIONED:
        return F.lit("")
    names = tuple(field.name for field in spec.partition)
    fields = [_find(schema, name) for name in names]
    if any(field is None for field in fields):
        return _stored_path()
    is_time = spec.generator is KeyGenerator.TIMESTAMP or any(field.is_timestamp for field in spec.partition)
    texts = [_text(name, field, spec) for name, field in zip(names, fields, strict=True) if field is not None]
    if is_time or spec.is_url_encoded or spec.has_slash_dates or any(text is None for text in texts):
        return _by_kernel(schema, spec, partition_paths, names)
    levels = [
        _level(spec, names[place], text, is_first=place == 0) for place, text in enumerate(texts) if text is not None
    ]
    return levels[0] if len(levels) == 1 else F.concat_ws("/", *levels)


def _level(spec: KeySpec, name: str, value: Column, *, is_first: bool) -> Column:
    segment = F.when(value.isNull() | (value == ""), _DEFAULT_PARTITION).otherwise(value)
    if spec.is_hive_style:
        segment = F.concat(F.lit(f"{name}="), segment)
    return fail_if(_is_unsafe(segment, is_first=is_first), _unsafe_path(name), segment)


def _stored_path() -> Column:
    path = _utf8(named(PARTITION), PARTITION)
    is_bad = path.isNull() | ((path != "") & _is_unsafe(path, is_first=True))
    return fail_if(is_bad, _unsafe_path(PARTITION), path)


def _is_unsafe(path: Column, *, is_first: bool) -> Column:
    """Return what the kernels refuse; most paths have no slash and no leading dot, and are not looked at twice."""
    between = F.concat(F.lit("/"), path, F.lit("/"))
    unsafe = between.contains("//") | between.contains("/./") | between.contains("/../") | path.contains("\\")
    unsafe = unsafe | between.startswith("/.hoodie/") if is_first else unsafe
    is_plain = (path != "") & ~path.startswith(".") & ~path.contains("/") & ~path.contains("\\")
    return F.when(is_plain, F.lit(False)).otherwise(unsafe)


def _unsafe_path(field: str) -> InvalidInput:
    return InvalidInput(UNSAFE_PATH, field=field)


def _text(name: str, field: tuple[Column, spark.DataType], spec: KeySpec) -> Column | None:
    """Format a value natively; none where Spark and Java differ (floats before Java 19, decimals, times)."""
    column, kind = field
    if isinstance(kind, spark.StringType):
        return _utf8(column, name)
    if isinstance(kind, _PLAIN):
        return column.cast("string")
    if isinstance(kind, spark.TimestampType) and not spec.has_consistent_timestamps:
        return F.unix_micros(column).cast("string")
    return None


def _find(schema: spark.StructType, name: str) -> tuple[Column, spark.DataType] | None:
    """Find a column, or a field of structs by its dotted path."""
    if name in schema.fieldNames():
        return named(name), schema[name].dataType
    kind: spark.DataType = schema
    parts = name.split(".")
    for part in parts:
        if not isinstance(kind, spark.StructType) or part not in kind.fieldNames():
            return None
        kind = kind[part].dataType
    return F.col(".".join(_quoted(part) for part in parts)), kind


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# --- by the kernels


def _by_kernel(schema: spark.StructType, spec: KeySpec, kernel: Kernel, names: tuple[str, ...]) -> Column:
    found = [field for name in names if (field := _find(schema, name)) is not None]
    crossing = F.struct(*(_crossing(*field).alias(f"c{place}") for place, field in enumerate(found)))
    kinds = from_spark(spark.StructType([spark.StructField(n, f[1]) for n, f in zip(names, found, strict=True)]))
    import pandas as pd  # only these tables need it, in the driver as in workers

    def compute(columns: pd.DataFrame) -> pd.Series:
        return _computed(columns, spec, kernel, kinds)

    computed: Column = F.pandas_udf(compute, "string")(crossing)  # type: ignore[attr-defined]
    return computed


def _computed(columns: "pd.DataFrame", spec: KeySpec, kernel: Kernel, kinds: pa.Schema) -> "pd.Series":
    arrays = [_arrived(pa.array(columns[f"c{place}"], from_pandas=True), kind.type) for place, kind in enumerate(kinds)]
    with carried():
        made: pd.Series = kernel(spec, pa.table(arrays, names=kinds.names)).to_pandas()
    return made


def _crossing(column: Column, kind: spark.DataType) -> Column:
    """Format a value so that pandas cannot round it: integers with nulls would become floats."""
    if isinstance(kind, spark.StringType | spark.BinaryType):
        return column
    if isinstance(kind, spark.TimestampType):
        return F.unix_micros(column).cast("string")
    return column.cast("string")


def _arrived(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_null(texts.type):
        return texts.cast(kind)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return texts.cast(pa.int64()).cast(kind)
    return texts.cast(kind)


def _with_user_keys(frame: DataFrame, spec: KeySpec) -> DataFrame:
    source = nullable(from_spark(frame.schema))
    rest = [field for field in source if field.name not in {KEY, PARTITION}]
    target = pa.schema([*rest, (KEY, pa.string()), (PARTITION, pa.string())])
    function = registered_key_generator(spec.function)
    work = partial(user_keys, function=function, spec=spec, source=source, target=target)
    return frame.mapInArrow(work, to_spark(target))

"""Decide which bucket every row goes to, as Spark expressions: Spark's rendering of `Routes`.

The plan's small tables travel as literals. A row crosses to Python nowhere here, but for the narrow keys of the bucket
index. Start at `route_in_spark`, and at `route_as_decided` for rows whose keys are in this process.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pyhudi.engine.api import (
    BASE_ROW,
    BUCKET,
    FILE_INDEX,
    IS_MOVED,
    KEY,
    ORDER,
    PARTITION,
    STORED,
    TASK,
    KeyedRows,
    Moves,
    Placing,
    Routes,
)
from pyhudi.engine.frames import LocalFrame
from pyhudi.hashing import places_among
from pyhudi.kernels.merge import MergeSpec
from pyhudi.spark.in_order import COUNT, STARTS, Places, in_first_slot, in_order, listed, places_of, split_keys
from pyhudi.spark.keys import named
from pyhudi.spark.ordering import comparable_columns
from pyhudi.spark.releases import frame_of
from pyhudi.spark.shaping import unordered_deletes

__all__ = ["route_as_decided", "route_in_spark", "settled_in_spark"]

_FOUND = "_pyhudi_found"
_FILE = "_pyhudi_found_file"
_HOME = "_pyhudi_found_partition"
_IS_LOST = "_pyhudi_is_lost"
_FIRST = "_pyhudi_first"
_GROUP = "_pyhudi_group"
_IS_DEAD = "_pyhudi_is_dead"
_RANK = "_pyhudi_rank"
_SLOT = "_pyhudi_slot"
_NEIGHBOURS_OF = "_pyhudi_neighbours_of"
_NEIGHBOURS_BITS = 6
_NEIGHBOURS = 1 << _NEIGHBOURS_BITS
_FEW = 16
"""Up to so many partitions are spelled as a `case`; more are joined."""
_FEW_STARTS = 1 << 14
"""Up to so many numbers of places are spelled there, too."""


def route_in_spark(rows: KeyedRows, located: DataFrame | None, routes: Routes) -> DataFrame:
    """Add BUCKET, TASK and IS_MOVED, and rows for what is deleted elsewhere; PARTITION becomes where a row goes."""
    frame: DataFrame = rows.frame
    columns, places = frame.columns, places_of(rows, routes)
    targeted = _untargeted(frame) if located is None else _targeted(frame, located, routes)
    spread = _with_slots(targeted, routes, places)
    number = _slot_number(routes)
    if places is not None:
        spread = _in_order(rows, spread, routes, places)
        number = F.coalesce(F.col(_SLOT), number)
    slot = (F.col(_FIRST) + number).cast("int")
    stored = _element(routes.bucket_of_file, F.col(_FILE))
    bucket = F.when(F.col(_FILE).isNotNull(), stored).otherwise(_element(routes.bucket_of_slot, slot))
    routed = spread.withColumn(BUCKET, bucket).where(F.col(BUCKET) >= 0)
    routed = routed.withColumn(TASK, _element(routes.task_of_bucket, F.col(BUCKET)))
    return routed.select(*map(named, columns), BUCKET, TASK, IS_MOVED)


def route_as_decided(frame: DataFrame, routed: LocalFrame, routes: Routes) -> DataFrame:
    """Add BUCKET, TASK and IS_MOVED, and BASE_ROW if it is known, as they were decided in this process, by ORDER.

    Rows that each go to one place in their own partition need a bucket only. Those of neighbours are sent in one row,
    so that what is joined, and built into a hash table, is 64 times shorter.
    """
    base_row = [BASE_ROW] if BASE_ROW in routed.schema.names else []
    decided = routed.narrow([ORDER, PARTITION, BUCKET, TASK, IS_MOVED, *base_row])
    order, spark = decided[ORDER].to_numpy(), frame.sparkSession
    if routes.moves is not Moves.IMPOSSIBLE or len(np.unique(order)) < len(order):
        rows = frame.drop(PARTITION).join(F.broadcast(frame_of(spark, decided)), ORDER)
        return rows.select(*map(named, frame.columns), BUCKET, TASK, IS_MOVED, *base_row)
    groups, place = np.unique(order // _NEIGHBOURS, return_inverse=True)
    sent = {_GROUP: pa.array(groups)}
    for name in (BUCKET, *base_row):
        values = pc.fill_null(decided[name], -1).to_numpy()
        listed = np.full((len(groups), _NEIGHBOURS), -1, values.dtype)
        listed[place, order % _NEIGHBOURS] = values
        ends = pa.array(np.arange(0, listed.size + 1, _NEIGHBOURS, dtype=np.int32))
        sent[_NEIGHBOURS_OF + name] = pa.ListArray.from_arrays(ends, pa.array(listed.ravel()))
    group, within = F.shiftright(ORDER, _NEIGHBOURS_BITS), named(ORDER).bitwiseAND(F.lit(_NEIGHBOURS - 1)).cast("int")
    rows = frame.join(F.broadcast(frame_of(spark, pa.table(sent))), group == named(_GROUP))
    rows = rows.withColumns({name: F.get(_NEIGHBOURS_OF + name, within) for name in (BUCKET, *base_row)})
    task, is_moved = _element(routes.task_of_bucket, F.col(BUCKET)), F.lit(False)
    return rows.where(F.col(BUCKET) >= 0).select(
        *map(named, frame.columns), BUCKET, task.alias(TASK), is_moved.alias(IS_MOVED), *base_row
    )


def settled_in_spark(located: DataFrame, dead: DataFrame) -> DataFrame:
    """Leave out places in which a key is deleted, but the first one of a key that is alive nowhere in its partition."""
    columns, places = located.columns, Window.partitionBy(KEY, PARTITION)
    marked = located.join(dead.select(KEY, FILE_INDEX, F.lit(True).alias(_IS_DEAD)), [KEY, FILE_INDEX], "left")
    ranked = marked.withColumn(_RANK, F.row_number().over(places.orderBy(F.col(_IS_DEAD).isNotNull(), FILE_INDEX)))
    return ranked.where(F.col(_IS_DEAD).isNull() | (F.col(_RANK) == 1)).select(*map(named, columns))


def _untargeted(frame: DataFrame) -> DataFrame:
    return frame.withColumns({_FILE: F.lit(None).cast("int"), IS_MOVED: F.lit(False)})


def _targeted(frame: DataFrame, located: DataFrame, routes: Routes) -> DataFrame:
    """Return a row once for each place it goes to: _FILE (null: a new file), PARTITION, IS_MOVED."""
    key = F.col(KEY).alias("_pyhudi_key")
    if routes.moves is Moves.DELETE_AND_INSERT:
        return _with_deletes(frame, located.withColumnRenamed(KEY, "_pyhudi_key"), routes.beaten_by)
    found = located.select(key, F.col(PARTITION).alias(_HOME), F.col(FILE_INDEX).alias(_FILE))
    is_same = F.col(KEY) == F.col("_pyhudi_key")
    if routes.moves is Moves.IMPOSSIBLE:
        is_same = is_same & (F.col(PARTITION) == F.col(_HOME))
    joined = frame.join(found, is_same, "left")
    home = F.coalesce(F.col(_HOME), F.col(PARTITION))
    return joined.withColumns({PARTITION: home, IS_MOVED: F.lit(False)})


def _with_deletes(frame: DataFrame, located: DataFrame, beaten_by: MergeSpec | None) -> DataFrame:
    stored = [name for name in located.columns if name.startswith(STORED)]
    one = F.struct(F.col(FILE_INDEX).alias("f"), F.col(PARTITION).alias("p"), *map(named, stored))
    homes = located.groupBy("_pyhudi_key").agg(F.collect_list(one).alias(_FOUND))
    joined = frame.join(homes, F.col(KEY) == F.col("_pyhudi_key"), "left")
    if beaten_by is not None:
        joined = joined.withColumn(_IS_LOST, _is_lost(frame, beaten_by))
    is_lost = "false" if beaten_by is None else _IS_LOST
    here = f"struct(cast(null as int) as f, {PARTITION} as p, false as m)"
    targets = f"""
        case when {_FOUND} is null then array({here})
             when {is_lost} then cast(array() as array<struct<f: int, p: string, m: boolean>>)
             else concat(
                 transform({_FOUND}, x -> struct(x.f as f, x.p as p, not (x.p <=> {PARTITION}) as m)),
                 case when exists({_FOUND}, x -> x.p <=> {PARTITION})
                      then cast(array() as array<struct<f: int, p: string, m: boolean>>) else array({here}) end)
        end"""
    exploded = joined.withColumn(_HOME, F.explode(F.expr(targets)))
    return exploded.withColumns(
        {_FILE: F.col(f"{_HOME}.f"), PARTITION: F.col(f"{_HOME}.p"), IS_MOVED: F.col(f"{_HOME}.m")}
    )


def _is_lost(frame: DataFrame, rules: MergeSpec) -> Column:
    """Return which rows a record of their key beats that is stored in another partition."""
    kinds = {name: frame.schema[name].dataType for name in rules.ordering}
    given = F.struct(*(one for name, kind in kinds.items() for one in comparable_columns(named(name), kind)))

    def beats(one: Column) -> Column:
        values = ((one.getField(STORED + name).cast(kind), kind) for name, kind in kinds.items())
        stored = F.struct(*(part for value, kind in values for part in comparable_columns(value, kind)))
        return ~one.getField("p").eqNullSafe(F.col(PARTITION)) & (stored > given)

    return F.exists(F.col(_FOUND), beats) & ~unordered_deletes(frame, rules)


def _with_slots(frame: DataFrame, routes: Routes, places: Places | None) -> DataFrame:
    """Add where the slots of a row's partition begin and how many they are; null for partitions without.

    Given places, STARTS is added, too.
    """
    starts = {} if places is None else places.starts
    if len(routes.partitions) > _FEW or sum(map(len, starts.values())) > _FEW_STARTS:
        table = {
            "_pyhudi_partition": pa.array(routes.partitions, pa.string()),
            _FIRST: pa.array(routes.first_slot, pa.int32()),
            COUNT: pa.array(routes.slots_count, pa.int32()),
        }
        if places is not None:
            table[STARTS] = pa.array([starts.get(one) for one in routes.partitions], pa.list_(pa.int64()))
        small = F.broadcast(frame_of(frame.sparkSession, pa.table(table)))
        return frame.join(small, F.col(PARTITION) == F.col("_pyhudi_partition"), "left")
    first, count = F.lit(None).cast("int"), F.lit(None).cast("int")
    before = F.lit(None).cast("array<bigint>")
    for place, partition in enumerate(routes.partitions):
        is_this = F.col(PARTITION) == partition
        first = F.when(is_this, routes.first_slot[place]).otherwise(first)
        count = F.when(is_this, routes.slots_count[place]).otherwise(count)
        if partition in starts:
            before = F.when(is_this, listed(starts[partition])).otherwise(before)
    slots = {_FIRST: first, COUNT: count}
    return frame.withColumns(slots if places is None else {**slots, STARTS: before})


def _in_order(rows: KeyedRows, spread: DataFrame, routes: Routes, places: Places) -> DataFrame:
    """Add _SLOT, for rows that are placed in order.

    Rows of one key that have to meet go where the first of them goes. Where many keys come in several places, all rows
    go by their keys.
    """
    placed = in_order(spread, places, _SLOT)
    if routes.placing is not Placing.IN_ORDER_OF_KEYS:
        return placed
    alone = in_order(_with_slots(rows.frame, routes, places), places, _SLOT)
    split = split_keys(alone, _SLOT, rows.rows_at_most or 0)
    return spread.withColumn(_SLOT, F.lit(None).cast("int")) if split is None else in_first_slot(placed, split, _SLOT)


def _slot_number(routes: Routes) -> Column:
    count = F.greatest(F.col(COUNT), F.lit(1))
    key_hash = routes.key_hash
    if key_hash is None:
        return F.pmod(F.xxhash64(KEY), count.cast("long"))
    import pandas as pd  # only a hash of keys needs it

    def compute(columns: pd.DataFrame) -> pd.Series:
        places = places_among(key_hash, pa.array(columns["key"], pa.string()), columns["count"].to_numpy())
        return pd.Series(places.astype("int32"), index=columns.index)

    crossing = F.struct(F.col(KEY).alias("key"), F.coalesce(count, F.lit(1)).alias("count"))
    computed: Column = F.pandas_udf(compute, "int")(crossing)  # type: ignore[attr-defined]
    return computed


def _element(values: Sequence[int], place: Column) -> Column:
    """Look a number up in a literal list."""
    return F.get(listed(values).cast("array<int>"), place)

"""What executes a session: Spark itself, or another server that speaks Spark Connect, such as Sail.

A client cannot tell by name or version, as such a server gives those of the client, so it is asked for what a write
needs most, once a session. Start at `is_spark_itself`.
"""

import weakref
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException, UnsupportedOperationException

from pyhudi.errors import Environment, Unsupported
from pyhudi.spark.session import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["checkpointed", "is_spark_itself", "require_streams"]

_KNOWN: "weakref.WeakKeyDictionary[SparkSession, bool]" = weakref.WeakKeyDictionary()


def is_spark_itself(spark: "SparkSession") -> bool:
    """Return whether Spark executes what the session is told.

    Another server has no lazy checkpoints; nor does it place rows by numbers, sort within partitions or tell tasks
    their numbers.

    Cost: one request to a server of Spark Connect, once a session.
    """
    if not is_connect(spark):
        return True
    if spark not in _KNOWN:
        _KNOWN[spark] = _has_lazy_checkpoints(spark)
    return _KNOWN[spark]


def checkpointed(frame: "DataFrame") -> "DataFrame":
    """Return a frame whose rows are computed once: with its first use by Spark itself, now by another server.

    Raises: Environment where a server has no place for them; what Spark raises.
    """
    if is_spark_itself(frame.sparkSession):
        return frame.localCheckpoint(eager=False)
    try:
        return frame.localCheckpoint(eager=True)
    except PySparkException as error:
        if "checkpoint" not in str(error):
            raise
        raise Environment(
            "this server keeps no rows while they are written; give it a folder for checkpoints: Sail takes it from"
            " SAIL_EXECUTION__CHECKPOINT__PATH when it starts",
            server=str(error),
        ) from error


def require_streams(spark: "SparkSession") -> None:
    """Check that a session streams.   Raises: Unsupported for a server other than Spark."""
    if not is_spark_itself(spark):
        raise Unsupported(
            "this server streams no tables; write batches with pyhudi.spark.write, and read the changes with query"
            " type incremental"
        )


def _has_lazy_checkpoints(spark: "SparkSession") -> bool:
    try:
        _ = spark.range(1).localCheckpoint(eager=False).schema
    except UnsupportedOperationException:
        return False
    return True

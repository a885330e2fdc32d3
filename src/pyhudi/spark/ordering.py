"""How ordering values compare, as Spark expressions: what `kernels.ordering` says of Arrow columns.

Spark takes -0.0 for 0.0 and compares bytes without sign. Start at `comparable_columns`.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as spark

__all__ = ["comparable_columns"]

_BYTES = "".join(map(chr, range(256)))
_SIGNED = "".join(chr(256 + (byte ^ 0x80)) for byte in range(256))
"""Text in the order of signed bytes. Spark's `translate` leaves the character 0 out, so that none is used."""


def comparable_columns(value: Column, kind: spark.DataType) -> tuple[Column, ...]:
    """Return values that Spark compares one after the other as Apache Hudi compares an ordering value.

    Null counts as 0, the epoch, or the empty text; no result is null.   Spec: format/files 6.2.
    """
    if isinstance(kind, spark.FloatType | spark.DoubleType):
        known = F.coalesce(value, F.lit(0).cast(kind))
        return known, F.when(known == 0, known.cast("string") != "-0.0").otherwise(F.lit(True))
    if isinstance(kind, spark.BinaryType):
        text = F.decode(F.coalesce(value, F.lit("").cast(kind)), "ISO-8859-1")
        return (F.translate(text, _BYTES, _SIGNED),)
    return (F.coalesce(value, _smallest(kind)),)


def _smallest(kind: spark.DataType) -> Column:
    if isinstance(kind, spark.StringType):
        return F.lit("").cast(kind)
    if isinstance(kind, spark.BooleanType):
        return F.lit(False)
    if isinstance(kind, spark.DateType):
        return F.date_from_unix_date(F.lit(0))
    if isinstance(kind, spark.TimestampType):
        return F.timestamp_micros(F.lit(0))
    if isinstance(kind, spark.TimestampNTZType):
        return F.lit("1970-01-01 00:00:00").cast(kind)
    return F.lit(0).cast(kind)

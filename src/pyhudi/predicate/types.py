"""The types of expressions: their SQL names, and the functions that may be called.

Pure. What Spark has and this grammar has not is listed too, so that an error can say so.
"""

import difflib
import re

import pyarrow as pa

from pyhudi.errors import ExpressionError

__all__ = ["AGGREGATES", "ALIASES", "FUNCTIONS", "nearest", "type_named", "type_sql"]

FUNCTIONS: dict[str, tuple[int, int]] = {
    "abs": (1, 1),
    "ceil": (1, 1),
    "coalesce": (1, 1000),
    "concat": (1, 1000),
    "date_add": (2, 2),
    "date_format": (2, 2),
    "date_sub": (2, 2),
    "day": (1, 1),
    "floor": (1, 1),
    "from_unixtime": (1, 2),
    "greatest": (2, 1000),
    "hour": (1, 1),
    "if": (3, 3),
    "least": (2, 1000),
    "length": (1, 1),
    "lower": (1, 1),
    "ltrim": (1, 1),
    "minute": (1, 1),
    "month": (1, 1),
    "nullif": (2, 2),
    "regexp_extract": (2, 3),
    "regexp_replace": (3, 3),
    "round": (1, 2),
    "rtrim": (1, 1),
    "second": (1, 1),
    "substring": (2, 3),
    "to_date": (1, 2),
    "to_timestamp": (1, 2),
    "trim": (1, 1),
    "unix_timestamp": (1, 2),
    "upper": (1, 1),
    "year": (1, 1),
}
"""Every function, and how many arguments it takes at least and at most."""

ALIASES = {
    "ceiling": "ceil",
    "char_length": "length",
    "dayofmonth": "day",
    "ifnull": "coalesce",
    "lcase": "lower",
    "nvl": "coalesce",
    "substr": "substring",
    "ucase": "upper",
}
"""Other names of the same functions."""

AGGREGATES = frozenset(
    {"any", "array_agg", "avg", "bool_and", "bool_or", "collect_list", "collect_set", "count", "count_if", "every"}
    | {"first", "first_value", "last", "last_value", "max", "max_by", "mean", "median", "min", "min_by", "mode"}
    | {"percentile", "some", "std", "stddev", "sum", "variance"}
)
"""Functions over many rows, which no expression of one row can hold."""

_NAMED = {
    "bigint": pa.int64(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "date": pa.date32(),
    "double": pa.float64(),
    "float": pa.float32(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "real": pa.float32(),
    "short": pa.int16(),
    "smallint": pa.int16(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ltz": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "tinyint": pa.int8(),
}
_SQL = {
    pa.int64(): "bigint",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.float64(): "double",
    pa.float32(): "float",
    pa.int32(): "int",
    pa.int16(): "smallint",
    pa.int8(): "tinyint",
    pa.string(): "string",
    pa.timestamp("us", tz="UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
    pa.null(): "void",
}
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)(?:\((\d+)(?:,(\d+))?\))?")


def type_named(name: str) -> pa.DataType:
    """Return the Arrow type of an SQL type name in lower case, such as `decimal(10,2)`.

    Raises: ExpressionError naming the nearest type that there is.
    """
    if name in _NAMED:
        return _NAMED[name]
    found = _DECIMAL.fullmatch(name)
    if found is None:
        raise ExpressionError(
            "name a type that a cast can make", type=name, nearest=nearest(name, [*_NAMED, "decimal"])
        )
    precision, scale = int(found[1] or 10), int(found[2] or 0)
    if not (1 <= precision <= 38 and scale <= precision):
        raise ExpressionError("give a decimal a precision of 1 to 38 and no larger scale", type=name)
    return pa.decimal128(precision, scale)


def type_sql(type: pa.DataType) -> str:
    """Return the SQL name of an Arrow type.

    Raises: ExpressionError if expressions have no such type.
    """
    if pa.types.is_decimal(type) and type.precision <= 38:
        return f"decimal({type.precision},{type.scale})"
    name = _SQL.get(type)
    if name is None:
        raise ExpressionError("cast the column when it is read, expressions have no such type", type=str(type))
    return name


def nearest(name: str, known: list[str]) -> str:
    """Return the known name most like another, for an error; empty if none is."""
    lowered = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.5)
    return lowered[found[0]] if found else ""

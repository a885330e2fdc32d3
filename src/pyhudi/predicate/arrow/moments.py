"""Functions that compute with dates and moments, with the results of Spark where the session's zone is UTC.

Pure kernels. Start at `FUNCTIONS_OF_MOMENTS`.
"""

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.casting import cast
from pyhudi.predicate.arrow.date_patterns import read_moments, write_moments
from pyhudi.predicate.arrow.values import Value, is_integer

__all__ = ["FUNCTIONS_OF_MOMENTS"]

_SECONDS: Final = "yyyy-MM-dd HH:mm:ss"
_UTC: Final = pa.timestamp("us", tz="UTC")
_PLAIN: Final = pa.timestamp("us")


def _date_add(value: Value, days: Value) -> Value:
    return _moved(value, days, "date_add", pc.add_checked)


def _date_sub(value: Value, days: Value) -> Value:
    return _moved(value, days, "date_sub", pc.subtract_checked)


def _moved(value: Value, days: Value, name: str, move: Callable[[Value, Value], Value]) -> Value:
    if not (is_integer(days.type) or pt.is_null(days.type)):
        raise ExpressionError("give a whole number of days", function=name, type=str(days.type))
    date = cast(value, pa.date32()) if not pt.is_string(value.type) else cast(value, _UTC).cast(pa.date32())
    return move(date.cast(pa.int32()), cast(days, pa.int32())).cast(pa.date32())


def _date_format(value: Value, pattern: pa.Scalar) -> Value:
    return _by_pattern(cast(cast(value, _UTC), _PLAIN), pattern, "date_format", write_moments, pa.string())


def _from_unixtime(value: Value, pattern: pa.Scalar | None = None) -> Value:
    if not (is_integer(value.type) or pt.is_null(value.type)):
        raise ExpressionError("give whole seconds", function="from_unixtime", type=str(value.type))
    moments = cast(cast(cast(value, pa.int64()), _UTC), _PLAIN)
    return _by_pattern(moments, pattern, "from_unixtime", write_moments, pa.string())


def _unix_timestamp(value: Value, pattern: pa.Scalar | None = None) -> Value:
    moments = value
    if pt.is_string(value.type):
        moments = _by_pattern(value, pattern, "unix_timestamp", read_moments, _PLAIN)
    return cast(cast(moments, _UTC), pa.int64())


def _to_date(value: Value, pattern: pa.Scalar | None = None) -> Value:
    if pattern is None or not pt.is_string(value.type):
        return cast(value, pa.date32())
    return cast(_by_pattern(value, pattern, "to_date", read_moments, _PLAIN), pa.date32())


def _to_timestamp(value: Value, pattern: pa.Scalar | None = None) -> Value:
    if pattern is None or not pt.is_string(value.type):
        return cast(value, _UTC)
    return cast(_by_pattern(value, pattern, "to_timestamp", read_moments, _PLAIN), _UTC)


def _by_pattern(
    values: Value, pattern: pa.Scalar | None, name: str, convert: Callable[[pa.Array, str], pa.Array], kind: pa.DataType
) -> Value:
    """Convert by a pattern, or by that of whole seconds; all is null for one that is null."""
    said = pa.scalar(_SECONDS) if pattern is None else pattern
    if not (pt.is_string(said.type) or pt.is_null(said.type)):
        raise ExpressionError("write the pattern as text", function=name, type=str(said.type))
    if not said.is_valid:
        return pa.scalar(None, kind) if isinstance(values, pa.Scalar) else pa.nulls(len(values), kind)
    if isinstance(values, pa.Scalar):
        return convert(pa.array([values.as_py()], values.type), said.as_py())[0]
    return convert(values, said.as_py())


FUNCTIONS_OF_MOMENTS: Final[dict[str, Callable[..., Value]]] = {
    "date_add": _date_add,
    "date_format": _date_format,
    "date_sub": _date_sub,
    "from_unixtime": _from_unixtime,
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "unix_timestamp": _unix_timestamp,
}

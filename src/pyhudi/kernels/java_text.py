"""Values as the text that Java's `toString` gives them, for record keys and partition paths.

A key is bytes that other engines compare, so a value must be spelled as Apache Hudi spells it: `1.0E10`, never `1e+10`.
Floats follow Java 19 and newer, where the text is the shortest that reads back as the same number. Older Java spells
about three in a hundred of all doubles with a needless digit more (`1.0E23` as `9.999999999999999E22`).
Start at `java_text`.
"""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import InvalidInput
from pyhudi.kernels.distinct import over_distinct, over_distinct_texts

__all__ = ["java_text"]

_LAST_PLAIN_DAY = 2_932_896  # 9999-12-31, after which Java puts a sign before the year
_MIN_PLAIN, _END_PLAIN = 1e-3, 1e7  # between them Java spells a float without exponent


def java_text(
    values: pa.Array | pa.ChunkedArray, *, has_consistent_timestamps: bool = False, zone: str = "UTC"
) -> pa.ChunkedArray:
    """Format every value as Apache Hudi's key generators do.

    Booleans, integers, decimals, floats and ISO dates as their `toString`; bytes as the UTF-8 text they hold; times of
    day as their raw number. An instant is its raw number too, or the text of a `java.sql.Timestamp` in `zone`, to the
    millisecond, if timestamps are to be consistent. Timestamps without a zone are raw numbers always.

    Shape:  n values of one type -> n strings.
    Nulls:  stay null.
    Units:  raw timestamps are ms where the column is ms, else µs; cast rows to the table's schema first.
    Raises: InvalidInput for lists, maps, structs and whatever else has no such text. That bytes are UTF-8 is checked
            before.
    Spec:   format/files 8.1.
    """
    column = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_timestamp(kind):
        return _timestamp_text(column, zone if has_consistent_timestamps and kind.tz is not None else "")
    if pa.types.is_floating(kind):
        return _float_text(column)
    if pa.types.is_date(kind):
        return _date_text(column)
    if pa.types.is_time(kind):
        return _time_text(column)
    if pa.types.is_fixed_size_binary(kind):
        return _fixed_text(column)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or kind == pa.binary_view():
        return column.cast(pa.string())
    if _is_plain(kind):
        return column.cast(pa.string())
    raise InvalidInput("a value of this type cannot be a key or a partition; choose another column", type=str(kind))


def _is_plain(kind: pa.DataType) -> bool:
    """Return whether Arrow spells the type as Java does."""
    is_string: bool = pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()
    is_number: bool = pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind)
    return is_string or is_number or pa.types.is_null(kind)


def _float_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    text = column.cast(pa.string())
    size = pc.abs(column)
    plain = pc.or_(pc.and_(pc.greater_equal(size, _MIN_PLAIN), pc.less(size, _END_PLAIN)), pc.equal(size, 0))
    whole = pc.invert(pc.match_substring(text, "."))
    spelled = pc.if_else(whole, pc.binary_join_element_wise(text, ".0", ""), text)
    if not pc.all(plain).equals(pa.scalar(False)):
        return spelled
    single = pa.types.is_float32(column.type)
    odd = over_distinct_texts(pc.if_else(plain, None, text), lambda number: _odd_float_text(number, is_single=single))
    return pc.if_else(plain, spelled, odd)


def _odd_float_text(text: str, *, is_single: bool) -> str:
    """Format one number that is not finite, or too small or large to go without exponent."""
    if text.endswith(("nan", "inf")):
        return {"nan": "NaN", "-nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[text]
    number = Decimal(text).normalize()
    if len(number.as_tuple().digits) == 1:
        # Java then takes the nearest number of two digits, which differs for the few numbers near the smallest.
        exact = float(np.float32(text)) if is_single else float(text)
        number = Decimal(f"{exact:.1e}").normalize()
    sign, digits, _ = number.as_tuple()
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{number.adjusted()}"


def _date_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    days = column.cast(pa.date32())
    text = days.cast(pa.string())
    late = pc.greater(days.cast(pa.int32()), _LAST_PLAIN_DAY)
    if pc.any(late).equals(pa.scalar(True)):
        return pc.if_else(late, pc.binary_join_element_wise("+", text, ""), text)
    return text


def _time_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_time32(column.type):
        return column.cast(pa.time32("ms")).cast(pa.int32()).cast(pa.string())
    return column.cast(pa.time64("us"), safe=False).cast(pa.int64()).cast(pa.string())


def _timestamp_text(column: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    kind = column.type
    unit = kind.unit if kind.unit in {"ms", "us"} else "us"
    raw = column.cast(pa.timestamp(unit, kind.tz), safe=False)
    if not zone:
        return raw.cast(pa.int64()).cast(pa.string())
    # Java divides the microseconds as whole numbers, towards zero, as this cast does.
    local = pc.local_timestamp(raw.cast(pa.timestamp("ms"), safe=False).cast(pa.timestamp("ms", zone)))
    # Three digits of the second are there; Java drops zeros at the end but keeps one digit.
    return pc.replace_substring_regex(local.cast(pa.string()), "0{1,2}$", "")


def _fixed_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Format an Avro fixed: Java prints its array of signed bytes."""

    def spell(distinct: pa.Array) -> pa.Array:
        raw = distinct.to_numpy(zero_copy_only=False)
        return pa.array([str(np.frombuffer(value, np.int8).tolist()) for value in raw], pa.string())

    return over_distinct(column, spell)

"""The nulls and the bounds of a column's values, part by part. Start at `measured`."""

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

__all__ = ["Bounds", "Measured", "enclosing", "measured", "together"]

_GREATEST_TEXT: Final = "\U0010ffff"
"""Not smaller than any character."""

Bounds: TypeAlias = tuple[Any, Any]
"""The least and the greatest value, NaN greater than any other; None where there is none."""
Measured: TypeAlias = tuple[int, Bounds]
"""The number of nulls, and the bounds."""


def together(parts: Sequence[Measured]) -> Measured:
    """Put what was measured of the parts of a column together.

    Nulls: as `Bounds`, where there is no part too.
    """
    return sum(nulls for nulls, _ in parts), enclosing([bounds for _, bounds in parts])


def measured(values: pa.Array) -> Measured:
    """Return the number of nulls and the bounds of a column, from the values themselves.

    Nulls: as `Bounds`.

    A bound that is no UTF-8, which Arrow lets through, becomes one that is wider.
    """
    nulls, has_nan = values.null_count, False
    if pt.is_floating(values.type):
        is_nan = pc.is_nan(values)
        has_nan = is_nan.true_count > 0
        values = values.filter(pc.invert(is_nan)) if has_nan else values
    found = pc.min_max(values)
    least, greatest = _value(found["min"], ""), _value(found["max"], _GREATEST_TEXT)
    if has_nan:
        return nulls, (np.nan if least is None else least, np.nan)
    return nulls, (least, greatest)


def _value(bound: pa.Scalar, wider: str) -> Any:  # noqa: ANN401 - of whatever type the column has
    try:
        return bound.as_py()
    except UnicodeDecodeError:
        return wider


def enclosing(bounds: Sequence[Bounds]) -> Bounds:
    """Return the bounds around all that there are; NaN is the greatest value.

    Nulls: as `Bounds`.
    """
    told = [one for one in bounds if one[1] is not None]
    if not told:
        return None, None
    numbers = [least for least, _ in told if least == least]
    has_nan = any(greatest != greatest for _, greatest in told)
    greatest = next(one for _, one in told if one != one) if has_nan else max(one for _, one in told)
    return (min(numbers) if numbers else greatest), greatest

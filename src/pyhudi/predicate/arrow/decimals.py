"""Take digits away from decimals, a few at a time.

Arrow divides decimals wrongly where the divisor is longer than 32 bits and a digit of the quotient, to the base of
2**32, is the greatest there is: `pc.round`, `pc.trunc` and casts give another number, in silence, or say that data
would be lost. Dividing by 10**9 at most is exact. Start at `rounded`.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["rounded", "shortened"]

_MOST_DIGITS: Final = 9
"""How many can be taken away in one step: 10**9 is the greatest power of ten of 32 bits."""


def shortened(values: pa.Array, scale: int) -> pa.Array:
    """Cut decimals off after so many digits behind the point.

    Shape: decimals of any kind -> decimal256 of this scale, or of their own where that is less.
    Nulls: stay null.
    """
    values = values.cast(pa.decimal256(76, values.type.scale))
    while values.type.scale > scale:
        nearer = pa.decimal256(76, max(scale, values.type.scale - _MOST_DIGITS))
        values = pc.cast(values, options=pc.CastOptions(target_type=nearer, allow_decimal_truncate=True))
    return values


def rounded(values: pa.Array, scale: int) -> pa.Array:
    """Round decimals to so many digits behind the point, halves away from zero: what follows one digit more is nothing.

    Shape: as `shortened`, with that one digit, which is 0, where digits were taken away.
    """
    values = shortened(values, scale + 1)
    if values.type.scale <= scale:
        return values
    return pc.round(values, ndigits=scale, round_mode="half_towards_infinity")

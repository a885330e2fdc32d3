"""Divide decimals exactly, and take digits away from them.

Arrow divides decimals wrongly where the divisor is longer than 32 bits and a digit of the quotient, to the base of
2**32, is the greatest there is: its kernels, `pc.round`, `pc.trunc` and casts give another number, in silence, or say
that data would be lost. Dividing by 10**9 at most is exact, and any quotient can be checked. Start at `quotient` and
`rounded`.
"""

from decimal import Decimal
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import ExpressionError

__all__ = ["ceiling", "floor", "quotient", "remainder", "rounded", "shortened"]

_STEP: Final = 9
"""How many digits can be taken away in one step: 10**9 is the greatest power of ten of 32 bits."""
_DIVIDEND: Final = 74
"""How many digits Arrow can divide: it adds two of the 76 itself."""


def shortened(values: pa.Array, scale: int) -> pa.Array:
    """Cut decimals off after so many digits behind the point.

    Shape: decimals of any kind -> decimal256 of this scale, or of their own where that is less.
    Nulls: stay null.
    """
    values = values.cast(pa.decimal256(76, values.type.scale))
    while values.type.scale > scale:
        nearer = pa.decimal256(76, max(scale, values.type.scale - _STEP))
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


def floor(values: pa.Array) -> pa.Array:
    """Return the greatest whole numbers that are not greater.

    Shape: decimals of up to 38 digits -> decimal256 of scale 0.
    Nulls: stay null.
    """
    whole = shortened(values, 0).cast(pa.decimal256(38, 0))
    return pc.subtract(whole, pc.less(values, whole).cast(pa.int8()).cast(pa.decimal256(3, 0)))


def ceiling(values: pa.Array) -> pa.Array:
    """Return the least whole numbers that are not less; as `floor`."""
    return pc.negate(floor(pc.negate(values)))


def quotient(left: pa.Array, right: pa.Array, scale: int) -> pa.Array:
    """Divide, and cut off after so many digits behind the point.

    Shape:  n and n decimals of up to 38 digits, scale at least the left one's less the right one's -> decimal256.
    Nulls:  null if either side is, also where the divisor is zero.
    Raises: ExpressionError for types whose dividend would need more digits than Arrow divides;
            pyarrow.ArrowInvalid for a zero divisor.
    """
    dividend = _dividend(left, right, scale - left.type.scale + right.type.scale)
    return _divided(dividend, _digits(right, 76), right.type.precision)[0].view(pa.decimal256(76, scale))


def remainder(left: pa.Array, right: pa.Array) -> pa.Array:
    """Return what a division into whole numbers leaves, with the sign of the dividend.

    Shape:  n and n decimals of up to 38 digits -> decimal256 of the greater scale.
    Nulls:  as `quotient`.
    Raises: as `quotient`.
    """
    scale = max(left.type.scale, right.type.scale)
    divisor = _shifted(_digits(right, 76), scale - right.type.scale)
    return _divided(_dividend(left, right, scale - left.type.scale), divisor, 76)[1].view(pa.decimal256(76, scale))


def _dividend(left: pa.Array, right: pa.Array, digits: int) -> pa.Array:
    """Put so many zeros behind a dividend, so that one division gives all digits of the quotient.

    Only what has more than 29 digits on both sides, before the point of one and behind that of the other, has too many.
    """
    if left.type.precision + digits > _DIVIDEND:
        raise ExpressionError(
            "these decimals have too many digits to be divided: cast one of them to fewer",
            left=str(left.type),
            right=str(right.type),
        )
    return _shifted(_digits(left, 76), digits)


def _divided(left: pa.Array, right: pa.Array, precision: int) -> tuple[pa.Array, pa.Array]:
    """Return whole quotients, and what is left; the divisors have at most so many digits."""
    hundredths = pc.divide_checked(left.view(pa.decimal256(_DIVIDEND, 2)), _digits(right, 1))
    found = _digits(shortened(hundredths.view(pa.decimal256(76, 2)), 0), 76)
    rest = _rest(left, found, right)
    if precision <= _STEP:
        return found, rest
    is_opposite = pc.equal(pc.multiply(pc.sign(rest), pc.sign(left)), -1)
    is_wrong = pc.or_(is_opposite, pc.greater_equal(pc.abs(rest), pc.abs(right)))
    if not pc.any(is_wrong).as_py():
        return found, rest
    # The few that are wrong are settled by Python's own whole numbers.
    pairs = zip(left.filter(is_wrong).to_pylist(), right.filter(is_wrong).to_pylist(), strict=True)
    exact = [Decimal(_cut(int(dividend), int(divisor))) for dividend, divisor in pairs]
    found = pc.replace_with_mask(found, pc.fill_null(is_wrong, False), pa.array(exact, found.type))
    return found, _rest(left, found, right)


def _cut(dividend: int, divisor: int) -> int:
    whole = abs(dividend) // abs(divisor)
    return whole if (dividend < 0) is (divisor < 0) else -whole


def _rest(left: pa.Array, found: pa.Array, right: pa.Array) -> pa.Array:
    product = pc.multiply(_digits(found, 37), _digits(right, 38))
    return pc.subtract(_digits(left, 75), _digits(product, 75))


def _shifted(values: pa.Array, digits: int) -> pa.Array:
    """Multiply whole numbers by a power of ten; the product must have 76 digits at most."""
    return _digits(values.cast(pa.decimal256(76, digits)), 76) if digits else values


def _digits(values: pa.Array, precision: int) -> pa.Array:
    """Take decimals for the whole numbers that they are stored as.

    Arrow computes its result types from the digits there could be; those there are, are as many as we say.
    """
    if pa.types.is_decimal128(values.type):
        values = values.cast(pa.decimal256(values.type.precision, values.type.scale))
    return values.view(pa.decimal256(precision, 0))

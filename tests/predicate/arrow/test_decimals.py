from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.decimals import ceiling, floor, quotient, remainder, rounded, shortened

WORD = 2**32
WORDS = st.lists(st.sampled_from([0, 1, 2**31, WORD - 2, WORD - 1]), min_size=1, max_size=5)
"""Digits to the base that Arrow divides by, the greatest among them: there its own division is wrong."""


@given(WORDS, st.integers(1, 38), st.integers(0, 10**38 - 1), st.sampled_from([1, -1]))
@example([0, WORD - 1], 28, 4944769273252495374720723365, 1)
def test_digits_are_taken_away_exactly(words, count, rest, sign):
    kept = sum(word * WORD**place for place, word in enumerate(words))
    unscaled = sign * (kept * 10**count + rest % 10**count)
    if abs(unscaled) >= 10**76:
        return
    with localcontext(prec=100):
        value = Decimal(unscaled).scaleb(-38)
        digit = Decimal(1).scaleb(count - 38)
        given_values = pa.array([value, None], pa.decimal256(76, 38))
        assert shortened(given_values, 38 - count).to_pylist() == [value.quantize(digit, ROUND_DOWN), None]
        assert rounded(given_values, 38 - count).to_pylist() == [value.quantize(digit, ROUND_HALF_UP), None]


@st.composite
def types(draw):
    precision = draw(st.integers(1, 38))
    return pa.decimal128(precision, draw(st.integers(0, precision)))


def of(type, unscaled):
    with localcontext(prec=100):
        return Decimal(unscaled).scaleb(-type.scale)


@given(types(), st.integers(0, 10**38 - 1), st.sampled_from([1, -1]))
@example(pa.decimal128(31, 0), 10**31 - 1, 1)
def test_floor_and_ceiling_are_the_next_whole_numbers(type, unscaled, sign):
    value = of(type, sign * (unscaled % 10**type.precision))
    assert floor(pa.array([value, None], type)).to_pylist() == [value.to_integral_value(ROUND_FLOOR), None]
    assert ceiling(pa.array([value, None], type)).to_pylist() == [value.to_integral_value(ROUND_CEILING), None]


def test_floor_is_exact_where_the_division_of_arrow_is_not():
    values = pa.array([Decimal("4294967295.716452810118678971"), Decimal("-4294967295.716452810118678971")])
    assert floor(values).to_pylist() == [WORD - 1, -WORD]
    assert ceiling(values).to_pylist() == [WORD, 1 - WORD]


PARTS = st.tuples(st.integers(1, 10**38 - 1), st.sampled_from([-1, 0, 1]), st.sampled_from([1, -1]))


@given(types(), types(), WORDS, PARTS, st.sampled_from([1, -1]), st.integers(0, 38))
@example(pa.decimal128(33, 0), pa.decimal128(23, 23), [0, 0, 0, 1, 1], (7513, -1, 1), 1, 33)
@example(pa.decimal128(38, 0), pa.decimal128(38, 36), [0, 0, 0, 1], (10**38 - 1, 1, -1), -1, 0)
def test_quotients_and_remainders_are_exact_or_refused(one, other, words, parts, sign, scale):
    divisor = parts[2] * (parts[0] % 10**other.precision or 1)
    times = sum(word * WORD**place for place, word in enumerate(words))
    dividend = sign * (abs(times * divisor + parts[1]) % 10**one.precision)
    left, right, scale = of(one, dividend), of(other, divisor), max(scale, one.scale - other.scale)
    arrays = pa.array([left, None, left], one), pa.array([right, right, None], other)
    with localcontext(prec=300):
        whole = (left / right).to_integral_value(ROUND_DOWN)
        rest, exact = left - whole * right, (left / right).quantize(Decimal(1).scaleb(-scale), ROUND_DOWN)
    for divided, wanted, digits in (
        (remainder, rest, max(0, other.scale - one.scale)),
        (lambda *both: quotient(*both, scale), exact, scale - one.scale + other.scale),
    ):
        if one.precision + digits <= 74:
            assert divided(*arrays).to_pylist() == [wanted, None, None]
        else:
            with pytest.raises(ExpressionError, match="cast one of them to fewer"):
                divided(*arrays)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("dividend", "divisor"),
    [
        (105527513547175953505525887332912272, 572065797224208345),
        (867210497053464174771793400288, 4701157524538),
        (16447814138645825646796677860927, 89163779108788),
    ],
)
def test_division_is_exact_where_that_of_arrow_is_not(dividend, divisor, sign):
    left, right = (pa.array([None, Decimal(n), Decimal(7)], pa.decimal128(38, 0)) for n in (sign * dividend, divisor))
    whole, rest = divmod(dividend, divisor)
    assert quotient(left, right, 0).to_pylist() == [None, sign * whole, 1]
    assert remainder(left, right).to_pylist() == [None, sign * rest, 0]


def test_a_divisor_of_nothing_is_refused_but_not_beside_a_null():
    some, none = pa.array([Decimal(1), None], pa.decimal128(3, 1)), pa.array([Decimal(0)] * 2, pa.decimal128(3, 1))
    with pytest.raises(pa.ArrowInvalid, match="zero"):
        quotient(some, none, 3)
    assert remainder(some[1:], none[1:]).to_pylist() == [None]


@pytest.mark.parametrize("scale", [2, 3, 40])
def test_a_decimal_that_is_short_enough_stays_as_it_is(scale):
    values = pa.array([Decimal("1.25"), None], pa.decimal128(10, 2))
    assert rounded(values, scale).to_pylist() == shortened(values, scale).to_pylist() == values.to_pylist()


def test_places_before_the_point_are_rounded_too():
    values = pa.array([Decimal("150.00"), Decimal("-149.99")], pa.decimal128(10, 2))
    assert rounded(values, -2).to_pylist() == [200, -100]

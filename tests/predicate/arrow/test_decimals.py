from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pyhudi.predicate.arrow.decimals import rounded, shortened

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


@pytest.mark.parametrize("scale", [2, 3, 40])
def test_a_decimal_that_is_short_enough_stays_as_it_is(scale):
    values = pa.array([Decimal("1.25"), None], pa.decimal128(10, 2))
    assert rounded(values, scale).to_pylist() == shortened(values, scale).to_pylist() == values.to_pylist()


def test_places_before_the_point_are_rounded_too():
    values = pa.array([Decimal("150.00"), Decimal("-149.99")], pa.decimal128(10, 2))
    assert rounded(values, -2).to_pylist() == [200, -100]

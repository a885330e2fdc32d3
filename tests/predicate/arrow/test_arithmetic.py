import math
from decimal import ROUND_HALF_UP, Decimal, localcontext

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.arithmetic import arithmetic, negative
from pyhudi.predicate.model import Operator

decimals = st.decimals(-(10**6), 10**6, places=3)
TYPE = pa.decimal128(12, 3)


@settings(deadline=None)
@given(decimals, decimals, st.sampled_from([Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE]))
def test_decimals_are_exact_and_rounded_half_up(left: Decimal, right: Decimal, operator: Operator) -> None:
    assume(right != 0 or operator is not Operator.DIVIDE)
    found = arithmetic(operator, pa.array([left], TYPE), pa.array([right], TYPE))
    with localcontext() as context:
        context.prec = 80
        exact = {"+": left + right, "-": left - right, "*": left * right}.get(operator.value)
        exact = left / right if exact is None else exact
        wanted = exact.quantize(Decimal(1).scaleb(-found.type.scale), ROUND_HALF_UP)
    assert found.to_pylist() == [wanted]


@settings(deadline=None)
@given(decimals, decimals.filter(bool))
def test_decimal_remainders_have_the_sign_of_the_dividend(left: Decimal, right: Decimal) -> None:
    found = arithmetic(Operator.REMAINDER, pa.array([left], TYPE), pa.array([right], TYPE))
    assert found.to_pylist() == [left % right]


@settings(deadline=None)
@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1).filter(bool))
def test_whole_remainders_and_quotients_cut_towards_zero(left: int, right: int) -> None:
    one, other = pa.array([left], pa.int32()), pa.array([right], pa.int32())
    quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    assert arithmetic(Operator.DIV, one, other).to_pylist() == [quotient]
    assert arithmetic(Operator.REMAINDER, one, other).to_pylist() == [left - quotient * right]


def test_a_null_hides_a_zero_divisor() -> None:
    nothing, zero = pa.array([None], pa.float64()), pa.array([0.0])
    for operator in (Operator.DIVIDE, Operator.REMAINDER):
        assert arithmetic(operator, nothing, zero).to_pylist() == [None]
        with pytest.raises(ExpressionError, match="zero"):
            arithmetic(operator, pa.array([1.0]), zero)


def test_constants_are_computed_once() -> None:
    assert arithmetic(Operator.REMAINDER, pa.scalar(7.5), pa.scalar(-2.0)).as_py() == 1.5
    assert math.isnan(arithmetic(Operator.REMAINDER, pa.scalar(math.inf), pa.scalar(2.0)).as_py())
    assert arithmetic(Operator.ADD, pa.scalar(1), pa.scalar(None)).as_py() is None


@pytest.mark.parametrize("operator", [Operator.DIVIDE, Operator.REMAINDER])
def test_decimals_stand_beside_constants(operator: Operator) -> None:
    seven, two = pa.scalar(Decimal("7.50")), pa.scalar(Decimal("-2.0"))
    wanted = arithmetic(operator, pa.array([seven.as_py()]), pa.array([two.as_py()]))[0]
    assert wanted.as_py() == (Decimal("-3.75") if operator is Operator.DIVIDE else Decimal("1.50"))
    assert arithmetic(operator, seven, two) == wanted
    assert arithmetic(operator, pa.array([seven.as_py()] * 2), two).to_pylist() == [wanted.as_py()] * 2
    assert arithmetic(operator, seven, pa.array([two.as_py(), None], two.type)).to_pylist() == [wanted.as_py(), None]


def test_decimals_of_all_digits_divide_unless_no_quotient_could_fit() -> None:
    whole, part = pa.array([Decimal(10**38 - 1)]), pa.array([Decimal("0." + "9" * 37 + "7")])
    assert arithmetic(Operator.DIVIDE, part, whole).to_pylist() == [Decimal("1E-38")]
    for operator in (Operator.DIVIDE, Operator.REMAINDER):
        with pytest.raises(ExpressionError, match="cast one of them to fewer"):
            arithmetic(operator, whole, part)
    default = pa.array([Decimal("7.5"), Decimal(-2)], pa.decimal128(38, 18))
    assert arithmetic(Operator.DIVIDE, default, default[::-1]).to_pylist() == [Decimal("-3.75"), Decimal("-0.266667")]
    assert arithmetic(Operator.REMAINDER, default, default[::-1]).to_pylist() == [Decimal("1.5"), Decimal(-2)]


def test_overflow_is_refused() -> None:
    top = pa.array([2**63 - 1])
    with pytest.raises(ExpressionError, match="overflow"):
        arithmetic(Operator.ADD, top, pa.scalar(1))
    with pytest.raises(ExpressionError, match="overflow"):
        negative(pa.array([-(2**63)]))
    with pytest.raises(ExpressionError):
        arithmetic(Operator.MULTIPLY, pa.array([Decimal(10**37)]), pa.array([Decimal(10**37)]))


def test_only_numbers_are_computed_with() -> None:
    with pytest.raises(ExpressionError, match="numbers only"):
        arithmetic(Operator.ADD, pa.array(["1"]), pa.scalar(1))
    with pytest.raises(ExpressionError, match="numbers only"):
        negative(pa.array([True]))
    with pytest.raises(ExpressionError, match="whole numbers"):
        arithmetic(Operator.DIV, pa.array([1.5]), pa.scalar(1))

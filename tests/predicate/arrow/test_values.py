import pyarrow as pa
import pytest

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.values import bounded_decimal, common_type, plain

D = pa.decimal128
UTC, NTZ = pa.timestamp("us", tz="UTC"), pa.timestamp("us")


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        (pa.int8(), pa.int64(), pa.int64()),
        (pa.int8(), pa.float32(), pa.float64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.float32(), pa.float32(), pa.float32()),
        (D(10, 2), pa.float32(), pa.float64()),
        (D(10, 2), D(5, 4), D(12, 4)),
        (D(5, 2), pa.int32(), D(12, 2)),
        (pa.null(), pa.string(), pa.string()),
        (pa.date32(), NTZ, NTZ),
        (NTZ, UTC, UTC),
    ],
)
def test_common_types_are_those_of_spark(left: pa.DataType, right: pa.DataType, wanted: pa.DataType) -> None:
    assert common_type(left, right) == wanted
    assert common_type(right, left) == wanted


@pytest.mark.parametrize("right", [pa.int32(), pa.bool_(), pa.binary(), pa.date32(), pa.list_(pa.string())])
def test_text_has_no_common_type_with_others(right: pa.DataType) -> None:
    with pytest.raises(ExpressionError, match="cast one side"):
        common_type(pa.string(), right)


def test_too_many_digits_are_cut_from_the_fraction() -> None:
    assert bounded_decimal(20, 5) == D(20, 5)
    assert bounded_decimal(48, 20) == D(38, 10)
    assert bounded_decimal(60, 20) == D(38, 6)


def test_plain_decodes_and_widens() -> None:
    assert plain(pa.array(["x"]).dictionary_encode()).to_pylist() == ["x"]
    assert plain(pa.array([1], pa.uint32())).type == pa.int64()
    assert plain(pa.array([b"ab"], pa.binary(2))).type == pa.binary()
    assert plain(pa.array([1], pa.timestamp("s"))).type == NTZ
    assert plain(pa.array([None], pa.decimal256(20, 2))).type == D(20, 2)

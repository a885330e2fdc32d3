from decimal import Decimal

import pyarrow as pa
import pytest

from pyhudi.errors import SchemaMismatch
from pyhudi.tasks.assignment import in_type_of


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([1, None]), pa.float64()),
        (pa.array([1.0, None]), pa.int32()),
        (pa.array([Decimal("1.00"), None]), pa.int64()),
        (pa.array([1, None]), pa.decimal128(10, 2)),
        (pa.chunked_array([pa.array([1]), pa.array([None], pa.int64())]), pa.int32()),
    ],
)
def test_numbers_become_any_number_that_is_the_same(values, kind):
    fitted = in_type_of(pa.field("x", kind), values)
    assert fitted.type == kind
    assert fitted.to_pylist() == [1, None]


def test_nulls_fit_every_column():
    kind = pa.struct([("a", pa.list_(pa.string()))])
    assert in_type_of(pa.field("x", kind), pa.nulls(2)).type == kind


def test_texts_lose_the_form_of_their_library():
    assert in_type_of(pa.field("x", pa.string()), pa.array(["a"], pa.large_string())).type == pa.string()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([0.5]), pa.int64()),
        (pa.array([2**40]), pa.int32()),
        (pa.array(["1"]), pa.int64()),
        (pa.array([True]), pa.int64()),
        (pa.array([10**9]), pa.decimal128(10, 2)),
        (pa.array([], pa.string()), pa.float64()),
    ],
)
def test_what_would_change_is_refused(values, kind):
    with pytest.raises(SchemaMismatch, match="x"):
        in_type_of(pa.field("x", kind), values)

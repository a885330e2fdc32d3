"""Values go to their slots, with nulls or zeros between them."""

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.errors import LimitExceeded
from pyhudi.formats.avro_rows import columns
from pyhudi.formats.avro_rows.columns import (
    Flags,
    Interleaved,
    LaneColumn,
    Lists,
    Numbers,
    Optional,
    Ready,
    Repeated,
    Slots,
    Structs,
    Texts,
)
from pyhudi.formats.avro_rows.source import Source

LANES = np.array([1, 3])
NUMBERS = Numbers(pa.int64(), np.array([7, 8]))


def texts() -> Texts:
    return Texts(pa.string(), Source(np.frombuffer(b"..ab.c", np.uint8)), np.array([2, 5]), np.array([2, 1]))


MADE: list[tuple[LaneColumn, list[object]]] = [
    (NUMBERS, [7, 8]),
    (Flags(np.array([True, False])), [True, False]),
    (texts(), ["ab", "c"]),
    (Structs(pa.struct([("a", pa.int64())]), [NUMBERS]), [{"a": 7}, {"a": 8}]),
    (Lists(pa.list_(pa.int64()), np.array([0, 2]), NUMBERS, 2), [[], [7, 8]]),
    (Ready(pa.array(["x", "y"])), ["x", "y"]),
    (Repeated(pa.array([5]), 2), [5, 5]),
    (Interleaved([(Ready(pa.array(["y"])), np.array([1])), (Ready(pa.array(["x"])), np.array([0]))]), ["x", "y"]),
]


@pytest.mark.parametrize(("column", "values"), MADE, ids=[type(column).__name__ for column, _ in MADE])
def test_values_stand_in_their_slots(column, values):
    assert column.build(Slots(2)).to_pylist() == values
    spread = column.build(Slots(5, LANES, is_nullable=True))
    spread.validate(full=True)
    assert spread.to_pylist() == [None, values[0], None, values[1], None]


def test_slots_in_slots_lead_to_the_outermost():
    inner = Optional(pa.int64(), Numbers(pa.int64(), np.array([9])), np.array([1]))
    rows = Structs(pa.struct([("a", pa.int64())]), [inner])
    built = rows.build(Slots(5, LANES, is_nullable=True))
    assert built.to_pylist() == [None, {"a": None}, None, {"a": 9}, None]


def test_a_required_value_in_a_null_row_is_not_null_by_itself():
    rows = Structs(pa.struct([pa.field("a", pa.int64(), nullable=False)]), [NUMBERS])
    assert rows.build(Slots(5, LANES, is_nullable=True)).field(0).null_count == 0


def test_a_column_beyond_what_arrow_addresses_is_refused(monkeypatch):
    monkeypatch.setattr(columns, "_MOST_BYTES", 2)
    with pytest.raises(LimitExceeded):
        texts().build(Slots(2))

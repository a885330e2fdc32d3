import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from tests.predicate.trees import SCHEMA, conditions, rows, table_of

from pyhudi.errors import ExpressionError
from pyhudi.predicate import mask, parse, to_arrow, to_expression


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(conditions, rows)
def test_a_pushed_filter_keeps_every_row_that_matches(expression: Any, values: list[tuple[Any, ...]]) -> None:
    table = table_of(values)
    try:
        wanted = mask(expression, table).to_pylist()
        pushed = to_arrow(expression, SCHEMA)
    except ExpressionError:
        return
    if pushed is not None:
        marked = table.append_column("at", pa.array(range(len(values)), pa.int64()))
        kept = set(marked.filter(pushed)["at"].to_pylist())
        assert {at for at, is_true in enumerate(wanted) if is_true} <= kept


def pushed(text: str, **types: pa.DataType) -> str | None:
    found = to_arrow(parse(text), pa.schema(types))
    return None if found is None else str(found)


def test_terms_that_a_scan_does_not_know_stay_behind() -> None:
    types = {"a": pa.int32(), "s": pa.string()}
    assert pushed("a > 1 and upper(s) = 'X' and s = 'x'", **types) == '((a > 1) and (s == "x"))'
    assert pushed("a > 1 or upper(s) = 'X'", **types) is None
    assert pushed("upper(s) = 'X'", **types) is None


def test_a_literal_goes_down_in_the_type_of_the_column() -> None:
    assert pushed("10 < a", a=pa.int64()) == "(a > 10)"
    assert pushed("d >= '2024-01-31'", d=pa.date32()) == "(d >= 2024-01-31)"
    assert pushed("a = 2.0", a=pa.int32()) == "(a == 2)"
    assert pushed("m in (1, 2.5)", m=pa.decimal128(10, 2)) is not None


def test_a_literal_that_the_column_cannot_hold_stays_behind() -> None:
    assert pushed("a > 1.5", a=pa.int32()) is None
    assert pushed("a > 3000000000", a=pa.int32()) is None
    assert pushed("f = 0.1", f=pa.float32()) is None
    assert pushed("l = 9007199254740992e0", l=pa.int64()) is None
    assert pushed("c = 'x'", c=pa.dictionary(pa.int32(), pa.string())) is None


def test_nan_is_kept_where_it_is_larger() -> None:
    table = pa.table({"d": [float("nan"), 1.0]})
    for text, wanted in (("d > 5", 1), ("d >= 5", 1), ("d <> 1", 1), ("d < 5", 1)):
        found = to_arrow(parse(text), table.schema)
        assert found is not None
        assert table.filter(found).num_rows == wanted, text


def test_null_tests_ranges_and_fields_of_structs_go_down() -> None:
    inner = pa.struct({"x": pa.int32()})
    table = pa.table({"r": pa.array([{"x": 1}, None, {"x": 5}], inner)})
    for text, wanted in (("r.x is null", 1), ("r.x is not null", 2), ("r.x between 1 and 4", 1), ("r.x in (5)", 1)):
        found = to_arrow(parse(text), table.schema)
        assert found is not None
        assert table.filter(found).num_rows == wanted, text


def test_timestamps_go_down_in_their_zone() -> None:
    when = datetime.datetime(2024, 1, 31, tzinfo=datetime.UTC)
    table = pa.table({"t": pa.array([when], pa.timestamp("ms", tz="UTC"))})
    found = to_arrow(parse("t = '2024-01-31 01:00:00+01:00'"), table.schema)
    assert found is not None
    assert table.filter(found).num_rows == 1


def test_a_long_chain_is_pushed_without_depth() -> None:
    text = " or ".join(f"a = {number}" for number in range(3_000))
    found = to_arrow(parse(text), pa.schema({"a": pa.int32()}))
    assert found is not None
    assert pa.table({"a": pa.array([2_999, 3_000], pa.int32())}).filter(found).num_rows == 1


def test_a_pyarrow_expression_goes_down_as_it_is() -> None:
    given_ = pc.field("a") > 1
    found = to_expression(given_)
    assert found is not None
    pushed_ = to_arrow(found, pa.schema({"a": pa.int32()}))
    assert pushed_ is not None
    assert pushed_.equals(given_)


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(ExpressionError):
        pushed("nope = 1", a=pa.int32())

import pyarrow as pa

from pyhudi.demo.flights import SCHEMA
from pyhudi.demo.judge import differing_rows


def rows(*changes):
    base = {name: "x" if SCHEMA.field(name).type == pa.string() else 1 for name in SCHEMA.names}
    return pa.Table.from_pylist(
        [base | {"flight": index} | change for index, change in enumerate(changes)], schema=SCHEMA
    )


def test_order_and_columns_in_another_order_do_not_matter():
    left = rows({}, {"dest": "y"}, {"dep_time": None})
    right = left.take([2, 0, 1]).select(list(reversed(SCHEMA.names)))
    assert differing_rows(left, right) == 0


def test_a_null_differs_from_a_value_and_not_from_a_null():
    assert differing_rows(rows({"dep_time": None}), rows({"dep_time": None})) == 0
    assert differing_rows(rows({"dep_time": None}), rows({"dep_time": 1})) == 1
    assert differing_rows(rows({"dep_time": 2, "dest": "z"}), rows({})) == 1


def test_missing_rows_differ():
    assert differing_rows(rows({}, {}), rows({})) == 1
    assert differing_rows(rows(), rows()) == 0

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.filegroup.slices import BY_COMMIT, BY_EVENT, Change, History
from tests.filegroup.test_reader import spec_of
from tests.filegroup.test_writer import keyed

from pyhudi.filegroup.graves import are_buried, hidden_keys
from pyhudi.kernels.rules import Merger


def is_buried(history, *rows):
    table = keyed(*({"uuid": key, "ts": ts, "rider": "r", "fare": 1.0, "city": "sf"} for key, ts in rows))
    spec = spec_of(history.merge)
    return are_buried(history.slice, table, table["_hoodie_record_key"], storage=history.storage, spec=spec)


@pytest.mark.parametrize(("merge", "loses"), [(BY_EVENT, True), (BY_COMMIT, False)], ids=["event", "commit"])
def test_a_row_is_buried_by_a_greater_delete_of_its_key(merge, loses):
    history = History(merge=merge)
    history.write_base(Change("a", 28), Change("b", 1), Change("c", 5))
    history.append(Change("a", 28, is_delete=True), Change("b", 2))
    assert is_buried(history, ("c", 1), ("a", 13)) is loses
    assert not is_buried(history, ("a", 28))
    assert not is_buried(history, ("b", 1), ("c", 1), ("z", 1))


def test_no_row_is_buried_by_a_delete_without_ordering_value():
    history = History()
    history.write_base(Change("a", 28))
    history.append(Change("a", 0, is_delete=True, is_unordered=True))
    assert not is_buried(history, ("a", 13))


def hidden(history, keys=None):
    wanted = None if keys is None else pa.array(list(keys))
    return "".join(hidden_keys(history.slice, wanted, storage=history.storage, spec=spec_of(history.merge)).to_pylist())


def test_a_row_behind_a_greater_delete_is_hidden():
    history = History()
    history.write_base(Change("a", 28), Change("b", 1), Change("c", 5))
    history.append(Change("a", 28, is_delete=True), Change("b", 1, is_delete=True), Change("c", 5, is_delete=True))
    assert hidden(history) == ""
    history.append(Change("a", 13), Change("b", 1))
    history.append(Change("c", 4))
    assert hidden(history) == "ac"
    assert hidden(history, "abz") == "a"


def test_a_row_that_a_later_delete_takes_is_not_hidden():
    history = History()
    history.write_base(Change("a", 28), Change("b", 28))
    history.append(Change("a", 28, is_delete=True), Change("b", 28, is_delete=True))
    history.append(Change("a", 13), Change("b", 13))
    history.append(Change("a", 28, is_delete=True), Change("b", 20, is_delete=True))
    assert hidden(history) == "b"


@pytest.mark.parametrize("merge", [BY_COMMIT, replace(BY_EVENT, merger=Merger(name="m", function=max))])
def test_nothing_is_hidden_where_ordering_values_do_not_decide(merge):
    history = History(merge=merge)
    history.write_base(Change("a", 28))
    history.append(Change("a", 28, is_delete=True))
    history.append(Change("a", 13))
    assert hidden(history) == ""

import pytest

from pyhudi.errors import InvalidInput
from pyhudi.spark.notes import NOTED, Notes, notes_of


class Told:
    """A reader or writer."""


def test_what_a_writer_is_told_stays_with_it():
    told = Told()
    for name, args in (("format", ["Hudi"]), ("option", ["a", 1]), ("option", ["b", None]), ("mode", [None])):
        NOTED[name](notes_of(told), *args)
    NOTED["options"](notes_of(told), c="x")
    NOTED["mode"](notes_of(told), "append")
    NOTED["partitionBy"](notes_of(told), ["p", "q"])
    assert notes_of(told) == Notes(format="Hudi", options={"a": 1, "c": "x"}, mode="append", partition_by=("p", "q"))
    assert notes_of(told).is_hudi
    assert not notes_of(Told()).is_hudi
    notes_of(told).require_nothing_refused()


@pytest.mark.parametrize(("method", "said"), [("schema", "its own schema"), ("sortBy", "leave this out")])
def test_what_a_table_has_no_place_for_is_refused(method, said):
    told = Told()
    NOTED[method](notes_of(told), "a")
    with pytest.raises(InvalidInput, match=said):
        notes_of(told).require_nothing_refused()

"""The merge rules of a table."""

import pytest

from pyhudi.errors import NotBuilt
from pyhudi.kernels.merge import MergeSpec
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig
from pyhudi.state.merging import merge_spec, require_merge_rules

KEPT = "hoodie.record.merge.property.hoodie.payload.delete."


def config(version=9, **said):
    entries = {"hoodie.table.name": "t", "hoodie.table.version": str(version), "hoodie.table.type": "MERGE_ON_READ"}
    return TableConfig.of(entries | {key.replace("__", "."): text for key, text in said.items()})


def test_the_mode_and_the_ordering_fields_are_the_tables():
    found = merge_spec(
        config(hoodie__table__ordering__fields="ts,seq", hoodie__record__merge__mode="EVENT_TIME_ORDERING")
    )
    assert found == MergeSpec(ordering=("ts", "seq"), is_event_time=True)


def test_what_the_table_keeps_of_delete_markers_holds_until_a_call_says_otherwise():
    table = config(**{f"{KEPT}field": "Op", f"{KEPT}marker": "D"})
    assert merge_spec(table) == MergeSpec(delete_field="Op", delete_marker="D")
    said = Settings.of({"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "x"})
    assert merge_spec(table, said) == MergeSpec(delete_field="op", delete_marker="x")


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"hoodie.record.merge.mode": "CUSTOM", "hoodie.compaction.payload.class": "a.B"}, "a.B"),
        ({"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING", "hoodie.table.partial.update.mode": "X"}, "X"),
    ],
)
def test_rules_that_are_not_built_are_refused_by_name(said, named):
    with pytest.raises(NotBuilt, match=named):
        require_merge_rules(config(**said))


def test_plain_rules_are_taken():
    require_merge_rules(config(hoodie__record__merge__mode="COMMIT_TIME_ORDERING"))

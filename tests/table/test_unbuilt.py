"""Every name of the surface is there: what is not built says so, and what to do instead."""

import pytest
from tests.building import TableBuilder

import pyhudi
from pyhudi.errors import NotBuilt
from pyhudi.table.unbuilt import WAYS_ROUND

METHODS = [
    "blame", "schema_history", "evolve",
    "expire_partitions",
    "remove_orphans", "stage", "export", "upgrade", "downgrade",
]  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_a_verb_that_is_not_built_says_what_to_do_instead(name):
    table = TableBuilder().create()
    with pytest.raises(NotBuilt, match=r"yet; .+") as refusal:
        getattr(table, name)("20260101000000000", dry_run=True)
    assert f"`{name}`" in str(refusal.value)
    assert WAYS_ROUND[name] in getattr(table, name).__doc__
    assert name in dir(pyhudi.Table)


@pytest.mark.parametrize("name", ["column_stats", "metadata_files"])
def test_a_question_that_is_not_built_says_what_to_ask_instead(name):
    with pytest.raises(NotBuilt, match=r"yet; .+"):
        getattr(TableBuilder().create().inspect, name)()


def test_functions_that_are_not_built_say_what_to_do_instead():
    with pytest.raises(NotBuilt, match="write_table"):
        pyhudi.import_table("s3://lake/parquet", "s3://lake/trips")

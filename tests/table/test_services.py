import pytest
from tests.building import TableBuilder, trip

from pyhudi.engine.local import LocalEngine
from pyhudi.errors import InvalidInput, OptionError


@pytest.fixture
def table():
    table = TableBuilder().create()
    table.upsert([trip("k")])
    return table


@pytest.mark.parametrize("verb", ["clean", "archive", "compact"])
def test_a_service_that_has_nothing_to_do_says_so_in_one_line_and_in_a_notebook(table, verb):
    for how in ({}, {"dry_run": True}):
        done = getattr(table, verb)(**how)
        assert verb[:6] in str(done)
        assert str(done) in repr(done)
        assert "<" in done._repr_html_()


@pytest.mark.parametrize("how", [{"dry_run": "yes"}, {"schedule": 1}])
def test_a_switch_is_true_or_false(table, how):
    with pytest.raises(InvalidInput):
        table.compact(**how)


def test_options_of_a_compaction_are_checked(table):
    with pytest.raises(OptionError, match="none of"):
        table.compact(options={"hoodie.compaction.strategy": "Mine"})


def test_the_work_is_done_by_the_session_that_is_given(table, monkeypatch):
    asked = []

    def engine_on(spark, storage):
        asked.append(spark)
        return LocalEngine(storage)

    monkeypatch.setattr("pyhudi.table.services.engine_on", engine_on)
    table.compact(spark="a session")
    assert asked == ["a session"]

import pytest

from pyhudi.errors import InstantNotFound, InvalidInput


def test_a_savepoint_is_made_listed_and_deleted(runner, cow):
    times = cow.history()["instant"].to_pylist()
    assert runner.call("create_savepoint", "cow", times[1], "me", "keep") == [{"create_savepoint_result": True}]
    runner.call("create_savepoint", "cow")
    assert [row["savepoint_time"] for row in runner.call("show_savepoints", "cow")] == times[:2]
    assert runner.call("delete_savepoint", "cow") == [{"delete_savepoint_result": True}]
    assert runner.call("show_savepoints", "cow") == [{"savepoint_time": times[1]}]
    runner.call("delete_savepoint", "cow", instant_time=times[1])
    assert runner.call("show_savepoints", "cow") == []


def test_a_table_goes_back_to_a_savepoint(runner, cow):
    first = cow.history()["instant"].to_pylist()[-1]
    runner.call("create_savepoint", "cow", first)
    assert runner.call("rollback_to_savepoint", "cow", first) == [{"rollback_savepoint_result": True}]
    assert set(cow.scan(["fare"]).to_arrow()["fare"].to_pylist()) == {1.0}


@pytest.mark.parametrize("name", ["delete_savepoint", "rollback_to_savepoint"])
def test_a_savepoint_that_is_not_there_is_an_error(runner, cow, name):
    with pytest.raises(InstantNotFound, match="show_savepoints lists them"):
        runner.call(name, "cow")
    runner.call("create_savepoint", "cow")
    with pytest.raises(InstantNotFound, match="show_savepoints lists them"):
        runner.call(name, "cow", "20200101000000000")


def test_a_table_without_commits_has_nothing_to_keep(runner, builder):
    runner.tables["empty"] = builder.create()
    with pytest.raises(InvalidInput, match="no commit yet"):
        runner.call("create_savepoint", "empty")

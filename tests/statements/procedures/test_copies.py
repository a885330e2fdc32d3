import pytest
from tests.statements.procedures.conftest import FakeRunner

from pyhudi.errors import InvalidInput, NotBuilt
from pyhudi.statements.procedures.copies import copied_read


class KeepingRunner(FakeRunner):
    """A surface that writes down what it is to keep."""

    def read(self, location, options, columns=()):
        """Return the read."""
        return location, dict(options), columns

    def make_view(self, name, rows, *, is_replace, is_global):
        """Write a view down."""
        self.kept = name, rows, is_replace, is_global

    def save_table(self, name, rows, mode):
        """Write a table down."""
        self.kept = str(name), rows, mode


@pytest.fixture
def keeping(runner):
    return KeepingRunner(runner.tables)


def test_a_read_becomes_a_view(keeping, cow):
    assert keeping.call("copy_to_temp_view", "cow", view_name="v", replace=True) == [{"status": 0}]
    assert keeping.kept == ("v", (cow.path, {"hoodie.datasource.query.type": "snapshot"}, ()), True, False)


def test_a_read_becomes_a_table(keeping, cow):
    named = {"query_type": "incremental", "begin_instance_time": "earliest", "columns": "uuid, fare"}
    assert keeping.call("copy_to_table", "cow", new_table="db.n", **named, save_mode="APPEND") == [{"status": 0}]
    name, (_, options, columns), mode = keeping.kept
    assert (name, mode, columns) == ("db.n", "append", ("uuid", "fare"))
    assert options["hoodie.datasource.read.begin.instanttime"] == "earliest"
    with pytest.raises(InvalidInput, match="save_mode"):
        keeping.call("copy_to_table", "cow", new_table="n", save_mode="sometimes")


@pytest.mark.parametrize("name", ["copy_to_temp_view", "copy_to_table"])
def test_a_surface_that_keeps_no_rows_is_refused(runner, name):
    with pytest.raises(NotBuilt, match=name):
        runner.call(name, "cow", **{"view_name": "v"} if "view" in name else {"new_table": "n"})


@pytest.mark.parametrize(
    "given",
    [("changes",), ("incremental",), ("incremental", "1", "", "2"), ("snapshot", "1"), ("read_optimized", "", "2")],
)
def test_instants_have_to_fit_the_query(given):
    with pytest.raises(InvalidInput):
        copied_read(*given)


def test_a_moment_is_read_as_of():
    assert copied_read("snapshot", as_of="2027")["as.of.instant"] == "2027"

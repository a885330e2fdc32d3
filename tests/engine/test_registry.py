from importlib.metadata import EntryPoint

import pyarrow as pa
import pytest

from pyhudi.engine import registry
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.registry import engine_for, engine_on
from pyhudi.errors import Environment, InvalidInput
from pyhudi.storage.memory import MemoryStorage


class Frame:
    """A frame of this package."""


class SpecialFrame(Frame):
    """One that inherits."""

    __module__ = "elsewhere.frames"


class OtherEngine(LocalEngine):
    """An engine that another package brings."""

    def __init__(self, session, storage):
        super().__init__(storage)

    @staticmethod
    def of(rows, storage, progress=None):
        return OtherEngine(None, storage)


@pytest.fixture
def registered(monkeypatch):
    def put(*found):
        registry._registered.cache_clear()
        monkeypatch.setattr(registry, "entry_points", lambda group: found if group == "pyhudi.engines" else ())

    yield put
    registry._registered.cache_clear()


def other():
    return EntryPoint(name=__name__.partition(".")[0], value=f"{__name__}:OtherEngine", group="pyhudi.engines")


@pytest.mark.parametrize("rows", [None, [], {}, pa.table({"a": [1]}), Frame()], ids=lambda rows: type(rows).__name__)
def test_rows_of_no_engine_are_worked_on_in_this_process(rows):
    assert type(engine_for(rows, MemoryStorage())) is LocalEngine


@pytest.mark.parametrize("rows", [Frame(), SpecialFrame()])
def test_an_engine_takes_what_comes_from_its_package(registered, rows):
    registered(other())
    assert type(engine_for(rows, MemoryStorage())).__name__ == "OtherEngine"
    assert type(engine_for(pa.table({"a": [1]}), MemoryStorage())) is LocalEngine


def test_a_session_is_one_of_an_engine(registered):
    registered(other())
    assert type(engine_on(Frame(), MemoryStorage())).__name__ == "OtherEngine"
    with pytest.raises(InvalidInput, match="SparkSession"):
        engine_on("local[2]", MemoryStorage())


def test_an_installation_without_entry_points_is_an_error(registered):
    registered()
    with pytest.raises(Environment, match="install it again"):
        engine_for(Frame(), MemoryStorage())


def test_spark_is_registered():
    assert {one.name: one.value for one in registry._registered()}["pyspark"] == "pyhudi.spark.engine:SparkEngine"

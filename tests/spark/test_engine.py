import pytest
from tests.conformance.engine import EngineTests, trips

from pyhudi.engine.api import engine_for
from pyhudi.errors import PathNotShared
from pyhudi.spark.engine import SparkEngine
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage


class TestSparkEngine(EngineTests):
    @pytest.fixture
    def engine(self, spark, storage):
        return SparkEngine(spark, storage)


def test_the_engine_for_a_dataframe_is_spark(spark, tmp_path):
    engine = engine_for(spark.createDataFrame(trips()), LocalStorage(str(tmp_path)))
    assert isinstance(engine, SparkEngine)


def test_a_table_in_memory_is_refused(spark):
    with pytest.raises(PathNotShared, match="memory"):
        SparkEngine(spark, MemoryStorage())

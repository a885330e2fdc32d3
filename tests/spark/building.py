"""Tables for the shared tests of actions and queries, with Spark doing the work."""

import pyarrow as pa
import pytest
from tests.building import TableBuilder

from pyhudi.spark.engine import SparkEngine
from pyhudi.storage.local import LocalStorage


class SparkTableBuilder(TableBuilder):
    """Makes tables on local disk; rows go in and come out as DataFrames."""

    name = "spark"

    def __init__(self, spark, folder, table_type="cow"):
        super().__init__(table_type)
        self.spark = spark
        self.folder = folder
        self.count = 0

    def place(self):
        self.count += 1
        return LocalStorage(str(self.folder / f"table-{self.count}"), self.env)

    def rows(self, records):
        table = pa.Table.from_pylist(records) if isinstance(records, list) else pa.table(records)
        return SparkEngine(self.spark, LocalStorage(str(self.folder))).frame(table)

    def read(self, scan):
        engine = scan.engine_on(self.spark)
        return engine.collect(scan.to_spark(self.spark)).cast(scan.schema)

    def create(self, *args, storage=None, **said):
        if storage is not None and not storage.traits.is_picklable:
            pytest.skip("workers cannot reach this storage")
        return super().create(*args, storage=storage, **said)

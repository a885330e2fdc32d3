"""The flows of a pipeline: two tables of another's rows, and a sink. PYHUDI_PIPELINE names the folder."""

import os

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

import pyhudi.spark

FOLDER = os.environ["PYHUDI_PIPELINE"]
KEY = {"hoodie.datasource.write.recordkey.field": "id"}


def first(reader):
    return reader.format("hudi").load(f"{FOLDER}/first").select("id", "n")


@dp.materialized_view(format="hudi")
def viewed():
    rows = first(SparkSession.active().read)
    return pyhudi.spark.into(rows, f"{FOLDER}/viewed", {"hoodie.table.name": "viewed", **KEY})


@dp.table(format="hudi")
def streamed():
    rows = first(SparkSession.active().readStream)
    return pyhudi.spark.into(rows, f"{FOLDER}/streamed", {"hoodie.table.name": "streamed", **KEY})


dp.create_sink("sunk", format="hudi", options={"path": f"{FOLDER}/sunk", "hoodie.table.name": "sunk", **KEY})


@dp.append_flow(target="sunk")
def sinking():
    return first(SparkSession.active().readStream)

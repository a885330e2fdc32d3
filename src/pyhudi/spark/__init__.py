"""Spark as an engine and as a surface: the only room that imports pyspark.

Importing it starts nothing. Start at `pyhudi.spark.engine`.
"""

from pyhudi.spark.session import set_worker_python

__all__: list[str] = []

set_worker_python()

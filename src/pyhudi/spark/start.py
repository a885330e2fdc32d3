"""Start Spark in this process, sized for a small machine: for the demo and for trying things.

With a cluster there is a session already; nothing in pyhudi starts one by itself.
"""

import sys
from importlib import resources
from typing import TYPE_CHECKING, Final

from pyhudi.spark.session import require_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["start_local_spark"]

_SETTINGS: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
}


def start_local_spark(name: str) -> "SparkSession":
    """Start a quiet session on all cores of this machine, or give the one that runs.

    Raises: PackageMissing without pyspark.
    """
    require_pyspark()
    from pyspark.sql import SparkSession

    quiet = resources.files("pyhudi.spark").joinpath("quiet.properties")
    settings: dict[str, bool | float | int | str | None] = {**_SETTINGS}
    # Spark's own line says how far a job is; in a pipe it would fill a log.
    settings |= {"spark.ui.showConsoleProgress": sys.stderr.isatty()}
    settings |= {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{quiet}"}
    return SparkSession.builder.appName(name).master("local[*]").config(map=settings).getOrCreate()

"""What Spark looks for: it imports packages called `pyspark_*` and registers their `DefaultSource`.

An error here would break every Python data source, so this only names ours.
"""

from pyhudi.spark.datasource import HudiSource

__all__ = ["DefaultSource"]


class DefaultSource(HudiSource):
    """Format `hudi`."""

"""All workloads by name."""

from benchmarks import formats, hudi, local, spark
from benchmarks.model import Workload

WORKLOADS: dict[str, Workload] = {**local.WORKLOADS, **formats.WORKLOADS, **spark.WORKLOADS, **hudi.WORKLOADS}

"""All workloads by name."""

from benchmarks import hudi, local, spark
from benchmarks.model import Workload

WORKLOADS: dict[str, Workload] = {**local.WORKLOADS, **spark.WORKLOADS, **hudi.WORKLOADS}

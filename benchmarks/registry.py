"""All workloads by name."""

from benchmarks import formats, hudi, local, merge_on_read, metadata, spark
from benchmarks.model import Workload

WORKLOADS: dict[str, Workload] = {
    **local.WORKLOADS,
    **merge_on_read.WORKLOADS,
    **metadata.WORKLOADS,
    **formats.WORKLOADS,
    **spark.WORKLOADS,
    **hudi.WORKLOADS,
}

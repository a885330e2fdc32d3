"""All workloads by name."""

from benchmarks import clustering, formats, hudi, local, merge_on_read, metadata, spark, stream
from benchmarks.model import Workload

WORKLOADS: dict[str, Workload] = {
    **local.WORKLOADS,
    **merge_on_read.WORKLOADS,
    **metadata.WORKLOADS,
    **clustering.WORKLOADS,
    **formats.WORKLOADS,
    **spark.WORKLOADS,
    **stream.WORKLOADS,
    **hudi.WORKLOADS,
}

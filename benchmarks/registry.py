"""All workloads by name."""

from benchmarks import (
    clustering,
    ducklake,
    formats,
    growing,
    hudi,
    indexes,
    local,
    merge_on_read,
    metadata,
    spark,
    sql,
    stream,
)
from benchmarks.model import Workload

WORKLOADS: dict[str, Workload] = {
    **local.WORKLOADS,
    **merge_on_read.WORKLOADS,
    **metadata.WORKLOADS,
    **clustering.WORKLOADS,
    **formats.WORKLOADS,
    **growing.WORKLOADS,
    **indexes.WORKLOADS,
    **ducklake.WORKLOADS,
    **spark.WORKLOADS,
    **sql.WORKLOADS,
    **stream.WORKLOADS,
    **hudi.WORKLOADS,
}

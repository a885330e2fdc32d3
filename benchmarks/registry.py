"""All workloads by name."""

from benchmarks import local
from benchmarks.model import Workload

WORKLOADS: dict[str, Workload] = {**local.WORKLOADS}

from pathlib import Path

from benchmarks.registry import WORKLOADS

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"


def test_every_workload_beside_apache_hudi_is_named_on_the_page():
    named = PAGE.read_text()
    assert [name for name in WORKLOADS if name.startswith("hudi_") and name not in named] == []

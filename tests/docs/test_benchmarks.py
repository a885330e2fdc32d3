import re
from pathlib import Path

from benchmarks.registry import WORKLOADS

PAGE = (Path(__file__).parents[2] / "docs" / "benchmarks.md").read_text()
NAME_IN_SUMMARY = re.compile(r"\| `([a-z0-9_]+)` \|$", re.MULTILINE)


def test_every_workload_is_named_on_the_page():
    assert [name for name in WORKLOADS if f"`{name}`" not in PAGE] == []


def test_what_the_page_says_to_run_is_a_workload():
    asked = [name for names in re.findall(r"ONLY=([a-z0-9_,]+)", PAGE) for name in names.split(",")]
    assert {*asked, *NAME_IN_SUMMARY.findall(PAGE)} - WORKLOADS.keys() == set()


def test_every_row_of_the_summary_says_how_it_is_measured_again():
    summary = PAGE.partition("## Summary")[2].partition("\n## ")[0]
    rows = [line for line in summary.splitlines()[1:] if line.startswith("| ") and not line.startswith("| **")][1:]
    assert len(rows) > 70
    assert [row for row in rows if not (NAME_IN_SUMMARY.search(row) or row.endswith("| no workload |"))] == []

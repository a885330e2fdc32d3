"""What a one-row upsert costs, against the figures of decision 0003: a ratchet, which may only be lowered."""

import re

import pytest
from tests.architecture.source import ROOT
from tools.trace_write import traced

PAGE = ROOT / "docs" / "decisions" / "0003-the-corridor-of-a-write.md"
LIMITS = {
    name: int(limit) for name, limit in re.findall(r"^\| (\w[^|]*) \|.*\| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
}


@pytest.fixture(scope="module")
def trace():
    return traced()


def test_an_upsert_crosses_no_more_than_the_decision_says(trace):
    counted = {
        "modules crossed": len(trace.modules),
        "calls upward": len(trace.upward),
        "doors of one room": max(map(len, trace.doors.values())),
        "readings of timelines": trace.readings,
        "readings of hoodie.properties": trace.properties_reads,
        "storage calls": trace.storage_calls.total(),
    }
    assert counted == {name: min(count, LIMITS[name]) for name, count in counted.items()}


def test_what_is_counted_is_there(trace):
    assert trace.storage_calls["guard"] >= 2
    assert trace.storage_calls["open_output"] == 1
    assert trace.readings >= 2

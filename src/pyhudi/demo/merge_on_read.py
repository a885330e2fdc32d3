"""The demo's second table: one month as it happened, in delta commits, read both ways and compacted.

A base file is written once; what departs and arrives each few days goes to log files beside it. Start at
`show_merge_on_read`.
"""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

import pyhudi
from pyhudi.demo.engines import DemoRows
from pyhudi.demo.flights import KEY, SCHEMA, Flights
from pyhudi.demo.judge import differing_rows, has_hudi_rs, read_with_hudi_rs
from pyhudi.demo.report import Report
from pyhudi.env import SystemEnv

__all__ = ["show_merge_on_read"]

_DAYS_A_COMMIT: Final = 5
_BY_HAND: Final = {"hoodie.compact.inline": False, "hoodie.clean.automatic": False}
_CLOCK: Final = SystemEnv()


def show_merge_on_read(path: str, on: DemoRows, flights: Flights, report: Report) -> None:
    """Make the table, update it day by day, read it as a snapshot and read optimized, and compact it."""
    month = flights.months[0]
    planned, flown = flights.planned([month]), flights.flown([month])
    table = pyhudi.create_table(path, SCHEMA, name="january", record_key=list(KEY), table_type="MERGE_ON_READ")
    table.insert(on.give(planned), options=_BY_HAND)
    commits = _update(table, on, flown)
    table.delete(on.give(flights.never_left([month])), options=_BY_HAND)
    report.table("delta commits", ["days", "updated", "seconds"], commits)
    report.claim("departures and arrivals in log files", sum(row[1] for row in commits), flown.num_rows)
    merged = on.rows(table.scan(columns=SCHEMA.names))
    report.claim("rows of the snapshot that differ from the source", differing_rows(merged, flown), 0)
    base = on.rows(table.scan(columns=SCHEMA.names, mode="read_optimized"))
    report.claim("rows read optimized: the plan, for it was not compacted", differing_rows(base, planned), 0)
    plan = table.compact(dry_run=True)
    report.say(f"the plan: {plan}")
    table.compact()
    base = on.rows(table.scan(columns=SCHEMA.names, mode="read_optimized"))
    report.claim("rows read optimized that differ from the source, compacted", differing_rows(base, flown), 0)
    if has_hudi_rs():
        theirs = read_with_hudi_rs(table.state.storage.url)
        report.claim("rows on which hudi-rs and the source differ", differing_rows(theirs, flown), 0)


def _update(table: Any, on: DemoRows, flown: pa.Table) -> list[list[Any]]:  # noqa: ANN401 - a Table
    """Upsert the month in delta commits of a few days each; returns what is shown of each."""
    shown = []
    last = pc.max(flown["day"]).as_py()
    for first in range(1, last + 1, _DAYS_A_COMMIT):
        until = min(first + _DAYS_A_COMMIT - 1, last)
        is_day = pc.and_(pc.greater_equal(flown["day"], first), pc.less_equal(flown["day"], until))
        start = _CLOCK.monotonic_s()
        done = table.upsert(on.give(flown.filter(is_day)), options=_BY_HAND)
        shown.append([f"{first} to {until}", done.updated, round(_CLOCK.monotonic_s() - start, 2)])
    return shown

"""The demo's part in SQL: a table is created, filled, merged into, read as it was, and asked about.

The same statements run by `spark.sql` or, in this process, by `pyhudi.sql`. Start at `show_sql`.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.demo.engines import DemoRows
from pyhudi.demo.flights import KEY, SCHEMA, Flights
from pyhudi.demo.judge import differing_rows
from pyhudi.demo.report import Report
from pyhudi.env import SystemEnv

__all__ = ["show_sql"]

_TYPES: Final = {pa.string(): "string", pa.int64(): "bigint"}
_COLUMNS: Final = ", ".join(f"{one.name} {_TYPES[one.type]}" for one in SCHEMA)
_ON: Final = " AND ".join(f"t.{name} = s.{name}" for name in ("month", *KEY))
_MONTHS: Final = 2
"""So many months are enough to show what statements do."""
_CLOCK: Final = SystemEnv()


def show_sql(path: str, on: DemoRows, flights: Flights, report: Report) -> None:
    """Plan some months by INSERT, let them happen by MERGE INTO, look back, and ask the table what it has."""
    months = flights.months[:_MONTHS]
    facts, flown = flights.facts(months), flights.flown(months)
    run = _Statements(on, path, {"planned": flights.planned(months), "happened": flights.both(months)})
    run(
        f"CREATE TABLE schedule ({_COLUMNS}) USING hudi PARTITIONED BY (month) LOCATION '{path}' "
        f"TBLPROPERTIES (primaryKey = '{','.join(KEY)}', 'hoodie.clean.automatic' = 'false')"
    )
    inserted = run("INSERT INTO schedule BY NAME SELECT * FROM planned")
    merged = run(
        f"MERGE INTO schedule t USING happened s ON {_ON} WHEN MATCHED AND s.dep_time IS NULL THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    rows = run("SELECT * FROM schedule")
    commits = run("CALL show_commits(table => 'schedule')")
    first = pc.min(commits["commit_time"]).as_py()
    then = run(f"SELECT count(*) AS n, count(dep_time) AS departed FROM schedule VERSION AS OF '{first}'")  # noqa: S608
    partitions = run("SHOW PARTITIONS schedule")
    run("DROP TABLE schedule")
    report.table("statements", ["statement", "answer", "seconds"], run.shown)
    report.claim("flights inserted", _counts(inserted), (0, 0, facts.planned))
    report.claim("flights updated, deleted, inserted by the merge", _counts(merged), (facts.flown, facts.never_left, 0))
    report.claim("rows that differ from the source", differing_rows(rows, flown), 0)
    report.claim("commits", commits.num_rows, 2)
    report.claim("rows as of the first commit, and those departed", _values(then), [facts.planned, 0])
    report.claim("partitions", partitions.column(0).to_pylist(), [f"month={month}" for month in months])


@dataclass(slots=True)
class _Statements:
    """Runs statements about one table, and remembers what to show of each."""

    on: DemoRows
    path: str
    given: dict[str, pa.Table]
    """Rows that statements may name, by name."""
    shown: list[list[Any]] = field(default_factory=list)

    def __call__(self, text: str) -> pa.Table:
        """Run one statement and return its rows."""
        start = _CLOCK.monotonic_s()
        named = {name: rows for name, rows in self.given.items() if name in text}
        answer = self.on.sql(text, named, {"schedule": self.path} if self.shown else {})
        self.shown.append([_short(text), _answered(answer), round(_CLOCK.monotonic_s() - start, 2)])
        return answer


def _short(text: str) -> str:
    most = 56
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def _answered(answer: pa.Table) -> str:
    if answer.column_names[:1] == ["num_affected_rows"]:
        return "{:,} updated, {:,} deleted, {:,} inserted".format(*_counts(answer))
    return f"{answer.num_rows:,} rows" if answer.column_names else "done"


def _counts(answer: pa.Table) -> tuple[int, ...]:
    """Return how many rows a change updated, deleted and inserted."""
    return tuple(_values(answer)[1:])


def _values(answer: pa.Table) -> list[Any]:
    """Return the values of an answer's one row."""
    return [column[0].as_py() for column in answer.columns]

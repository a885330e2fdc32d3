"""The demo's story, in order: load, update, delete, read, travel, follow, and let another reader judge.

Month by month what was planned comes in as new rows, then departures and arrivals as updates; flights that never left
are deleted each quarter. Start at `run_demo`.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import pyhudi
from pyhudi.demo.engines import DemoRows, engine_of
from pyhudi.demo.flights import KEY, SCHEMA, Flights, load_flights
from pyhudi.demo.judge import differing_rows, has_hudi_rs, read_with_hudi_rs
from pyhudi.demo.merge_on_read import show_merge_on_read
from pyhudi.demo.report import Report
from pyhudi.demo.sql import show_sql
from pyhudi.demo.stream import show_stream
from pyhudi.env import SystemEnv
from pyhudi.errors import InvalidInput

__all__ = ["Demo", "Step", "run_demo"]

CANCELLED_EVERY = 3
"""Months between deletes."""
_BY_HAND = {"hoodie.clean.automatic": False}
"""Older files stay, so that the demo can travel to them; it cleans at its end."""
_SHORT_AND_LATE = "distance < 250 and dep_delay > 120"
_SMALL_FILES = {"hoodie.clustering.plan.strategy.target.file.max.bytes": 64 << 10, **_BY_HAND}
"""So small that a year of flights makes enough of them to leave some out."""
_CLOCK = SystemEnv()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One commit of the demo. Units: s."""

    name: str
    months: tuple[int, ...]
    instant: str
    seconds: float
    phases: dict[str, float]


@dataclass(slots=True)
class Demo:
    """What the parts of the demo share."""

    path: str
    table: Any
    on: DemoRows
    flights: Flights
    report: Report
    steps: list[Step] = field(default_factory=list)
    reads: list[tuple[str, float]] = field(default_factory=list)

    def write(self, name: str, months: Sequence[int], write: Callable[..., Any], rows: pa.Table) -> Any:  # noqa: ANN401
        """Do one write and remember when and how long."""
        start = _CLOCK.monotonic_s()
        result = write(self.on.give(rows), options=_BY_HAND)
        step = Step(
            name=name,
            months=tuple(months),
            instant=result.instant,
            seconds=_CLOCK.monotonic_s() - start,
            phases={str(phase): float(seconds) for phase, seconds in dict(result.phases).items()},
        )
        self.steps.append(step)
        return result

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Remember how long a read took."""
        start = _CLOCK.monotonic_s()
        yield
        self.reads.append((name, _CLOCK.monotonic_s() - start))


def run_demo(*, engine: str, path: str, months: int = 12, as_json: bool = False) -> bool:
    """Run the pipeline and tell whether every number agrees with the source.

    Raises: InvalidInput if `path` holds something that is not a table.
    """
    start = _CLOCK.monotonic_s()
    report = Report(as_json=as_json)
    _make_room(path)
    with engine_of(engine) as (on, reason):
        if reason:
            report.say(f"[yellow]{reason}[/]\n[yellow]going on with the local engine[/]")
        ready = _CLOCK.monotonic_s()
        demo = Demo(path, _create(path), on, load_flights(months), report)
        report.say(f"[bold]Flights out of New York, 2013[/], into a Hudi table by the {on.name} engine: {path}")
        for part in _PARTS:
            part(demo)
        table_s = sum(step.seconds for step in demo.steps) + sum(seconds for _, seconds in demo.reads)
        checks_s = _CLOCK.monotonic_s() - ready - table_s
    report.say(
        f"\n{table_s:.1f} s for {len(demo.steps)} commits and {len(demo.reads)} reads, "
        f"{checks_s:.1f} s to load and check the source, {ready - start:.1f} s to start the engine"
    )
    report.close(engine=on.name, path=path, table_s=table_s, commits=len(demo.steps))
    return report.is_right


def _make_room(path: str) -> None:
    """Remove the table of an earlier run, and nothing else."""
    folder = Path(path)
    if not folder.exists():
        return
    if not (folder / ".hoodie").is_dir() and any(folder.iterdir()):
        raise InvalidInput("the demo's path holds something that is not a table; name another", path=path)
    shutil.rmtree(folder)


def _create(path: str) -> Any:  # noqa: ANN401 - a Table
    return pyhudi.create_table(path, SCHEMA, name="flights", record_key=list(KEY), partition_by=["month"])


def _load(demo: Demo) -> None:
    demo.report.head("1. Load month by month: insert the plan, upsert what happened, delete what never left")
    flights, table = demo.flights, demo.table
    rows, waiting = [], []
    for month in flights.months:
        facts, begun = flights.facts([month]), len(demo.steps)
        inserted = demo.write("insert", [month], table.insert, flights.planned([month]))
        updated = demo.write("upsert", [month], table.upsert, flights.flown([month]))
        waiting.append(month)
        deleted_count, expected_count = 0, 0
        if len(waiting) == CANCELLED_EVERY or month == flights.months[-1]:
            deleted = demo.write("delete", waiting, table.delete, flights.never_left(waiting))
            deleted_count, expected_count = deleted.deleted, flights.facts(waiting).never_left
            waiting = []
        got = (inserted.inserted, updated.updated, updated.inserted, deleted_count)
        is_right = got == (facts.planned, facts.flown, 0, expected_count)
        seconds = sum(step.seconds for step in demo.steps[begun:])
        rows.append([month, *got[:2], deleted_count, round(seconds, 2), "ok" if is_right else "WRONG"])
    headings = ["month", "inserted", "updated", "deleted", "seconds", "source"]
    demo.report.table("load", headings, rows)
    every = flights.facts()
    for what, column, expected in (
        ("planned flights inserted", 1, every.planned),
        ("departures and arrivals updated", 2, every.flown),
        ("flights that never left deleted", 3, every.never_left),
    ):
        demo.report.claim(what, sum(row[column] for row in rows), expected)
    demo.report.claim("months that agree with the source", sum(row[-1] == "ok" for row in rows), len(rows))


def _snapshot(demo: Demo) -> None:
    demo.report.head("2. Read the latest snapshot")
    with demo.reading("snapshot"):
        got = demo.on.by_month(demo.table.scan(columns=["month", "dep_delay"]))
    rows, is_right = [], 0
    for row in got.to_pylist():
        facts = demo.flights.facts([row["month"]])
        is_right += (row["flights"], row["dep_delay_sum"]) == (facts.flown, facts.dep_delay_sum)
        rows.append([row["month"], row["flights"], round(row["dep_delay_sum"] / row["flights"], 2)])
    demo.report.table("snapshot", ["month", "flights", "mean departure delay (min)"], rows)
    demo.report.claim("rows left", sum(row[1] for row in rows), demo.flights.facts().flown)
    demo.report.claim("months whose count and sum of delays agree", is_right, len(demo.flights.months))


def _travel(demo: Demo) -> None:
    month = demo.flights.months[len(demo.flights.months) // 2]
    demo.report.head(f"3. Travel to before the updates of month {month}")
    then = next(step for step in demo.steps if step.name == "insert" and step.months == (month,))
    with demo.reading("time travel"):
        rows = demo.on.rows(demo.table.scan(columns=["month", "dep_time"], as_of=then.instant))
    earlier = [step for step in demo.steps if step.instant <= then.instant]
    expected = sum(demo.flights.facts(step.months).planned for step in earlier if step.name == "insert")
    expected -= sum(demo.flights.facts(step.months).never_left for step in earlier if step.name == "delete")
    demo.report.say(f"as of {then.instant}")
    of_month = rows.filter(pc.equal(rows["month"], month))
    demo.report.claim("rows of the table", rows.num_rows, expected)
    demo.report.claim(f"of them flights of month {month}", of_month.num_rows, demo.flights.facts([month]).planned)
    demo.report.claim("of these with a departure time", of_month.num_rows - of_month["dep_time"].null_count, 0)


def _follow(demo: Demo) -> None:
    last_two = demo.steps[-2:]
    since = demo.steps[-3].instant
    demo.report.head("4. Follow the changes of the last two commits")
    with demo.reading("incremental"):
        changed = demo.on.rows(demo.table.changes(after=since))
    shown = [[step.instant, step.name, ", ".join(map(str, step.months)), round(step.seconds, 2)] for step in last_two]
    demo.report.table("last commits", ["instant", "operation", "months", "seconds"], shown)
    updated = [month for step in last_two if step.name == "upsert" for month in step.months]
    expected = demo.flights.flown(updated)
    demo.report.claim("rows changed and still there", changed.num_rows, demo.flights.facts(updated).flown)
    demo.report.claim("of them different from the source", differing_rows(changed.select(SCHEMA.names), expected), 0)


def _judge(demo: Demo) -> None:
    demo.report.head("5. Let hudi-rs read the table")
    if not has_hudi_rs():
        demo.report.say("hudi-rs is not installed: pip install 'pyhudi[demo]'")
        return
    url = demo.table.state.storage.url
    with demo.reading("hudi-rs snapshot"):
        theirs = read_with_hudi_rs(url)
    ours = demo.table.scan(columns=SCHEMA.names).to_arrow()
    demo.report.claim("rows hudi-rs reads", theirs.num_rows, demo.flights.facts().flown)
    demo.report.claim("rows on which hudi-rs and pyhudi differ", differing_rows(theirs, ours), 0)
    demo.report.claim("rows on which hudi-rs and the source differ", differing_rows(theirs, demo.flights.flown()), 0)


def _prune(demo: Demo) -> None:
    month = demo.flights.months[-1]
    demo.report.head(f"6. Read month {month} only: what is left out, and by what")
    scan = demo.table.scan(columns=["month", "dep_time"], filter=f"month = {month}")
    demo.report.say(scan.explain())
    with demo.reading("one month"):
        rows = demo.on.rows(scan)
    demo.report.claim(f"flights of month {month}", rows.num_rows, demo.flights.facts([month]).flown)


def _clean(demo: Demo) -> None:
    demo.report.head("7. Clean: delete the older files that no reader is promised any more")
    planned = demo.table.clean(dry_run=True)
    demo.report.say(f"the plan: {len(planned.files)} files, {planned.bytes:,} bytes")
    done = demo.table.clean()
    demo.report.claim("files deleted", len(done.files), len(planned.files))
    demo.report.claim("rows left", demo.table.scan(columns=["month"]).count(), demo.flights.facts().flown)


def _update_in_logs(demo: Demo) -> None:
    demo.report.head("8. Merge-on-read: a month in delta commits, read both ways, and compacted")
    path = f"{demo.path}-merge-on-read"
    _make_room(path)
    show_merge_on_read(path, demo.on, demo.flights, demo.report)


def _cluster(demo: Demo) -> None:
    demo.report.head("9. Cluster: order rows along a curve, so that a filter on two columns leaves most files out")
    columns = ["distance", "dep_delay"]
    chosen = demo.table.scan(columns=["month", *columns], filter=_SHORT_AND_LATE)
    demo.report.say(chosen.explain())
    newest = demo.table.latest_instant
    done = demo.table.cluster(order_by=columns, layout="hilbert", options=_SMALL_FILES, spark=demo.on.session)
    demo.report.say(str(done))
    chosen = demo.table.scan(columns=["month", *columns], filter=_SHORT_AND_LATE)
    demo.report.say(chosen.explain())
    with demo.reading("two ranges"):
        rows = demo.on.rows(chosen)
    source = demo.flights.flown()
    is_meant = pc.and_kleene(pc.less(source["distance"], 250), pc.greater(source["dep_delay"], 120))
    demo.report.claim("short flights that left late", rows.num_rows, source.filter(is_meant).num_rows)
    demo.report.claim("rows left", demo.table.scan(columns=["month"]).count(), demo.flights.facts().flown)
    changed = demo.on.rows(demo.table.changes(after=newest))
    demo.report.claim("rows that came by it, for readers of changes", changed.num_rows, 0)


def _stream(demo: Demo) -> None:
    if demo.on.session is None:
        return
    demo.report.head("10. Stream: carry the changes of the merge-on-read table into another, on Spark")
    path = f"{demo.path}-carried"
    _make_room(path)
    show_stream(f"{demo.path}-merge-on-read", path, demo.on, demo.flights, demo.report)


def _ask_in_sql(demo: Demo) -> None:
    function = "pyhudi.sql" if demo.on.session is None else "spark.sql"
    demo.report.head(f"11. SQL: the first months once more, by statements that {function} runs")
    if demo.on.session is None and find_spec("duckdb") is None:
        demo.report.say("duckdb is not installed: pip install 'pyhudi[duckdb]'")
        return
    path = str(Path(f"{demo.path}-in-sql").absolute())  # Spark's catalog takes a relative one from its warehouse
    _make_room(path)
    show_sql(path, demo.on, demo.flights, demo.report)


def _look_up(demo: Demo) -> None:
    demo.report.head("12. Indexes: find the flights of one plane, and one flight, without a look at other files")
    for kind, column in (("record_index", None), ("secondary", "tailnum")):
        demo.table.create_index(kind, column)
    source = demo.flights.flown()
    plane = source["tailnum"].drop_null()[0].as_py()
    scan = demo.table.scan(columns=["month", "tailnum"], filter=f"tailnum = '{plane}'")
    demo.report.say(scan.explain())
    with demo.reading("by secondary index"):
        rows = demo.on.rows(scan)
    demo.report.claim(f"flights of {plane}", rows.num_rows, pc.sum(pc.equal(source["tailnum"], plane)).as_py())
    flight = source.select(KEY).slice(0, 1)
    with demo.reading("by record index"):
        found = demo.table.lookup(flight.to_pylist())
    demo.report.claim("flights of one key", found.num_rows, 1)


def _where_time_went(demo: Demo) -> None:
    demo.report.head("Where the time went")
    phases = sorted({phase for step in demo.steps for phase in step.phases})
    rows = []
    for name in dict.fromkeys(step.name for step in demo.steps):
        steps = [step for step in demo.steps if step.name == name]
        spent = [round(sum(step.phases.get(phase, 0.0) for step in steps), 2) for phase in phases]
        rows.append([name, len(steps), round(sum(step.seconds for step in steps), 2), *spent])
    demo.report.table("writes", ["operation", "commits", "seconds", *phases], rows)
    demo.report.table("reads", ["read", "seconds"], [[name, round(seconds, 2)] for name, seconds in demo.reads])


_PARTS = (
    _load,
    _snapshot,
    _travel,
    _follow,
    _judge,
    _prune,
    _clean,
    _update_in_logs,
    _cluster,
    _stream,
    _ask_in_sql,
    _look_up,
    _where_time_went,
)

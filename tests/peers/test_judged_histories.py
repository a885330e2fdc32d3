"""Our engines and Apache Hudi take turns on one table; after each commit all readers see the same, and what must be.

And Apache Hudi alone cleans, archives, clusters, saves and restores a table: what it was at any moment is read right,
or refused. `tests.peers.matrix` and `tests.peers.upkeep` choose the histories. A red one runs again by its seed:
`PYHUDI_SEED=... pytest -k its-name`.
"""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from tests.peers.conftest import lane, seed
from tests.peers.histories import Expected, Row, Step, history
from tests.peers.kinds import COLUMNS, Kind
from tests.peers.matrix import SIZES, cases
from tests.peers.peer import PeerError
from tests.peers.sides import Hudi, HudiRs, Ours, OursOnSpark, Place, Question, Which, rows_of
from tests.peers.upkeep import CITIES, upkeeps
from tests.storage.conftest import s3_options

from pyhudi.engine.local import LocalEngine
from pyhudi.engine.registry import engine_on
from pyhudi.errors import Expired, InstantNotFound
from pyhudi.options import Settings
from pyhudi.queries.scan import Scan
from pyhudi.queries.source_options import plan_read
from pyhudi.timeline.instant import Instant
from pyhudi.timeline.view import completed_writes

CASES = [pytest.param(case, id=case.name) for case in cases(SIZES[lane()], seed())]

UPKEEPS = [pytest.param(one.release, one, id=one.name) for one in upkeeps(lane(), seed())]

KEPT = 8
"""Former commits that Apache Hudi's cleaner, which runs by itself, surely leaves readable."""


@dataclass
class Court:
    """One table's readers, and all that they must have seen."""

    place: Place
    kind: Kind
    readers: dict[str, Any]
    expected: Expected = field(init=False)
    past: dict[Instant, tuple[int, list[dict[str, Any]]]] = field(default_factory=dict)

    def __post_init__(self):
        self.expected = Expected(self.kind)

    def judge(self, step: Step, luck: random.Random):
        """Check every reader against what must be there, was there, and came since a former commit."""
        self.expected.apply(step)
        rows = list(self.expected.rows.values())
        newest = completed_writes(self.place.open().timeline)[-1]
        wanted: dict[Question, list[Row] | None] = {Question(Which.NEWEST, newest): rows}
        if self.past:
            commit, (number, former) = luck.choice(list(self.past.items())[-KEPT:])
            wanted[Question(Which.AS_OF, commit)] = former
            if self.kind.has_meta_columns:  # else rows do not say when they came
                since = None if self.kind.shows_losers else self.expected.since(number)
                wanted[Question(Which.SINCE, commit)] = since
        with ThreadPoolExecutor(len(self.readers)) as pool:  # they are programs of their own
            asked = {name: pool.submit(reader.answers, list(wanted)) for name, reader in self.readers.items()}
            found = {name: answers.result() for name, answers in asked.items()}
        for number, (question, rows_wanted) in enumerate(wanted.items()):
            self.agree((question, step), {name: tables[number] for name, tables in found.items()}, rows_wanted)
        self.past[newest] = self.expected.steps, rows

    def agree(self, why: Any, found: dict[str, pa.Table], rows: list[dict[str, Any]] | None):
        """Compare the rows that all read with meta columns, and then with those that must be there, if known."""
        names = found["ours"].schema.names
        if not self.kind.has_meta_columns:
            names = [name for name in names if not name.startswith("_hoodie_")]
        ours = found["ours"].select(names)
        for name, table in found.items():
            assert rows_of(table.select(names)) == rows_of(ours), (name, why)
        if rows is None:
            return
        columns = [name for name in names if not name.startswith("_hoodie_")]
        wanted = [{name: row.get(name) for name in columns} for row in rows]
        assert rows_of(ours.select(columns)) == sorted(wanted, key=repr), why


@pytest.fixture
def place_of(s3_server, tmp_path):
    """Return a place that was not used before."""

    def place(case):
        if case.place == "local":
            return Place(str(tmp_path / "trips"))
        rust = {
            "aws_access_key_id": "dummy",
            "aws_secret_access_key": "dummy",
            "aws_region": "us-east-1",
            "aws_allow_http": "true",
            "aws_endpoint": s3_server,
        }
        return Place(f"s3a://bucket/histories/{case.name}", s3_options(s3_server), rust)

    return place


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("case", CASES)
def test_taking_turns(hudi_1_2, uncompiled_spark, place_of, case):
    place = place_of(case)
    sides = {
        "ours": Ours(place, case.kind, case.version),
        "spark": OursOnSpark(uncompiled_spark, place, case.kind, case.version),
        "hudi": Hudi(hudi_1_2, place, case.kind, case.version),
    }
    rust = HudiRs(place, case.kind, case.version)
    court = Court(place, case.kind, sides | {"hudi-rs": rust} if rust.is_asked else sides)
    luck = random.Random(case.seed)
    for step in history(case.kind, case.turns, case.seed):
        sides[step.actor].do(step)
        if step.verb == "compact":
            assert not place.open().compact(dry_run=True).files, step
        court.judge(step, luck)
    if rust.refusal:
        with pytest.raises(Exception, match=rust.refusal):
            rust.read()


@dataclass(frozen=True)
class Moment:
    """What a table was after a step: its rows, what brought each, and the commits that made it so."""

    last: Any
    """What brought the newest: a step's number, or a commit's time."""
    commits: tuple[Instant, ...]
    rows: list[tuple[Any, Row]]

    def since(self, other: "Moment | None") -> list[Row]:
        """Return the rows that came later."""
        return [row for brought, row in self.rows if other is None or brought > other.last]


@dataclass
class Memory:
    """What a table was, and how much of it was answered."""

    place: Place
    is_lossy: bool
    """Apache Hudi itself loses rows, so what must be there is what ours read at once."""
    read: Callable[..., pa.Table] | None = None
    """How Apache Hudi reads, where rows do not say what it shows as changed."""
    expected: Expected = field(default_factory=lambda: Expected(CITIES))
    moments: list[Moment] = field(default_factory=list)
    saved: int = 0
    answered: int = 0
    refused: int = 0

    def note(self, step: Step):
        """Remember what the table is now."""
        self.expected.apply(step)
        if step.verb == "save":
            self.saved = len(self.moments)
        elif step.verb == "restore":
            del self.moments[self.saved :]
        table = self.place.open()
        known = {one.requested_time for moment in self.moments for one in moment.commits}
        commits = tuple(one for one in completed_writes(table.timeline) if one.requested_time not in known)
        if not commits:
            return
        if self.is_lossy:
            stored = [(row.pop("_hoodie_commit_time"), row) for row in table.scan(meta=True).to_arrow().to_pylist()]
            self.moments.append(Moment(commits[-1].requested_time, commits, stored))
        else:
            rows = [(self.expected.brought[key], row) for key, row in self.expected.rows.items()]
            self.moments.append(Moment(self.expected.steps, commits, rows))

    def at(self, time: str, *, is_requested: bool) -> Moment | None:
        """Return what the table was at a time, by when commits were requested or by what orders them for readers."""
        timeline = self.place.open().timeline
        points = {
            moment.last: min(one.requested_time if is_requested else timeline.point(one) for one in moment.commits)
            for moment in self.moments
        }
        return next((one for one in reversed(self.moments) if points[one.last] <= time), None)

    def judge(self, luck: random.Random):
        """Ask for every moment in every way; what is not refused must be what the table was."""
        table = self.place.open()
        commits = [(one, moment) for moment in self.moments for one in moment.commits]
        active = table.timeline.completed
        for one, moment in commits:
            for time in {one.requested_time, table.timeline.point(one)}:
                then = moment if time in active else self.at(time, is_requested=False)
                for city in (None, *CITIES.cities):
                    rows = [row for row in then.since(None) if city in {None, row["city"]}] if then else []
                    self.compare(rows, table.scan, as_of=time, filter=f"city = '{city}'" if city else None)
                then = self.at(time, is_requested=True)
                self.compare(then.since(None) if then else [], self.by_options, options={"as.of.instant": time})
        pairs = [(one, other) for place, one in enumerate(commits) for other in commits[place + 1 :]]
        if self.read is not None:
            self.judge_changes(luck.sample(pairs, min(2, len(pairs))))
            pairs = []
        for (one, before), (other, then) in luck.sample(pairs, min(12, len(pairs))):
            begin, end = table.timeline.point(one), table.timeline.point(other)
            self.compare(then.since(before), table.changes, after=begin, until=end)
            self.compare(then.since(before), self.by_options, options=window(begin, end))
            self.compare(then.since(None), table.changes, until=end)
            self.compare(then.since(None), self.by_options, options=window("000", end))
            self.compare(self.moments[-1].since(before), table.changes, after=begin)
        refused = self.refused
        self.compare(self.moments[-1].since(None), table.scan)
        assert self.refused == refused

    def judge_changes(self, pairs: Sequence[tuple[Any, Any]]):
        """Ask Apache Hudi for what changed; of rows in logs it shows some that lose against a base file.

        Where a file of the window is gone it would read the newest rows instead, without these, if it were let.
        """
        table = self.place.open()
        for (one, _), (other, _) in pairs:
            begin, end = table.timeline.point(one), table.timeline.point(other)
            try:
                rows = self.read(**window(begin, end), **NO_FALLBACK).select(COLUMNS.names).to_pylist()
            except PeerError:  # it opens files that were cleaned, or compacted away
                continue
            self.compare(rows, table.changes, after=begin, until=end)
            self.compare(rows, self.by_options, options=window(begin, end))

    def by_options(self, options: dict[str, str]) -> Scan:
        """Read as the Spark data source plans it."""
        state = self.place.open().state
        plan = plan_read(state, Settings.of(options))
        return Scan(plan=plan, engine=LocalEngine(state.storage), engine_on=engine_on)

    def compare(self, rows: list[Row], ask: Callable[..., Scan], **how: Any):
        """Compare an answer with the rows that there were, unless it is refused."""
        try:
            found = ask(**how).to_arrow()
        except (Expired, InstantNotFound):
            self.refused += 1
            return
        self.answered += 1
        names = [name for name in found.schema.names if not name.startswith("_hoodie_")]
        wanted = sorted(({name: row[name] for name in names} for row in rows), key=repr)
        assert rows_of(found.select(names)) == wanted, how


NO_FALLBACK = {"hoodie.datasource.read.incr.fallback.fulltablescan.enable": "false"}


def window(begin: str, end: str) -> dict[str, str]:
    """Spell an incremental read."""
    read = "hoodie.datasource.read."
    bounds = {f"{read}begin.instanttime": begin, f"{read}end.instanttime": end}
    return {"hoodie.datasource.query.type": "incremental", **bounds}


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("hudi", "upkeep"), UPKEEPS, indirect=["hudi"])
def test_a_moment_is_what_the_table_was_then_or_it_is_refused(hudi, hudi_1_2, tmp_path, upkeep):
    place = Place(str(tmp_path / "trips"))
    side = Hudi(hudi, place, CITIES, upkeep.version, dict(upkeep.options))
    # One release is the measure of all histories; what older ones show of logs is not compared here.
    newest = Hudi(hudi_1_2, place, CITIES, upkeep.version)
    memory = Memory(place, upkeep.is_lossy, newest.read if upkeep.has_logs else None)
    luck = random.Random(upkeep.seed)
    for step in history(CITIES, list(upkeep.turns), upkeep.seed):
        side.do(step)
        memory.note(step)
        memory.judge(luck)
    assert memory.answered > memory.refused / 10
    assert memory.refused

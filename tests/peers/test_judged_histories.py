"""Our engines and Apache Hudi take turns on one table; after each commit all readers see the same, and what must be.

`tests.peers.matrix` chooses the histories. A red one runs again by its seed: `PYHUDI_SEED=... pytest -k its-name`.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from tests.peers.conftest import lane, seed
from tests.peers.histories import Expected, Step, history
from tests.peers.kinds import Kind
from tests.peers.matrix import SIZES, cases
from tests.peers.sides import Hudi, HudiRs, Ours, OursOnSpark, Place, Question, Which, rows_of
from tests.storage.conftest import s3_options

from pyhudi.timeline.instant import Instant
from pyhudi.timeline.view import completed_writes

CASES = [pytest.param(case, id=case.name) for case in cases(SIZES[lane()], seed())]

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
        """Hold every reader to what must be there, was there, and came since a former commit."""
        self.expected.apply(step)
        rows = list(self.expected.rows.values())
        newest = completed_writes(self.place.open().timeline)[-1]
        wanted = {Question(Which.NEWEST, newest): rows}
        if self.past:
            commit, (number, former) = luck.choice(list(self.past.items())[-KEPT:])
            wanted[Question(Which.AS_OF, commit)] = former
            if self.kind.has_meta_columns:  # else rows do not say when they came
                wanted[Question(Which.SINCE, commit)] = self.expected.since(number)
        with ThreadPoolExecutor(len(self.readers)) as pool:  # they are programs of their own
            asked = {name: pool.submit(reader.answers, list(wanted)) for name, reader in self.readers.items()}
            found = {name: answers.result() for name, answers in asked.items()}
        for number, (question, rows_wanted) in enumerate(wanted.items()):
            self.agree((question, step), {name: tables[number] for name, tables in found.items()}, rows_wanted)
        self.past[newest] = self.expected.steps, rows

    def agree(self, why: Any, found: dict[str, pa.Table], rows: list[dict[str, Any]]):
        """Compare the rows that all read with meta columns, and then with those that must be there."""
        names = found["ours"].schema.names
        if not self.kind.has_meta_columns:
            names = [name for name in names if not name.startswith("_hoodie_")]
        ours = found["ours"].select(names)
        for name, table in found.items():
            assert rows_of(table.select(names)) == rows_of(ours), (name, why)
        columns = [name for name in names if not name.startswith("_hoodie_")]
        wanted = [{name: row.get(name) for name in columns} for row in rows]
        assert rows_of(ours.select(columns)) == sorted(wanted, key=repr), why


@pytest.fixture
def place_of(s3_server, tmp_path):
    """Give a place that nobody used before."""

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
    court = Court(place, case.kind, sides if rust.refusal else sides | {"hudi-rs": rust})
    luck = random.Random(case.seed)
    for step in history(case.kind, case.turns, case.seed):
        sides[step.actor].do(step)
        court.judge(step, luck)
    if rust.refusal:
        with pytest.raises(Exception, match=rust.refusal):
            rust.read()

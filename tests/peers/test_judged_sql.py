"""The same SQL on Apache Hudi and here, statement by statement: what it answers, and what the table holds then.

The statements are in `sql/`, a file a subject, and every file is one database. A statement that is meant to differ has
a comment in front of it which names the reason in `DIFFERENCES`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.peers.peer import PeerError

import pyhudi.spark
from pyhudi.errors import HudiError
from pyhudi.statements.parse import head_of
from pyhudi.timeline.view import completed_writes

SCRIPTS = Path(__file__).with_name("sql")
QUERIES = ("select", "with", "show", "describe", "call")
TYPES = ("cow", "mor")

DIFFERENCES: dict[str, str] = {}
"""What is meant to differ, by the name that the scripts give it."""


@dataclass(frozen=True)
class Spoken:
    """A statement of a script."""

    text: str
    differs: str | None
    """The name of what is meant to differ."""

    @property
    def word(self) -> str:
        return self.text.split()[0].lower()


@dataclass
class Side:
    """One of the two: how it runs SQL, and where its tables are."""

    name: str
    ask: Callable[[str], pa.Table]
    tell: Callable[[str], None]
    root: str


@dataclass(frozen=True)
class Answer:
    """What a statement came to: its rows, and those of the table that it changed; or that it failed."""

    rows: object
    error: str | None = None


def statements_of(script: str) -> list[Spoken]:
    """Read a script: a statement a line, and comments."""
    found, differs = [], None
    for line in (SCRIPTS / f"{script}.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith("-- differs: "):
            differs = line.removeprefix("-- differs: ")
        elif line and not line.startswith("--"):
            found.append(Spoken(line.removesuffix(";"), differs))
            differs = None
    return found


NAMES = sorted(path.stem for path in SCRIPTS.glob("*.sql"))


@pytest.fixture(scope="module")
def hooked(uncompiled_spark):
    pyhudi.spark.install(uncompiled_spark)
    yield uncompiled_spark
    pyhudi.spark.uninstall()


@pytest.fixture
def sides(hooked, hudi_1_2, tmp_path):
    """Return both, each in a database of its own."""
    both = [
        Side("theirs", hudi_1_2.sql, hudi_1_2.run, f"{tmp_path}/theirs"),
        Side(
            "ours", lambda text: hooked.sql(text).toArrow(), lambda text: hooked.sql(text).collect(), f"{tmp_path}/ours"
        ),
    ]
    for side in both:
        side.tell(f"CREATE DATABASE judged LOCATION '{side.root}'")
        side.tell("USE judged")
    yield both
    for side in both:
        side.tell("USE default")
        side.tell("DROP DATABASE judged CASCADE")


def test_the_scripts_are_of_the_size_that_they_are_meant_to_be():
    spoken = [one for script in NAMES for one in statements_of(script)]
    assert len(spoken) >= 150
    assert {one.differs for one in spoken} - {None} == set(DIFFERENCES)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("script", NAMES)
def test_a_statement_does_what_it_does_in_apache_hudi(sides, script, type):
    theirs, ours = ([*answers(side, script, type)] for side in sides)
    found = []
    for spoken, one, other in zip(statements_of(script), theirs, ours, strict=True):
        is_alike = one.rows == other.rows
        if is_alike != (spoken.differs is None):
            found.append(f"{spoken.text}\n  theirs: {one.error or one.rows}\n  ours:   {other.error or other.rows}")
    assert not found, "\n".join(found)


def answers(side: Side, script: str, type: str) -> Iterator[Answer]:
    """Run a script."""
    for spoken in statements_of(script):
        try:
            yield Answer(_done(side, spoken, _filled(side, spoken.text, type)))
        except (HudiError, PeerError, Exception) as error:
            yield Answer("an error", f"{type_of(error)}: {str(error)[:300]}")


def type_of(error: BaseException) -> str:
    return error.__class__.__name__


def _done(side: Side, spoken: Spoken, text: str) -> object:
    if spoken.word in QUERIES:
        return shown(side, spoken.word, side.ask(text))
    side.tell(text)
    head = head_of(text)
    if head is None or head.table is None or spoken.word == "drop":
        return None
    try:
        return shown(side, "select", side.ask(f"SELECT * FROM {'.'.join(head.table.parts)}"))
    except Exception:
        return "no table"


def shown(side: Side, word: str, table: pa.Table) -> object:
    """Return columns and rows, whatever their order, without what two runs never have alike."""
    names = [name for name in table.column_names if not _OWN.fullmatch(name)]
    rows = [tuple(_plain(side, name, row[name]) for name in names) for row in table.select(names).to_pylist()]
    return names, sorted(rows, key=repr)


_OWN = re.compile(r"_hoodie_.*")
_MEASURED = re.compile(r".*(byte|size|time|extra_metadata|avg).*", re.IGNORECASE)


def _plain(side: Side, name: str, value: Any) -> Any:
    if _MEASURED.fullmatch(name):
        return None
    if isinstance(value, str):
        return _NAMES.sub(
            "<name>",
            value.replace(f"file://{side.root}", "<root>")
            .replace(f"file:{side.root}", "<root>")
            .replace(side.root, "<root>"),
        )
    return value


_NAMES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}(-\d+)?(_\d+-\d+-\d+)?|\d{17}")


def _filled(side: Side, text: str, type: str) -> str:
    """Put in what a side has: the root, the type, and the moments of the table `p`."""
    text = text.replace("{type}", type).replace("{root}", side.root)
    for number, name in enumerate(("first", "second", "third")):
        if f"{{{name}" in text:
            write = completed_writes(pyhudi.open_table(f"{side.root}/p").timeline)[number]
            text = text.replace(f"{{{name}}}", write.requested_time)
            text = text.replace(f"{{{name}_done}}", str(write.completion_time))
    return text

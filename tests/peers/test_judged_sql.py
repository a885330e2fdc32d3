"""The same SQL on Apache Hudi and here, statement by statement: what it answers, and what the table holds then.

The statements are in `sql/`, a file a subject, and each file is run in a database of its own. A statement that is meant
to differ has a comment in front of it which names the reason in `DIFFERENCES`. Start at `test_a_statement_...`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

import pyhudi
import pyhudi.spark
from pyhudi.statements.parse import head_of
from pyhudi.timeline.view import completed_writes

SCRIPTS: Final = Path(__file__).with_name("sql")
NAMES: Final = sorted(path.stem for path in SCRIPTS.glob("*.sql"))
TYPES: Final = ("cow", "mor")
DIFFERS: Final = re.compile(r"-- differs(?: in (?P<type>\w+))?: (?P<name>.*)")
ONLY: Final = "-- only "

DIFFERENCES: Final[dict[str, str]] = {
    "duplicate sources": "two source rows of a key are an error; Apache Hudi takes one by the ordering value",
    "fixed properties": "what says what a table is cannot be set; Apache Hudi keeps it, and later writes fail",
    "fresh reads": "what another name wrote is seen at once; Apache Hudi needs REFRESH TABLE",
    "generated keys": "a merge acts on rows of generated keys as its clauses say; Apache Hudi leaves some of them",
    "merge conditions": "a clause with two conditions acts where both hold; Apache Hudi leaves such a row of a log",
    "merge sources": "the source may lack the names of key and ordering field; Apache Hudi refuses it",
    "ordering": "a change acts whatever the ordering value says; Apache Hudi passes over a smaller one",
    "paths": "a table is read by its path; Apache Hudi's bundle for Spark 3.5 does not take it",
    "shown properties": "location and properties are listed without the options that Spark keeps beside them",
    "skipped files": "a prefix finds all rows; Apache Hudi's statistics leave out the file of one",
    "truncated tables": "the procedure says that it succeeded; Apache Hudi's gives no row",
}
"""What is meant to differ, by the name that the scripts give it; a user reads of it in docs/differences.md."""

QUERIES: Final = ("select", "with", "show", "describe", "call")
"""Words that begin a statement whose rows are compared; after any other the table is read."""
OWN: Final = re.compile(r"_hoodie_.*")
"""Columns that no two runs have alike, and columns of measures and moments."""
MEASURES: Final = re.compile(r".*(byte|size|time|extra_metadata|avg).*|min|max|\d+th|std_dev", re.IGNORECASE)
MADE_NAMES: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}(-\d+)?(_\d+-\d+-\d+)?|\d{17}|(?<=\.log\.)\d+_\d+-\d+-\d+|(?<=fileSize=)\d+"
)
"""File ids, the rest of their names, instants, and what a list of logs says of each but its place."""
FAILED: Final = "an error"

BEGUN: Final = """
CREATE TABLE mine (id INT, name STRING, price DOUBLE, ts BIGINT, dt STRING) USING hudi PARTITIONED BY (dt)
  TBLPROPERTIES (type = '{type}', primaryKey = 'id', orderingFields = 'ts');
INSERT INTO mine SELECT CAST(id AS INT), concat('a', id), id * 1.5D, 1, concat('2021-01-0', 1 + id % 3) FROM range(12);
UPDATE mine SET price = price + 1, ts = 2 WHERE id % 4 = 0;
MERGE INTO mine t USING (SELECT 3 AS id, 'merged' AS name, 0.5D AS price, 3L AS ts, '2021-01-01' AS dt) s
  ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.name = s.name, t.ts = s.ts;
DELETE FROM mine WHERE id = 5"""
"""How each side begins a table."""
CONTINUED: Final = """
UPDATE other SET price = price * 2, ts = ts + 1 WHERE dt = '2021-01-02';
MERGE INTO other t USING (
    SELECT 0 AS id, 'zero' AS name, 7.0D AS price, 9L AS ts, '2021-01-01' AS dt
    UNION ALL SELECT 20, 'twenty', 8.0D, 9L, '2021-01-04'
  ) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
DELETE FROM other WHERE id IN (7, 8);
INSERT INTO other VALUES (30, 'thirty', 3.0, 1, '2021-01-02');
INSERT OVERWRITE other PARTITION (dt = '2021-01-03') SELECT 40, 'forty', 4.0, 1;
MERGE INTO other t USING (SELECT 30 AS id, 31.5D AS price, 5L AS ts, '2021-01-02' AS dt) s
  ON t.id = s.id WHEN MATCHED THEN UPDATE SET price = s.price, ts = s.ts"""
"""How it goes on with the other side's table."""


@dataclass(frozen=True)
class Spoken:
    """A statement of a script."""

    text: str
    differs: str | None = None
    """The name of what is meant to differ."""
    differs_in: str | None = None
    """The only kind of table in which it does."""

    def is_alike(self, type: str) -> bool:
        """Return whether both sides are to answer the same."""
        return self.differs is None or self.differs_in not in (None, type)

    @property
    def word(self) -> str:
        return self.text.split()[0].lower()


@dataclass(frozen=True)
class Side:
    """One of the two: how it runs SQL, and where its tables are."""

    name: str
    ask: Callable[[str], pa.Table]
    tell: Callable[[str], object]
    root: str


@dataclass(frozen=True)
class Answer:
    """What a statement came to: its rows, or those of the table that it changed; or that it failed."""

    rows: object
    error: str | None = None


def types_of(script: str) -> list[str]:
    """Return the kinds of table that a script is run with."""
    said = [line.removeprefix(ONLY) for line in lines_of(script) if line.startswith(ONLY)]
    return said or list(TYPES)


def lines_of(script: str) -> list[str]:
    """Return the lines of a script."""
    return (SCRIPTS / f"{script}.sql").read_text(encoding="utf-8").splitlines()


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
        Side("ours", lambda text: hooked.sql(text).toArrow(), hooked.sql, f"{tmp_path}/ours"),
    ]
    both[0].tell("SET hoodie.embed.timeline.server = false")
    for side in both:
        side.tell(f"CREATE DATABASE judged LOCATION '{side.root}'")
        side.tell("USE judged")
    yield both
    for side in both:
        side.tell("USE default")
        side.tell("DROP DATABASE judged CASCADE")
    both[0].tell("RESET hoodie.embed.timeline.server")


def test_the_scripts_are_of_the_size_that_they_are_meant_to_be():
    spoken = [one for script in NAMES for one in statements_of(script)]
    assert len(spoken) >= 150
    assert {one.differs for one in spoken} - {None} == set(DIFFERENCES)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("script", "type"), [(name, type) for name in NAMES for type in types_of(name)])
def test_a_statement_does_what_it_does_in_apache_hudi(sides, script, type):
    theirs, ours = ([*answers(side, script, type)] for side in sides)
    found = [
        f"{spoken.text}\n  theirs: {one.error or one.rows}\n  ours:   {other.error or other.rows}"
        for spoken, one, other in zip(statements_of(script), theirs, ours, strict=True)
        if (one.rows == other.rows) != spoken.is_alike(type)
    ]
    assert not found, "\n".join(found)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("type", TYPES)
def test_either_side_goes_on_with_the_table_of_the_other(sides, type):
    for side in sides:
        for text in BEGUN.split(";"):
            side.tell(text.replace("{type}", type))
    for side, other in (sides, sides[::-1]):
        side.tell(f"CREATE TABLE other USING hudi LOCATION '{other.root}/mine'")
        for text in CONTINUED.split(";"):
            side.tell(text)
    read = []
    for side in sides:
        for name in ("mine", "other"):
            side.tell(f"REFRESH TABLE {name}")  # Apache Hudi remembers the files that it listed
            read.append(shown(side, side.ask(f"SELECT * FROM {name}")))
    assert read[1:] == read[:1] * 3
    assert len(read[0][1]) == 10


def statements_of(script: str) -> list[Spoken]:
    """Read a script: a statement a line, and comments."""
    spoken, said = [], {}
    for line in lines_of(script):
        if found := DIFFERS.fullmatch(line):
            said = {"differs": found["name"], "differs_in": found["type"]}
        elif line and not line.startswith("--"):
            spoken.append(Spoken(line.removesuffix(";"), **said))
            said = {}
    return spoken


def answers(side: Side, script: str, type: str) -> Iterator[Answer]:
    """Run a script on one side; what fails there is an answer as well."""
    for spoken in statements_of(script):
        try:
            yield Answer(done(side, spoken, filled(side, spoken.text, type)))
        except Exception as error:
            yield Answer(FAILED, f"{error.__class__.__name__}: {str(error)[:300]}")


def done(side: Side, spoken: Spoken, text: str) -> object:
    """Run a statement; return its rows, or those that the table has after it."""
    if spoken.word in QUERIES:
        return shown(side, side.ask(text))
    side.tell(text)
    head = head_of(text)
    if head is None or head.table is None or spoken.word == "drop" or " RENAME TO " in text:
        return None
    return shown(side, side.ask(f"SELECT * FROM {'.'.join(head.table.parts)}"))


def shown(side: Side, table: pa.Table) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return columns and rows, whatever their order, without what no two runs have alike."""
    names = [name for name in table.column_names if not OWN.fullmatch(name)]
    rows = [tuple(plain(side, name, row[name]) for name in names) for row in table.select(names).to_pylist()]
    return names, sorted(rows, key=repr)


def plain(side: Side, name: str, value: Any) -> object:
    """Return a value without places, names and moments of one run."""
    if MEASURES.fullmatch(name):
        return None
    if not isinstance(value, str):
        return value
    for root in (f"file://{side.root}", f"file:{side.root}", side.root):
        value = value.replace(root, "<root>")
    return MADE_NAMES.sub("<name>", value)


def filled(side: Side, text: str, type: str) -> str:
    """Put in what a side has: its root, the kind of table, and the moments of the table `p`."""
    text = text.replace("{type}", type).replace("{root}", side.root)
    for number, name in enumerate(("first", "second", "third")):
        if f"{{{name}" in text:
            write = completed_writes(pyhudi.open_table(f"{side.root}/p").timeline)[number]
            text = text.replace(f"{{{name}}}", write.requested_time)
            text = text.replace(f"{{{name}_done}}", str(write.completion_time))
    return text

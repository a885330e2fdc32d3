"""Statements that answer alike wherever they run: classic sessions, Spark Connect, each release of Spark, Sail.

Plain Python, with nothing of this tree: `make lanes` runs it beside an installed wheel. A step is a statement and what
it answers; a refusal is the name of the error. Start at `run_statements`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyhudi

__all__ = ["STEPS", "run_statements"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A statement, and what it answers."""

    text: str
    """`{path}` is a folder, `{kind}` the type of the table, `{first}` its first commit."""
    rows: Sequence[tuple[Any, ...]] | None = None
    """The answer's rows in any order; None where they do not matter."""
    raises: str = ""
    """The name of the error."""
    args: Any = None
    setting: str | None = None
    """What the session's setting `text` becomes."""
    needs: frozenset[str] = field(default_factory=frozenset)
    """What a session must have: `views`, permanent ones over tables; `databases` that have a place for tables."""


def asks(text: str, *rows: tuple[Any, ...], args: Any = None, needs: str = "") -> Step:
    """Return a query and its rows."""
    return Step(text=text, rows=rows, args=args, needs=frozenset(needs.split()))


def does(text: str, args: Any = None, needs: str = "") -> Step:
    """Return a statement whose answer does not matter."""
    return Step(text=text, args=args, needs=frozenset(needs.split()))


def changes(text: str, updated: int = 0, deleted: int = 0, inserted: int = 0, args: Any = None) -> Step:
    """Return a change and its counts."""
    return asks(text, (updated + deleted + inserted, updated, deleted, inserted), args=args)


def sets(key: str, value: str) -> Step:
    """Return a setting of the session."""
    return Step(text=key, setting=value)


def fails(text: str, error: str) -> Step:
    """Return a statement that is refused."""
    return Step(text=text, raises=error)


COLUMNS = "id string, rider string, fare double, ts bigint, city string"
FARES = "SELECT id, fare FROM trips"

STEPS: tuple[Step, ...] = (
    # tables
    does(
        f"CREATE TABLE trips ({COLUMNS}) USING hudi PARTITIONED BY (city) TBLPROPERTIES"
        " (type = '{kind}', primaryKey = 'id', orderingFields = 'ts', 'hoodie.keep.max.commits' = '50')"
    ),
    does("CREATE TABLE IF NOT EXISTS trips (a int) USING hudi"),
    fails("CREATE TABLE trips (a int) USING hudi", "TableExists"),
    # rows
    changes(
        "INSERT INTO trips VALUES ('a', 'ann', 1.5D, 1L, 'oslo'), ('b', 'bob', 2.5D, 1L, 'rome'),"
        " ('c', 'cyd', 3.5D, 1L, 'oslo')",
        inserted=3,
    ),
    asks(FARES, ("a", 1.5), ("b", 2.5), ("c", 3.5)),
    asks("SELECT city, count(*) FROM trips WHERE city = 'oslo' AND ts > 0 GROUP BY city", ("oslo", 2)),
    changes("UPDATE trips SET fare = fare * 2, ts = ts + 1 WHERE id = 'a'", updated=1),
    changes("UPDATE trips SET fare = fare + :more WHERE id = :id", updated=1, args={"more": 1.0, "id": "a"}),
    changes("UPDATE trips SET rider = 'dear' WHERE fare = (SELECT max(fare) FROM trips)", updated=1),
    changes("DELETE FROM trips WHERE rider = ?", deleted=1, args=["bob"]),
    changes("DELETE FROM trips WHERE id IN (SELECT id FROM trips WHERE fare > 100)"),
    changes("INSERT INTO trips PARTITION (city = 'lima') VALUES ('d', 'dee', 4, 1)", inserted=1),
    changes("INSERT INTO trips (city, id, fare, ts) VALUES ('rome', 'e', 5, 1)", inserted=1),
    changes("INSERT INTO trips BY NAME SELECT 6.0D AS fare, 'f' AS id, 1L AS ts, 'rome' AS city", inserted=1),
    asks(FARES, ("a", 4.0), ("c", 3.5), ("d", 4.0), ("e", 5.0), ("f", 6.0)),
    does(
        "CREATE OR REPLACE TEMPORARY VIEW news AS SELECT * FROM VALUES ('c', 9.0D, 5L, 'oslo', false),"
        " ('d', 0.0D, 5L, 'lima', true), ('n', 7.0D, 5L, 'lima', false) AS s(id, fare, ts, city, gone)"
    ),
    changes(
        """MERGE INTO trips t USING news s ON t.id = s.id
           WHEN MATCHED AND s.gone THEN DELETE
           WHEN MATCHED THEN UPDATE SET fare = s.fare + t.fare, ts = s.ts, rider = initcap(t.rider)
           WHEN NOT MATCHED THEN INSERT (id, fare, ts, city, rider) VALUES (s.id, s.fare, s.ts, s.city, upper(s.id))
           WHEN NOT MATCHED BY SOURCE AND t.id = 'f' THEN UPDATE SET fare = 66""",
        updated=2,
        deleted=1,
        inserted=1,
    ),
    asks(
        "SELECT id, rider, fare FROM trips",
        ("a", "dear", 4.0),
        ("c", "Cyd", 12.5),
        ("e", None, 5.0),
        ("f", None, 66.0),
        ("n", "N", 7.0),
    ),
    changes(
        """MERGE INTO trips AS t USING (SELECT id, 'all' AS rider, 1.0D AS fare, 9L AS ts, city FROM trips
           WHERE id = 'e' UNION ALL SELECT 'o', 'all', 1.0D, 9L, 'oslo') AS s ON s.id = t.id
           WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *""",
        updated=1,
        inserted=1,
    ),
    asks("SELECT id FROM trips WHERE rider = 'all'", ("e",), ("o",)),
    # queries
    asks("WITH trips AS (SELECT 1 AS a) SELECT * FROM trips", (1,)),
    asks("WITH x AS (SELECT id FROM trips WHERE city = 'rome') SELECT count(*) FROM x JOIN trips USING (id)", (2,)),
    asks(
        "SELECT t.id FROM trips t WHERE EXISTS (SELECT 1 FROM news n WHERE n.id = t.id AND n.gone = false)",
        ("c",),
        ("n",),
    ),
    asks("SELECT id FROM trips WHERE city = :city AND fare > :fare", ("c",), args={"city": "oslo", "fare": 4.0}),
    asks("SELECT count(*) FROM trips VERSION AS OF '{first}'", (3,)),
    asks("SELECT count(*) FROM trips TIMESTAMP AS OF '2999-01-01 00:00:00'", (6,)),
    asks("SELECT count(*) FROM hudi_table_changes('trips', 'latest_state', 'earliest')", (6,)),
    asks("SELECT count(*) FROM hudi_query('trips', 'snapshot')", (6,)),
    asks("SELECT count(DISTINCT partition_path) FROM hudi_filesystem_view('trips')", (3,)),
    asks("SELECT count(*) > 5 FROM hudi_query_timeline('trips', 'false')", (True,)),
    asks("SELECT count(*) > 0 FROM hudi_metadata('trips')", (True,)),
    # descriptions
    asks("SHOW PARTITIONS trips", ("city=lima",), ("city=oslo",), ("city=rome",)),
    does("SHOW CREATE TABLE trips"),
    does("SHOW TBLPROPERTIES trips"),
    does("DESCRIBE trips"),
    does("DESC EXTENDED trips"),
    does("CALL show_commits(table => 'trips', limit => 1)"),
    does("CALL help(cmd => 'show_commits')"),
    # tables that change
    does("ALTER TABLE trips SET TBLPROPERTIES ('note' = 'a, b=c')"),
    asks("SHOW TBLPROPERTIES trips ('note')", ("note", "a, b=c")),
    does("ALTER TABLE trips UNSET TBLPROPERTIES ('note')"),
    does("ALTER TABLE trips ADD COLUMNS (tip int)"),
    changes("UPDATE trips SET tip = 3 WHERE id = 'a'", updated=1),
    does("ALTER TABLE trips ALTER COLUMN tip TYPE bigint"),
    asks("SELECT id, tip FROM trips WHERE tip IS NOT NULL", ("a", 3)),
    asks("SELECT tip, typeof(tip) FROM trips WHERE id = 'a'", (3, "bigint")),
    does("ALTER TABLE trips DROP PARTITION (city = 'rome')"),
    asks("SELECT id FROM trips", ("a",), ("c",), ("n",), ("o",)),
    changes("INSERT OVERWRITE trips PARTITION (city = 'oslo') SELECT 'g', 'gil', 7.0D, 1L, 1L", inserted=1),
    asks("SELECT id FROM trips", ("g",), ("n",)),
    sets("spark.sql.sources.partitionOverwriteMode", "dynamic"),
    does("INSERT OVERWRITE trips (id, rider, fare, ts, city) SELECT 'h', 'hal', 8.0D, 1L, 'lima'"),
    asks("SELECT id FROM trips", ("g",), ("h",)),
    sets("spark.sql.sources.partitionOverwriteMode", "static"),
    does("INSERT OVERWRITE trips (id, rider, fare, ts, city) SELECT 'i', 'ida', 9.0D, 1L, 'lima'"),
    asks("SELECT id FROM trips", ("i",)),
    does("ALTER TABLE trips RENAME TO rides"),
    asks("SELECT id FROM rides", ("i",)),
    # tables of others
    does("CREATE TABLE dear USING hudi TBLPROPERTIES (primaryKey = 'id') AS SELECT id, fare FROM rides WHERE fare > 1"),
    does("CREATE TABLE made USING hudi LOCATION '{path}/made' TBLPROPERTIES (primaryKey = 'id') AS SELECT * FROM dear"),
    does("CREATE TABLE again USING hudi LOCATION '{path}/made'"),
    does("CREATE TABLE alike LIKE rides"),
    asks("SELECT r.id, a.fare FROM rides r JOIN again a ON r.id = a.id", ("i", 9.0)),
    asks("SELECT count(*) FROM alike", (0,)),
    asks("SELECT id, fare FROM hudi.`{path}/made`", ("i", 9.0)),
    changes("DELETE FROM hudi.`{path}/made` WHERE id = 'i'", deleted=1),
    does("CREATE VIEW seen AS SELECT id FROM rides", needs="views"),
    asks("SELECT * FROM seen", ("i",), needs="views"),
    does("DROP VIEW seen", needs="views"),
    # what is wrong
    fails("UPDATE rides SET fare =", "StatementError"),
    fails("UPDATE rides SET nothing = 1", "StatementError"),
    fails("INSERT INTO rides SELECT nothing FROM rides", "ExpressionError"),
    fails("CREATE TABLE none USING hudi LOCATION '{path}/none'", "StatementError"),
    fails("UPDATE rides SET id = 'x'", "StatementError"),
    fails("CREATE TABLE twice USING hudi AS SELECT 1 AS a, 2 AS a", "StatementError"),
    fails(
        "MERGE INTO rides t USING (SELECT 'i' AS id, 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE",
        "StatementError",
    ),
    # the end
    does("TRUNCATE TABLE rides"),
    asks("SELECT count(*) FROM rides", (0,)),
    *(does(f"DROP TABLE {name}") for name in ("rides", "again", "made", "alike")),
    does("DROP TABLE dear PURGE"),
    asks("SELECT count(*) FROM hudi.`{path}/made`", (0,)),
)


def run_statements(spark: Any, path: str, kind: str, lacks: Sequence[str] = ()) -> int:
    """Run all steps on a table of type `cow` or `mor`, and return how many there were."""
    steps = [step for step in STEPS if not step.needs & set(lacks)]
    known = {"path": path, "kind": kind}
    for step in steps:
        if step.setting is not None:
            spark.conf.set(step.text, step.setting)
            continue
        text = step.text
        if "{first}" in text:
            known["first"] = min(row.commit_time for row in spark.sql("CALL show_commits('trips', 50)").collect())
        for name, value in known.items():
            text = text.replace("{" + name + "}", value)
        check(spark, step, text)
    return len(steps)


def check(spark: Any, step: Step, text: str) -> None:
    """Run one step."""
    try:
        frame = spark.sql(text) if step.args is None else spark.sql(text, step.args)
        found = [tuple(row) for row in frame.collect()]
    except pyhudi.errors.HudiError as error:
        if type(error).__name__ != step.raises:
            raise AssertionError(text) from error
        return
    assert not step.raises, f"{text}: answered {found}"
    if step.rows is not None:
        assert sorted(found, key=repr) == sorted(step.rows, key=repr), f"{text}: {found}"

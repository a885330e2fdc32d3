"""What `docs/sql.md` shows runs as it stands there, statements and commands; `/lake` is a folder of the test."""

import re
import shlex
from pathlib import Path

import pytest

import pyhudi
import pyhudi.spark
from pyhudi.cli.main import main

pytestmark = [pytest.mark.spark, pytest.mark.all]

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"(?:``(.+?)``|`([^`]+)`) \|$")
FUNCTION = re.compile(r"^\| `(hudi_\w+\(.*?\))` \|", re.MULTILINE)
FARES = {"a": 25.0, "b": 31.5, "c": 135.0}
"""What the rows of `trips` are before it is dropped, by id."""


def examples():
    """Return the statements of the first table of the page, in order."""
    table = PAGE[PAGE.index("| statement | example |") :].split("\n\n")[0]
    found = [EXAMPLE.search(line) for line in table.splitlines()[2:]]
    return [one[1] or one[2] for one in found]


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def lake(spark, tmp_path):
    """Have a hooked session in a database of its own."""
    pyhudi.spark.install(spark)
    spark.sql("CREATE DATABASE shown")
    spark.sql("USE shown")
    yield tmp_path
    spark.sql("USE default")
    spark.sql("DROP DATABASE shown CASCADE")
    pyhudi.spark.uninstall()


def test_the_statements_of_the_page_run_as_one_script(spark, lake, capsys):
    statements = examples()
    first_end = next(place for place, one in enumerate(statements) if one.startswith("TRUNCATE"))
    for statement in statements[:first_end]:
        spark.sql(statement.replace("/lake", str(lake))).collect()
    assert {row.id: row.fare for row in spark.sql("SELECT id, fare FROM trips").collect()} == FARES
    assert {row.id for row in spark.sql("SELECT id FROM dearest").collect()} == {"c"}
    _run_what_else_is_shown(spark, lake)
    capsys.readouterr()
    for statement in statements[first_end:]:
        spark.sql(statement.replace("/lake", str(lake)))
    assert [row.tableName for row in spark.sql("SHOW TABLES").collect()] == ["copy", "dearest"]
    assert not (lake / "trips").exists()


def _run_what_else_is_shown(spark, lake):
    for statement in "".join(blocks("sql")).replace("/lake", str(lake)).split(";\n"):
        if statement.strip():
            spark.sql(statement).collect()
    for shown in FUNCTION.findall(PAGE):
        call = shown.replace("[", "").replace("]", "").replace("'table'", "'trips'")
        for parameter, value in (("mode", "snapshot"), ("begin", "earliest"), ("end", "29990101000000000")):
            call = call.replace(f"'{parameter}'", f"'{value}'")
        call = call.replace("'show_archived'", "'true'").replace("'partitions'", "'*'")
        assert spark.sql(f"SELECT * FROM {call}").count(), call
    for line in "".join(blocks("sh")).replace("/lake", str(lake)).splitlines():
        program, *arguments = shlex.split(line.partition(" >")[0])
        if "--file" not in arguments:
            assert (program, main(arguments)) == ("pyhudi", 0), line

"""SQL without Spark: what `pyhudi.sql` and the command `pyhudi sql` run.

Start at `run_sql`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pyhudi.arguments import as_mapping, as_option_text, as_text
from pyhudi.errors import InvalidInput, StatementError
from pyhudi.statements.duck import DuckRunner
from pyhudi.statements.parse import Head, head_of, read_statement
from pyhudi.statements.script import placed, split
from pyhudi.statements.tokens import SqlKind, tokenize_statement
from pyhudi.statements.verbs import run

if TYPE_CHECKING:
    from pyhudi.table.types import Options

__all__ = ["run_script", "run_sql"]

_BEFORE_A_PATH: Final = ("from", "join", "into", "update", "table", "using")


def run_sql(
    text: str,
    tables: Mapping[str, Any] | None = None,
    options: "Options | None" = None,
    storage_options: Mapping[str, str] | None = None,
) -> pa.Table:
    """Run SQL statements in this process, and return the rows of the last one.

    Queries are duckdb's, in its dialect; INSERT, UPDATE, DELETE, MERGE INTO, CREATE TABLE ... LOCATION 'path' and the
    other statements about tables become the verbs of a table. A table is also named by its path: ``hudi.`path` `` or,
    as in duckdb, 'path'. A change returns one row of counts.

    Args:
        text: statements, with semicolons between them.
        tables: by name, what statements may name: a table, its path, or rows: Arrow data, a DataFrame, dicts.
        options: options of Apache Hudi by their keys, for every write of it.
        storage_options: what reaches the storage, as in `open_table`.

    Example:
        >>> pyhudi.sql("select city, fare from trips where uuid = 'a'", {"trips": trips}).to_pylist()
        [{'city': 'oslo', 'fare': 12.5}]
        >>> pyhudi.sql("update trips set fare = fare + 1, ts = 9", {"trips": trips})["num_updated_rows"].to_pylist()
        [2]

    Raises: StatementError, ExpressionError with the place of what is wrong, counted from 1 in the whole text;
            TableNotFound, PackageMissing without duckdb; what the verbs of a table raise.
    """
    said = {key: as_option_text(key, value) for key, value in as_mapping("options", options).items()}
    runner = DuckRunner(as_mapping("tables", tables), said, storage_options)
    return run_script(as_text("text", text), runner)


def run_script(text: str, runner: DuckRunner) -> pa.Table:
    """Run statements one after the other; the rows of the last one come back.

    Raises: as `run_sql`; statements before one that fails stay done.
    """
    pieces = split(text, runner.dialect)
    if not pieces:
        raise StatementError("give a statement", position=1)
    rows = pa.table({})
    for number, piece in enumerate(pieces, 1):
        statement = _with_paths(piece.text, runner)
        try:
            rows = _run(statement.text, runner)
        except InvalidInput as error:
            raise placed(error, piece, number, len(pieces), statement.place) from error
    return rows


def _run(text: str, runner: DuckRunner) -> pa.Table:
    head = head_of(text, runner.dialect)
    if head is None or _is_duckdbs(head, runner):
        return _names(runner) if _asks_for_tables(text) else runner.rows(text, 1)
    if head.table is not None and runner.has_rows(head.table):
        raise StatementError(
            "these rows were given as they are and do not change", table=str(head.table), position=head.table.place
        )
    if head.provider not in (None, "hudi", "org.apache.hudi"):
        raise StatementError("pyhudi makes tables USING hudi", using=head.provider, position=1)
    return run(read_statement(text, runner.dialect), runner)


def _is_duckdbs(head: Head, runner: DuckRunner) -> bool:
    """Return whether a statement is about a table of duckdb's own, such as a temporary one."""
    if head.table is None or head.verb == "call" or head.table.path is not None:
        return False
    if head.verb == "create" or runner.catalog.find(head.table) is not None:
        return False
    return head.verb == "describe" or runner.has(head.table)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement whose tables have names, and where paths in quotes stood."""

    text: str
    moved: tuple[tuple[int, int], ...]
    """Of each path, where it ends in the text, and how much longer it has become."""

    def place(self, place: int) -> int:
        """Return where something stands in what the user wrote."""
        return place - sum(longer for end, longer in self.moved if end <= place)


def _with_paths(text: str, runner: DuckRunner) -> _Statement:
    """Return a statement with tables that are named by a path in quotes written as ``hudi.`path` ``."""
    parts: list[str] = []
    moved: list[tuple[int, int]] = []
    end = 0
    for before, token in pairwise(tokenize_statement(text, runner.dialect)):
        is_path = token.kind is SqlKind.STRING and (before.is_word(*_BEFORE_A_PATH) or before.is_mark(","))
        if is_path and "/" in token.value and runner.is_table(token.value):
            name = "hudi.`" + token.value.replace("`", "``") + "`"
            parts += (text[end : token.start], name)
            end = token.end
            moved.append((sum(map(len, parts)), len(name) - len(token.text)))
    return _Statement("".join([*parts, text[end:]]), tuple(moved))


def _asks_for_tables(text: str) -> bool:
    return text.strip().rstrip(";").lower().split() == ["show", "tables"]


def _names(runner: DuckRunner) -> pa.Table:
    return pa.table({"name": pa.array(sorted(runner.names()), pa.string())})

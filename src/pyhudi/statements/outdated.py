"""Statements that write what they have read from the same table: they begin again where a commit came between.

Start at `begun_again`.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

from pyhudi.commit.call import RETRIES
from pyhudi.errors import ReadOutdated, SnapshotExpired
from pyhudi.options import Settings
from pyhudi.statements.api import Runner
from pyhudi.statements.references import is_query, references
from pyhudi.statements.relations import Reference
from pyhudi.statements.targets import Target
from pyhudi.statements.tokens import tokenize_statement

if TYPE_CHECKING:
    from pyhudi.table import Table, WriteResult

__all__ = ["begun_again", "reading_for", "unchanged_if_read"]

S = TypeVar("S")
_log = logging.getLogger("pyhudi.statements")


def begun_again(run: Callable[[S, Runner], "WriteResult"]) -> Callable[[S, Runner], "WriteResult"]:
    """Make a statement that is done again, as often as the session's options say, where what it read is outdated.

    Raises: ReadOutdated of the last attempt.
    """

    @wraps(run)
    def attempts(statement: S, runner: Runner) -> "WriteResult":
        said = {key: text for key, text in runner.options().items() if key == RETRIES.key}
        for left in range(Settings.of(said).get(RETRIES), -1, -1):
            try:
                return run(statement, runner)
            except ReadOutdated as error:
                if not left:
                    raise
                _log.info("the statement is done again: %s", error)
        raise AssertionError("the last attempt returns or raises")

    return attempts


@contextmanager
def reading_for(target: Target) -> Iterator[None]:
    """Raise ReadOutdated for files that are gone, if the table has completed something since a statement on it began.

    It may have been a clean; the statement has read, and written nothing.
    """
    try:
        yield
    except SnapshotExpired as error:
        if target.table.timeline.completed.keys() == target.seen.completed.keys():
            raise
        said = "another process took files away while the statement read them; run it again"
        raise ReadOutdated(said, **error.values) from error


def unchanged_if_read(target: Target, query: str, runner: Runner) -> "Table":
    """Return the table for a write of a query's rows: one that fails if they come from the table and that has changed.

    A query that is not understood may read any table; what a view reads is not known.
    """
    if not is_query(query):
        return target.table
    found = references(tokenize_statement(query, runner.dialect))
    is_read = not found or any(_reads(one, target, runner) for one in found)
    return target.unchanged if is_read else target.table


def _reads(one: Reference, target: Target, runner: Runner) -> bool:
    if one.arguments is not None:
        return one.name.parts[-1].lower().startswith("hudi_")
    entry = None if one.name.path is not None else runner.catalog.find(one.name)
    location = one.name.path if entry is None else entry.location
    return location == target.entry.location

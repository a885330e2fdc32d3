"""Verbs that have a name and are not built yet: each raises `NotBuilt` and says what to do instead.

The command line has commands of the same names. Start at `not_built`.
"""

from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from pyhudi.errors import NotBuilt

__all__ = ["WAYS_ROUND", "import_table", "not_built", "unbuilt_method"]

_BY_HUDI: Final = "let Apache Hudi do it on this table"

WAYS_ROUND: Final[Mapping[str, str]] = {
    "blame": "read table.scan(filter=..., as_of=instant, meta=True) at the instants of table.history()",
    "schema_history": "table.scan(as_of=instant).schema is what a commit saw, and table.history() lists commits",
    "evolve": "table.add_columns({...}) adds columns; to drop or rename one, write a new table",
    "expire_partitions": "table.delete_partitions([...]) deletes those that you name",
    "remove_orphans": "a rollback deletes the files of an unfinished write: table.rollback(instant)",
    "stage": "check the rows before they are written, or plan the write with dry_run=True",
    "export": "pyarrow.parquet.write_table(table.scan(as_of=...).to_arrow(), path)",
    "upgrade": f"{_BY_HUDI}, or write a new table with table_version=9",
    "downgrade": f"{_BY_HUDI}, or write a new table with table_version=8",
    "import_table": "pyhudi.write_table(path, rows, record_key=...) writes rows of any kind as a new table",
}
"""By verb, what to do until it is built."""


def not_built(verb: str) -> NotBuilt:
    """Return the error of a verb that is not built."""
    return NotBuilt(f"pyhudi does not have `{verb}` yet; {WAYS_ROUND[verb]}")


def unbuilt_method(verb: str) -> Callable[..., NoReturn]:
    """Return a method that raises `NotBuilt`, with a name and a docstring of its own."""

    def method(self: object, *args: object, **kwargs: object) -> NoReturn:
        raise not_built(verb)

    method.__name__ = verb
    method.__doc__ = f"Raise NotBuilt: {WAYS_ROUND[verb]}."
    return method


def import_table(source: object, path: str, **how: object) -> NoReturn:
    """Raise NotBuilt: `write_table` writes rows of any kind as a new table."""
    raise not_built("import_table")

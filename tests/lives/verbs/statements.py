"""Changes that are typed in SQL, and run without Spark: they promise what the verbs promise. Start at `SqlMerge`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Final, Self

import pyarrow as pa
from tests.lives.rows import literal, table_of
from tests.lives.verbs.rewriting import Assignments, Clause, Merge, Update
from tests.lives.verbs.writing import DeleteWhere, Insert, unstored
from tests.lives.world import World

from pyhudi.statements import model
from pyhudi.statements.duck import DuckRunner
from pyhudi.statements.inserts import insert_rows
from pyhudi.statements.merges import merge
from pyhudi.statements.parse import read_statement
from pyhudi.statements.row_changes import delete, update
from pyhudi.table import Table

_KINDS: Final = {"v": "double", "ts": "bigint", "_event_lsn": "bigint"}
_RUN: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    model.Insert: insert_rows,
    model.Update: update,
    model.Delete: delete,
    model.Merge: merge,
}


def told(text: str, table: Table, options: Mapping[str, object], rows: pa.Table | None = None) -> Any:
    """Run a change of the table `t`, with the rows `s` beside it, as `pyhudi.sql` does; return the verb's result."""
    tables = {"t": table, **({} if rows is None else {"s": rows})}
    runner = DuckRunner(tables, {key: spelled_option(value) for key, value in options.items()})
    statement = read_statement(text, runner.dialect)
    return _RUN[type(statement)](statement, runner)


def spelled_option(value: object) -> str:
    """Spell an option as text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class SqlInsert(Insert):
    """INSERT INTO, by names that come in another order."""

    planned: ClassVar[tuple[tuple[str, str], ...]] = ()

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        drawn = Insert.draw(chance, world)
        rows = () if drawn is None else unstored(drawn.rows, world)
        return cls(drawn.more, rows) if drawn is not None and rows else None

    def apply(self, table: Table, world: World) -> Any:
        return told(self.text(world), table, self.options(world), table_of(self.rows, world.model.schema))

    def dry(self, table: Table, world: World) -> Any:
        return None

    def text(self, world: World) -> str:
        """Return the statement."""
        names = world.model.schema.names
        return f"INSERT INTO t BY NAME SELECT {', '.join(reversed(names))} FROM s"

    def call(self) -> str:
        return f"pyhudi.sql('INSERT INTO t BY NAME SELECT * FROM s', {{'t': table, 's': {list(self.rows)}}})"


@dataclass(frozen=True, slots=True)
class SqlUpdate(Update):
    """UPDATE, by the grammar of conditions, or with values that duckdb computes."""

    planned: ClassVar[tuple[tuple[str, str], ...]] = ()
    is_computed: bool = False

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        drawn = Update.draw(chance, world)
        return cls(drawn.more, drawn.set, drawn.where, chance.random() < 0.5)

    def apply(self, table: Table, world: World) -> Any:
        return told(self.text, table, self.options(world))

    def dry(self, table: Table, world: World) -> Any:
        return None

    @property
    def text(self) -> str:
        """Return the statement."""
        return f"UPDATE t SET {set_text(self.set, is_computed=self.is_computed)} WHERE {self.where.sql('t.')}"

    def call(self) -> str:
        return f"pyhudi.sql({self.text!r}, {{'t': table}})"


@dataclass(frozen=True, slots=True)
class SqlDelete(DeleteWhere):
    """DELETE, by the grammar of conditions, or with a query."""

    planned: ClassVar[tuple[tuple[str, str], ...]] = ()
    is_computed: bool = False

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        drawn = DeleteWhere.draw(chance, world)
        return cls(drawn.more, drawn.where, chance.random() < 0.5)

    def fits(self, world: World) -> bool:
        """By keys a delete counts in logs what it was given, and under a global index takes a key everywhere."""
        return not (self.is_computed and (world.setting.is_logged or world.setting.is_global))

    def apply(self, table: Table, world: World) -> Any:
        return told(self.text, table, self.options(world))

    def dry(self, table: Table, world: World) -> Any:
        return None

    @property
    def text(self) -> str:
        """Return the statement."""
        query = " AND (SELECT true)" if self.is_computed else ""
        return f"DELETE FROM t WHERE {self.where.sql('t.')}{query}"

    def call(self) -> str:
        return f"pyhudi.sql({self.text!r}, {{'t': table}})"


@dataclass(frozen=True, slots=True)
class SqlMerge(Merge):
    """MERGE INTO, by the grammar of conditions, or with values that duckdb computes."""

    is_computed: bool = False

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        drawn = Merge.draw(chance, world)
        is_computed = chance.random() < 0.5
        return cls(drawn.more, drawn.rows, drawn.equated, drawn.clauses, is_computed)

    def fits(self, world: World) -> bool:
        """A clause for rows that the source lacks takes no cast, which a decimal needs."""
        by_source = [one.where for one in self.clauses if one.kind.startswith("source") and one.where is not None]
        return Merge.fits(self, world) and all(where.column != "d" for where in by_source)

    def apply(self, table: Table, world: World) -> Any:
        return told(self.text(world), table, self.options(world), table_of(self.rows, world.model.schema))

    def dry(self, table: Table, world: World) -> Any:
        return None

    def text(self, world: World) -> str:
        """Return the statement."""
        clauses = (clause_text(one, is_computed=self.is_computed) for one in self.clauses)
        return f"MERGE INTO t USING s ON {self.on(world)} {' '.join(clauses)}"

    def call(self) -> str:
        clauses = " ".join(clause_text(one, is_computed=self.is_computed) for one in self.clauses)
        return f"pyhudi.sql('MERGE INTO t USING s ON ... {clauses}', {{'t': table, 's': {list(self.rows)}}})"


def set_text(assignments: Assignments, *, is_computed: bool) -> str:
    """Spell assignments; computed ones are beyond the grammar of conditions."""
    computed = (
        (name, f"list_extract([CAST({literal(value)} AS {_KINDS.get(name, 'varchar')})], 1)")
        for name, value in assignments
    )
    plain = ((name, literal(value)) for name, value in assignments)
    return ", ".join(f"{name} = {value}" for name, value in (computed if is_computed else plain))


def clause_text(clause: Clause, *, is_computed: bool) -> str:
    """Spell a clause; those for rows that the source lacks are never computed."""
    by_source = clause.kind.startswith("source")
    when = "NOT MATCHED BY SOURCE" if by_source else "NOT MATCHED" if clause.kind == "insert all" else "MATCHED"
    where = "" if clause.where is None else f" AND {clause.where.sql('t.' if by_source else 's.')}"
    match clause.kind:
        case "update all":
            action = "UPDATE SET *"
        case "insert all":
            action = "INSERT *"
        case "delete" | "source delete":
            action = "DELETE"
        case _:
            action = f"UPDATE SET {set_text(clause.set, is_computed=is_computed and not by_source)}"
    return f"WHEN {when}{where} THEN {action}"

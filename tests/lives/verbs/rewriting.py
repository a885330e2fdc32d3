"""Writes that find rows by conditions: update and merge. Start at `Merge`."""

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

from tests.lives.model import Counts, Model, Place
from tests.lives.rows import NOWHERE, Row, Where, draw_row, draw_rows, draw_where, literal, table_of
from tests.lives.setting import Setting
from tests.lives.verbs.step import Write, draw_more, spell_options, spell_rows
from tests.lives.world import World

from pyhudi.errors import DuplicateKeys, ExpressionError, HudiError, InvalidInput, StatementError
from pyhudi.table import Table

Assignments = tuple[tuple[str, object], ...]


@dataclass(frozen=True, slots=True)
class Update(Write):
    """Set columns of the rows for which a condition is true, also the ordering column, also to less."""

    planned: ClassVar[tuple[tuple[str, str], ...]] = (("updates", "updated"),)
    set: Assignments = ()
    where: Where = NOWHERE

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        return cls(
            draw_more(chance, world), draw_set(chance, world), draw_where(chance, is_indexed=world.setting.is_indexed)
        )

    def apply(self, table: Table, world: World) -> Any:
        return table.update(set=spelled(self.set), where=self.where.sql(), options=self.options(world))

    def dry(self, table: Table, world: World) -> Any:
        return table.update(set=spelled(self.set), where=self.where.sql(), options=self.options(world), dry_run=True)

    def change(self, model: Model) -> Counts:
        return model.update(lambda row: {**row, **dict(self.set)}, self.where.holds)

    def call(self) -> str:
        return f"table.update(set={spelled(self.set)}, where={self.where.sql()!r}{spell_options(self.more)})"


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a merge: which rows, what happens, and on which condition of the source's or the table's row."""

    kind: str
    """`update all`, `update`, `delete`, `insert all`, `source update` or `source delete`."""
    set: Assignments = ()
    where: Where | None = None


@dataclass(frozen=True, slots=True)
class Merge(Write):
    """Merge rows by their keys, and by some of their partition columns."""

    rows: tuple[Row, ...] = ()
    equated: tuple[str, ...] = ()
    """Partition columns that `on` equates beside the key."""
    clauses: tuple[Clause, ...] = ()

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        setting = world.setting
        rows = draw_rows(chance, world.fields, chance.choice((1, 2, 4)))
        for stored in chance.sample(list(world.model.rows.values()), min(2, len(world.model.rows))):
            again = {
                **draw_row(chance, world.fields),
                **{name: stored.row[name] for name in (*setting.key, "p", "q")},
            }
            rows = (*(row for row in rows if setting.key_of(row) != setting.key_of(again)), again)
        equated = tuple(name for name in setting.partition if chance.random() < 0.75)
        return cls(draw_more(chance, world), rows, equated, draw_clauses(chance, world))

    def fits(self, world: World) -> bool:
        """An update that takes all columns would move a row whose partition `on` does not fix."""
        return bool(self.clauses) and len({world.setting.key_of(row) for row in self.rows}) == len(self.rows)

    def on(self, world: World) -> str:
        """Return the join."""
        return " and ".join(f"t.{name} = s.{name}" for name in (*world.setting.key, *self.equated))

    def apply(self, table: Table, world: World) -> Any:
        return self._merged(table, world, dry_run=False)

    def dry(self, table: Table, world: World) -> Any:
        return self._merged(table, world, dry_run=True)

    def _merged(self, table: Table, world: World, *, dry_run: bool) -> Any:
        rows, options = table_of(self.rows, world.model.schema), self.options(world)
        merge: Any = table.merge
        builder = merge(rows, on=self.on(world), options=options, dry_run=dry_run)
        for clause in self.clauses:
            builder = with_clause(builder, clause)
        return builder.execute()

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """No key is inserted that is stored where `on` does not match it, and no row changes its partition."""
        found: tuple[type[HudiError], ...] = Write.refusals(self, world)
        found += (DuplicateKeys,) if self._clashing(world.model) else ()
        found += self._unreadable(world.setting) if world.setting.drops_partitions else ()
        return (*found, InvalidInput) if self._moving(world.model) else found

    def _unreadable(self, setting: Setting) -> tuple[type[HudiError], ...]:
        """Where files lack the partition columns nothing compares them but the place in which a row is looked for."""
        is_known = not setting.is_global and set(self.equated) == set(setting.partition)
        by_source = [one.where for one in self.clauses if one.kind.startswith("source") and one.where is not None]
        is_named = any(where.of in setting.partition for where in by_source)
        is_asked = self.equated or any(one.kind == "update all" for one in self.clauses)
        found: tuple[type[HudiError], ...] = (ExpressionError, StatementError) if is_named else ()
        return (*found, InvalidInput) if is_asked and not is_known else found

    def _moving(self, model: Model) -> bool:
        moved = [
            self.rows[number]
            for place, number in self._matched(model).items()
            if any(self.rows[number][name] != model.rows[place].row[name] for name in model.setting.partition)
        ]
        clauses = [one for row in moved if (one := self._clause(row, is_matched=True))]
        return any(clause.kind == "update all" for clause in clauses)

    def _clashing(self, model: Model) -> bool:
        matched = self._matched(model)
        if not any(clause.kind == "insert all" for clause in self.clauses):
            return False
        unmatched = [row for number, row in enumerate(self.rows) if number not in matched.values()]
        if set(self.equated) == set(model.setting.partition):
            return any(model.found(row) for row in unmatched)
        # What is stored of a key elsewhere is in the way too, though `on` matches it in one partition.
        return any(place not in matched for place in model.places(map(model.setting.key_of, self.rows)))

    def _matched(self, model: Model) -> dict[Place, int]:
        """Return which source row meets which stored row."""
        by_key = {model.setting.key_of(row): number for number, row in enumerate(self.rows)}
        return {
            place: by_key[place[1]]
            for place, stored in model.rows.items()
            if place[1] in by_key
            and all(stored.row[name] == self.rows[by_key[place[1]]][name] for name in self.equated)
        }

    def change(self, model: Model) -> Counts:
        """The first clause whose condition is true acts on a row, whatever its ordering value."""
        matched, before = self._matched(model), dict(model.rows)
        counts = {"inserted": 0, "updated": 0, "deleted": 0}
        for place, stored in before.items():
            source = self.rows[matched[place]] if place in matched else None
            clause = self._clause(source if source is not None else stored.row, is_matched=source is not None)
            if clause is None:
                continue
            if clause.kind.endswith("delete"):
                model.delete([place])
                counts["deleted"] += 1
                continue
            fixed = {name: stored.row[name] for name in (*model.setting.key, *model.setting.partition)}
            taken = {**source, **fixed} if clause.kind == "update all" and source is not None else stored.row
            is_kept = model.rewrite(place, {**taken, **dict(clause.set)})
            counts["updated" if is_kept else "deleted"] += 1
        for number, row in enumerate(self.rows):
            inserts = [one for one in self.clauses if one.kind == "insert all" and holds(one.where, row)]
            if number not in matched.values() and inserts:
                counts["inserted"] += model.force(row)
        return Counts(**counts)

    def _clause(self, row: Row, *, is_matched: bool) -> Clause | None:
        kinds = ("update all", "update", "delete") if is_matched else ("source update", "source delete")
        return next((one for one in self.clauses if one.kind in kinds and holds(one.where, row)), None)

    def call(self) -> str:
        on = f"on={' and '.join(f't.{name} = s.{name}' for name in ('k', *self.equated))!r}"
        clauses = "".join(spell_clause(clause) for clause in self.clauses)
        return f"table.merge({spell_rows(self.rows)}, {on}{spell_options(self.more)}){clauses}.execute()"


def draw_set(chance: Random, world: World) -> Assignments:
    """Draw what to set columns to; what orders rows is never null."""
    found: dict[str, object] = {"v": float(chance.randrange(6))}
    if chance.random() < 0.5:
        found["ts"] = chance.randrange(30)
    if chance.random() < 0.4:
        text = chance.choice((None, "m"))
        found["s"] = "" if text is None and "s" in world.setting.ordering else text
    if "_event_lsn" in world.setting.ordering and chance.random() < 0.5:
        found["_event_lsn"] = chance.randrange(30)
    if world.setting.change_log is not None and chance.random() < 0.3:
        found[world.setting.change_log.mark] = chance.choice(world.setting.change_log.operations)
    return tuple(found.items())


def draw_clauses(chance: Random, world: World) -> tuple[Clause, ...]:
    """Draw clauses of every kind; of two of a kind the first has a condition."""
    found = []
    if chance.random() < 0.3:
        found.append(Clause("delete", where=draw_where(chance)))
    if chance.random() < 0.6:
        kind = chance.choice(("update all", "update"))
        found.append(
            Clause(kind, draw_set(chance, world) if kind == "update" else (), chance.choice((None, draw_where(chance))))
        )
    if chance.random() < 0.6:
        found.append(Clause("insert all", where=chance.choice((None, draw_where(chance)))))
    if chance.random() < 0.2:
        found.append(Clause("source update", draw_set(chance, world), draw_where(chance)))
    if chance.random() < 0.15 or not found:
        found.append(Clause("source delete", where=chance.choice((None, draw_where(chance)))))
    return tuple(found)


def holds(where: Where | None, row: Row) -> bool:
    """Return whether a condition is true of a row; none is always."""
    return where is None or where.holds(row)


def spelled(assignments: Assignments) -> dict[str, str]:
    """Spell values as expressions, of the columns' types."""
    kinds = {"v": "double", "ts": "bigint", "_event_lsn": "bigint"}
    return {name: f"cast({literal(value)} as {kinds.get(name, 'string')})" for name, value in assignments}


def with_clause(builder: Any, clause: Clause) -> Any:
    """Add a clause to a merge."""
    side = "t." if clause.kind.startswith("source") else "s."
    where = None if clause.where is None else clause.where.sql(side)
    match clause.kind:
        case "update all":
            return builder.when_matched_update_all(condition=where)
        case "update":
            return builder.when_matched_update(spelled(clause.set), condition=where)
        case "delete":
            return builder.when_matched_delete(condition=where)
        case "insert all":
            return builder.when_not_matched_insert_all(condition=where)
        case "source update":
            return builder.when_not_matched_by_source_update(spelled(clause.set), condition=where)
    return builder.when_not_matched_by_source_delete(condition=where)


def spell_clause(clause: Clause) -> str:
    """Spell a clause as it is typed."""
    side = "t." if clause.kind.startswith("source") else "s."
    verbs = {
        "update all": "when_matched_update_all",
        "update": "when_matched_update",
        "delete": "when_matched_delete",
        "insert all": "when_not_matched_insert_all",
        "source update": "when_not_matched_by_source_update",
        "source delete": "when_not_matched_by_source_delete",
    }
    values = f"{spelled(clause.set)}, " if clause.set else ""
    where = "" if clause.where is None else f"condition={clause.where.sql(side)!r}"
    return f".{verbs[clause.kind]}({values}{where})".replace(", )", ")")

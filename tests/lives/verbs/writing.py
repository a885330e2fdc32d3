"""Writes of rows and keys. Start at `Upsert`."""

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

import pyarrow as pa
from tests.lives.model import Counts, Key, Model
from tests.lives.rows import ADDED, NOWHERE, WIDENED, Row, Where, draw_rows, draw_where, table_of
from tests.lives.verbs.step import STREAMED, Write, draw_more, spell_options, spell_rows
from tests.lives.world import World

from pyhudi.errors import DuplicateKeys, HudiError, InvalidInput, SchemaMismatch
from pyhudi.metadata.names import SECONDARY_PREFIX
from pyhudi.state.properties_file import open_state
from pyhudi.table import Table

COMBINE = "hoodie.combine.before.insert"


@dataclass(frozen=True, slots=True)
class RowsWrite(Write):
    """A write that is given rows."""

    rows: tuple[Row, ...] = ()

    def given(self, schema: pa.Schema) -> Any:
        """Return the rows with these columns, as a table or as a stream of batches."""
        rows = table_of(self.rows, schema)
        is_stream = STREAMED in self.more and isinstance(rows, pa.Table) and rows.num_rows
        return iter(rows.to_batches(max_chunksize=2)) if is_stream else rows


@dataclass(frozen=True, slots=True)
class Upsert(RowsWrite):
    """Upsert rows; one key may come several times."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        count = chance.choice((1, 1, 2, 3, 5, 9))
        rows = draw_rows(chance, world.fields, count, is_one_a_key=chance.random() < 0.8)
        return cls(draw_more(chance, world), in_order(rows, world))

    def apply(self, table: Table, world: World) -> Any:
        return table.upsert(self.given(world.model.schema), options=self.options(world))

    def dry(self, table: Table, world: World) -> Any:
        return table.upsert(self.given(world.model.schema), options=self.options(world), dry_run=True)

    def change(self, model: Model) -> Counts:
        return model.upsert(self.rows)

    def call(self) -> str:
        return f"table.upsert({spell_rows(self.rows)}{spell_options(self.more)})"


@dataclass(frozen=True, slots=True)
class AddColumn(RowsWrite):
    """Upsert rows that have a column more than the table."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        rows = draw_rows(chance, world.fields, chance.choice((1, 3)))
        rows = tuple({**row, ADDED.name: chance.choice(WIDENED[ADDED.type])} for row in rows)
        more = draw_more(chance, world)
        return None if world.model.has_added else cls(more, in_order(rows, world))

    def fits(self, world: World) -> bool:
        return not world.model.has_added

    def apply(self, table: Table, world: World) -> Any:
        return table.upsert(self.given(world.model.schema.append(ADDED)), options=self.options(world))

    def change(self, model: Model) -> Counts:
        model.add_column()
        return model.upsert(self.rows)

    def call(self) -> str:
        return f"table.upsert({spell_rows(self.rows)}{spell_options(self.more)})"


@dataclass(frozen=True, slots=True)
class DeclareColumn(Write):
    """Add a column to the table by a commit without rows."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        more = draw_more(chance, world)
        return None if world.model.has_added else cls(more)

    def fits(self, world: World) -> bool:
        return not world.model.has_added

    def apply(self, table: Table, world: World) -> Any:
        return table.add_columns({ADDED.name: ADDED.type}, options=self.options(world))

    def dry(self, table: Table, world: World) -> Any:
        return table.add_columns({ADDED.name: ADDED.type}, options=self.options(world), dry_run=True)

    def change(self, model: Model) -> Counts:
        model.add_column()
        return Counts(inserted=0, updated=0, deleted=0)

    def call(self) -> str:
        return f"table.add_columns({{'x': pa.int32()}}{spell_options(self.more)})"


@dataclass(frozen=True, slots=True)
class WidenColumn(RowsWrite):
    """Upsert rows in which that column has a wider type, or say that it is wider by a commit without rows."""

    planned: ClassVar[tuple[tuple[str, str], ...]] = ()
    kind: str = "int64"

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        if not world.model.has_added:
            return None
        kind = chance.choice((pa.int64(), pa.float64()))
        rows = draw_rows(chance, world.fields, chance.choice((0, 1, 3)))
        rows = tuple({**row, ADDED.name: chance.choice(WIDENED[kind])} for row in rows)
        more = (*draw_more(chance, world), ("hoodie.datasource.write.reconcile.schema", True))
        return cls(more, in_order(rows, world), str(kind).replace("double", "float64"))

    def fits(self, world: World) -> bool:
        return world.model.has_added and (bool(self.rows) or world.model.may_widen(self.type))

    def apply(self, table: Table, world: World) -> Any:
        return self._written(table, world, dry_run=False)

    def dry(self, table: Table, world: World) -> Any:
        return self._written(table, world, dry_run=True)

    def _written(self, table: Table, world: World, *, dry_run: bool) -> Any:
        how: Any = {"options": self.options(world), "dry_run": dry_run}
        if not self.rows:
            return table.widen_columns({ADDED.name: self.type}, **how)
        return table.upsert(self.given(self._wider(world.model)), **how)

    def _wider(self, model: Model) -> pa.Schema:
        at = model.schema.get_field_index(ADDED.name)
        return model.schema.set(at, ADDED.with_type(self.type))

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """A secondary index of a whole number has other entries than one of a float."""
        kept_up = open_state(world.storage, world.env).config.partitions_kept_up
        is_kept = self.type == pa.float64() and f"{SECONDARY_PREFIX}{ADDED.name}" in kept_up
        return Write.refusals(self, world) + ((SchemaMismatch,) if is_kept else ())

    @property
    def type(self) -> pa.DataType:
        """Return the type."""
        kind: pa.DataType = getattr(pa, self.kind)()
        return kind

    def change(self, model: Model) -> Counts:
        values = [row[ADDED.name] for row in self.rows]
        if not values or self.type == pa.int64() or not all(model.is_whole(value) for value in values):
            model.widen(self.type)
        return model.upsert(self.rows)

    def call(self) -> str:
        if not self.rows:
            return f"table.widen_columns({{'x': pa.{self.kind}()}}{spell_options(self.more)})"
        return f"table.upsert({spell_rows(self.rows)}{spell_options(self.more)})  # x: {self.kind}"


@dataclass(frozen=True, slots=True)
class Insert(RowsWrite):
    """Insert rows; without a policy only keys that are not stored, as others would be there twice."""

    planned: ClassVar[tuple[tuple[str, str], ...]] = (("inserts", "inserted"), ("rejected", "rejected"))
    duplicates: str = "none"

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        duplicates = chance.choice(("none", "drop", "drop", "fail"))
        rows = draw_rows(chance, world.fields, chance.choice((1, 2, 4)))
        if duplicates == "none":
            rows = unstored(rows, world)
        return cls(draw_more(chance, world), rows, duplicates) if rows else None

    def fits(self, world: World) -> bool:
        return self.duplicates != "none" or unstored(self.rows, world) == self.rows

    def apply(self, table: Table, world: World) -> Any:
        return table.insert(self.given(world.model.schema), duplicates=self.duplicates, options=self.options(world))  # type: ignore[call-overload]

    def dry(self, table: Table, world: World) -> Any:
        how = {"duplicates": self.duplicates, "options": self.options(world), "dry_run": True}
        return table.insert(self.given(world.model.schema), **how)  # type: ignore[call-overload]

    def change(self, model: Model) -> Counts:
        return model.insert(self.rows, drops=self.duplicates != "none")

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        is_stored = any(world.model.found(row) for row in self.rows)
        return Write.refusals(self, world) + ((DuplicateKeys,) if self.duplicates == "fail" and is_stored else ())

    def call(self) -> str:
        return f"table.insert({spell_rows(self.rows)}, duplicates={self.duplicates!r}{spell_options(self.more)})"


@dataclass(frozen=True, slots=True)
class BulkInsert(RowsWrite):
    """Insert rows whose keys are not stored."""

    planned: ClassVar[tuple[tuple[str, str], ...]] = (("inserts", "inserted"),)

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        rows = unstored(draw_rows(chance, world.fields, chance.choice((1, 2, 4))), world)
        mode = ("hoodie.bulkinsert.sort.mode", chance.choice(("NONE", "GLOBAL_SORT", "PARTITION_SORT")))
        return cls((*draw_more(chance, world), mode), rows) if rows else None

    def fits(self, world: World) -> bool:
        return unstored(self.rows, world) == self.rows

    def apply(self, table: Table, world: World) -> Any:
        return table.bulk_insert(self.given(world.model.schema), options=self.options(world))

    def dry(self, table: Table, world: World) -> Any:
        return table.bulk_insert(self.given(world.model.schema), options=self.options(world), dry_run=True)

    def change(self, model: Model) -> Counts:
        return model.insert(self.rows)

    def call(self) -> str:
        return f"table.bulk_insert({spell_rows(self.rows)}{spell_options(self.more)})"


@dataclass(frozen=True, slots=True)
class DeleteRows(RowsWrite):
    """Delete the keys of rows, each in its own partition."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        stored = [one.row for one in world.model.rows.values()]
        rows = draw_rows(chance, world.fields, chance.choice((1, 2, 4)))
        if stored and chance.random() < 0.7:
            again = chance.choice(stored)
            rows = (*rows, {**again, "ts": chance.choice((again["ts"], chance.randrange(30)))})
        return cls(draw_more(chance, world), rows)

    def apply(self, table: Table, world: World) -> Any:
        return table.delete(self.given(world.model.schema), options=self.options(world))

    def dry(self, table: Table, world: World) -> Any:
        return table.delete(self.given(world.model.schema), options=self.options(world), dry_run=True)

    def change(self, model: Model) -> Counts:
        places = [place for row in self.rows for place in model.found(row)]
        newest = max((model.order(row) for row in self.rows), default=())
        counts = model.delete(dict.fromkeys(places), newest)
        return Counts() if model.setting.is_logged else counts

    def call(self) -> str:
        return f"table.delete({spell_rows(self.rows)}{spell_options(self.more)})"


@dataclass(frozen=True, slots=True)
class DeleteKeys(Write):
    """Delete keys wherever they are."""

    planned: ClassVar[tuple[tuple[str, str], ...]] = (("deletes", "deleted"), ("not_stored", "not_stored"))
    keys: tuple[Key, ...] = ()

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        fields, stored = world.fields, [key for _, key in world.model.rows]
        drawn: list[Key] = [world.setting.key_of(row) for row in draw_rows(chance, fields, chance.choice((0, 1, 3)))]
        drawn += chance.sample(stored, min(len(stored), chance.choice((1, 1, 3)))) if stored else []
        return cls(draw_more(chance, world), tuple(dict.fromkeys(drawn)))

    def fits(self, world: World) -> bool:
        return bool(self.keys)

    def apply(self, table: Table, world: World) -> Any:
        return table.delete(keys=world.keys(self.keys), options=self.options(world))

    def dry(self, table: Table, world: World) -> Any:
        return table.delete(keys=world.keys(self.keys), options=self.options(world), dry_run=True)

    def change(self, model: Model) -> Counts:
        counts = model.delete(model.places(self.keys))
        return Counts() if model.setting.is_logged else counts

    def call(self) -> str:
        return f"table.delete(keys={list(self.keys)}{spell_options(self.more)})"


@dataclass(frozen=True, slots=True)
class DeleteWhere(Write):
    """Delete the rows for which a condition is true."""

    planned: ClassVar[tuple[tuple[str, str], ...]] = (("deletes", "deleted"),)
    where: Where = NOWHERE

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        return cls(draw_more(chance, world), draw_where(chance, is_indexed=world.setting.is_indexed))

    def apply(self, table: Table, world: World) -> Any:
        return table.delete(where=self.where.sql(), options=self.options(world))

    def dry(self, table: Table, world: World) -> Any:
        return table.delete(where=self.where.sql(), options=self.options(world), dry_run=True)

    def change(self, model: Model) -> Counts:
        return model.delete([place for place, stored in model.rows.items() if self.where.holds(stored.row)])

    def call(self) -> str:
        return f"table.delete(where={self.where.sql()!r}{spell_options(self.more)})"


@dataclass(frozen=True, slots=True)
class Overwrite(RowsWrite):
    """Replace the partitions of the rows, or the whole table, by the rows."""

    is_whole_table: bool = False

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        rows = draw_rows(chance, world.fields, chance.choice((1, 2, 5)))
        return cls(((COMBINE, True),), rows, chance.random() < 0.3)

    def fits(self, world: World) -> bool:
        """Under a global index a key that stays in another partition would be there twice."""
        model, paths = world.model, {world.setting.path_of(row) for row in self.rows}
        is_kept = any(place[0] not in paths for row in self.rows for place in model.found(row))
        return self.is_whole_table or not (world.setting.is_global and is_kept)

    def apply(self, table: Table, world: World) -> Any:
        verb = table.insert_overwrite_table if self.is_whole_table else table.insert_overwrite
        return verb(self.given(world.model.schema), options=self.options(world))

    def change(self, model: Model) -> Counts:
        rows = model.one_a_place(self.rows)
        everywhere = {place[0] for place in model.rows} | {place[0] for place in model.graves}
        paths = {model.place(row)[0] for row in rows}
        return model.replace_partitions(everywhere if self.is_whole_table else paths, rows)

    def call(self) -> str:
        verb = "insert_overwrite_table" if self.is_whole_table else "insert_overwrite"
        return f"table.{verb}({spell_rows(self.rows)}{spell_options(self.more)})"


@dataclass(frozen=True, slots=True)
class DeletePartitions(Write):
    """Delete whole partitions by a path or a pattern."""

    paths: tuple[str, ...] = ()

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        stored = sorted({path for path, _ in world.model.rows})
        if not stored or not world.setting.partition:
            return None
        path = chance.choice(stored)
        return cls(draw_more(chance, world), (path if chance.random() < 0.7 else path[:-1] + "*",))

    def fits(self, world: World) -> bool:
        return all(self._fitting(path, world.model) for path in self.paths)

    def apply(self, table: Table, world: World) -> Any:
        return table.delete_partitions(self.paths, options=self.options(world))

    def change(self, model: Model) -> Counts:
        return model.replace_partitions([found for path in self.paths for found in self._fitting(path, model)])

    def _fitting(self, pattern: str, model: Model) -> list[str]:
        paths = {path for path, _ in [*model.rows, *model.graves]}
        begin = pattern[:-1] if pattern.endswith("*") else None
        return [path for path in paths if path == pattern or (begin is not None and path.startswith(begin))]

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """A partition whose rows are all gone may be gone too."""
        known = {path for path, _ in world.model.rows}
        is_known = any(path in known for one in self.paths for path in self._fitting(one, world.model))
        return Write.refusals(self, world) + (() if is_known else (InvalidInput,))

    def call(self) -> str:
        return f"table.delete_partitions({list(self.paths)}{spell_options(self.more)})"


def in_order(rows: tuple[Row, ...], world: World) -> tuple[Row, ...]:
    """Let rows that fill each other in logs come in the order of their values: else it tells which meet first."""
    if not (world.setting.fills and world.setting.is_logged):
        return rows
    number = 100 + world.model.number
    newest = {
        "ts": number,
        "v": float(number),
        "s": f"x{number:06}",
        "b": b"\x7f\x7f%06d" % number,
        "_event_lsn": number,
    }
    return tuple({**row, **{name: newest[name] for name in world.setting.ordering}} for row in rows)


def unstored(rows: tuple[Row, ...], world: World) -> tuple[Row, ...]:
    """Return the rows whose keys are not stored where the table would have them once, hidden ones among them."""
    return tuple(row for row in rows if world.model.is_free(row))

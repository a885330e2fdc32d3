"""Indexes of the metadata table: created, planned for another process, built anew and dropped. Start at `CreateIndex`.

Which partitions there are the table says itself; that they tell the truth is compared in `tests.lives.comparing`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Self

from tests.lives.comparing import require_chosen, settle, told_by
from tests.lives.rows import ADDED, COMPUTED, Where
from tests.lives.setting import BY_PARTITION
from tests.lives.verbs.step import Step
from tests.lives.verbs.writing import Upsert
from tests.lives.world import World, Wrong

from pyhudi.errors import CorruptData, HudiError, InvalidInput, NotBuilt, WriteConflict
from pyhudi.filegroup.model import BaseFile, FileSlice, LogFile
from pyhudi.metadata.committed_files import is_of_rows
from pyhudi.metadata.secondary_keys import can_index
from pyhudi.metadata.table.logs import empty_group_log
from pyhudi.metadata.table.upkeep import planned_partitions
from pyhudi.state.properties_file import open_state
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline

RECORD: Final = "record_index"
SECONDARY: Final = ("s", "p", "ts", "k", ADDED.name)
EXPRESSIONS: Final = (
    ("upper(p)", "column_stats"),
    ("upper(p)", "bloom_filters"),
    ("lower(s)", "column_stats"),
    ("lower(s)", "bloom_filters"),
    ("length(s)", "column_stats"),
    ("substring(s)", "column_stats"),
)


@dataclass(frozen=True, slots=True)
class CreateIndex(Step):
    """Make an index, or plan it for another process."""

    kind: str = RECORD
    of: str = ""
    """A column, or of an expression index one of `COMPUTED`."""
    using: str = "column_stats"
    is_scheduled: bool = False

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        is_scheduled = chance.random() < 0.3
        match chance.randrange(4):
            case 0:
                return cls(RECORD, is_scheduled=is_scheduled)
            case 1:
                return cls("secondary", chance.choice(SECONDARY), is_scheduled=is_scheduled)
            case 2:
                return cls("expression", *chance.choice(EXPRESSIONS), is_scheduled=is_scheduled)
        return cls(chance.choice(("column_stats", "partition_stats")), is_scheduled=is_scheduled)

    def fits(self, world: World) -> bool:
        """A key that stands in two partitions has no record index, and what rests on it is not to be had without."""
        if self.kind == RECORD:
            return world.setting.is_global or world.setting.index == BY_PARTITION
        if self.kind == "secondary":
            is_there = self.of in world.model.schema.names and can_index(world.model.schema.field(self.of).type)
            has_keys = RECORD in ready(world) and world.setting.index != BY_PARTITION
            return world.setting.version > 6 and is_there and has_keys
        return self.kind != "expression" or world.setting.version > 6

    def apply(self, table: Table, world: World) -> Any:
        return table.create_index(
            self.kind,
            self._column,
            name=self._name,
            expr=self.of.partition("(")[0] if self.kind == "expression" else None,
            kind=self.using,
            options={**world.setting.options, **({"pos": 1, "len": 1} if self.of == "substring(s)" else {})},
            schedule=self.is_scheduled,
        )

    def do(self, world: World, table: Table | None = None) -> Any:
        result = Step.do(self, world, table)
        world.has_plans |= self.is_scheduled
        return result

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """There is one already, or it is planned, or goes with one that is not there; or there is no metadata table."""
        is_planned = world.has_dead_writer or bool(known(world) - kept_up(world))
        planned: tuple[type[HudiError], ...] = (WriteConflict,) if is_planned else ()
        is_there = self._partition in kept_up(world) or self.kind == "partition_stats"
        is_in_paths = world.setting.drops_partitions and self._column in world.setting.partition
        refused = planned + ((InvalidInput,) if is_there or is_in_paths else ())
        return refused + (() if "files" in ready(world) else (NotBuilt,))

    @property
    def _column(self) -> str | None:
        return COMPUTED[self.of].column if self.kind == "expression" else self.of or None

    @property
    def _name(self) -> str | None:
        if self.kind == "expression":
            return f"{self.using[:5]}_{self.of.partition('(')[0]}_{self._column}"
        return self.of or None

    @property
    def _partition(self) -> str:
        prefix = {"expression": "expr_index_", "secondary": "secondary_index_"}.get(self.kind)
        return self.kind if prefix is None else f"{prefix}{self._name}"

    def call(self) -> str:
        given = ", options={'pos': 1, 'len': 1}" if self.of == "substring(s)" else ""
        of = f", {self._column!r}, name={self._name!r}, kind={self.using!r}" if self.of else ""
        of += f", expr={self.of.partition('(')[0]!r}{given}" if self.kind == "expression" else ""
        return f"table.create_index({self.kind!r}{of}{', schedule=True' if self.is_scheduled else ''})"


@dataclass(frozen=True, slots=True)
class DropIndex(Step):
    """Take an index away, or its plan."""

    partition: str = ""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        found = sorted(kept_up(world) - {"files"})
        return cls(chance.choice(found)) if found and chance.random() < 0.7 else None

    def fits(self, world: World) -> bool:
        return self.partition in kept_up(world)

    def apply(self, table: Table, world: World) -> Any:
        return table.drop_index(self.partition, options=world.setting.options)

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """Others rest on it, or a process that may live builds it."""
        is_rested_on = self.partition == RECORD and any(one.startswith("secondary") for one in known(world))
        return (InvalidInput,) if is_rested_on or world.has_dead_writer else ()

    def call(self) -> str:
        return f"table.drop_index({self.partition!r}, options=options)"


@dataclass(frozen=True, slots=True)
class RunIndexing(Step):
    """Be the process that builds the indexes that are planned."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        return cls()

    def apply(self, table: Table, world: World) -> Any:
        return table.index(options=world.setting.options)

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """What is planned may have become impossible since."""
        if not world.may_have_plans:
            return ()
        found: tuple[type[HudiError], ...] = () if "files" in ready(world) else (NotBuilt,)
        return found if RECORD in ready(world) else (*found, InvalidInput)

    def call(self) -> str:
        return "pyhudi.open_table(path).index(options=options)"


@dataclass(frozen=True, slots=True)
class RepairIndex(Step):
    """Build an index anew."""

    partition: str = ""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        found = sorted(ready(world))
        return cls(chance.choice(found)) if found else None

    def fits(self, world: World) -> bool:
        return self.partition in ready(world)

    def apply(self, table: Table, world: World) -> Any:
        planned = table.repair(self.partition, options=world.setting.options, dry_run=True)
        done = table.repair(self.partition, options=world.setting.options)
        assert planned.partitions == done.partitions
        return done

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """What a dead writer told the metadata table is settled first."""
        return (WriteConflict,) if world.has_dead_writer else ()

    def call(self) -> str:
        return f"table.repair({self.partition!r}, options=options)"


@dataclass(frozen=True, slots=True)
class LoseFile(Step):
    """Lose a file of an index of rows: reads do without, a write may refuse, `check` says so, `repair` helps."""

    partition: str = RECORD
    left: int | None = None
    """How much is left of it, as the end of a slice; None where it is gone."""
    meanwhile: Upsert = field(default_factory=Upsert)
    is_base: bool = False
    """Whether it is a base file or a log."""
    place: int = -1
    """Which of them, by instant and path, counted as a list is; of fewer ones it begins anew."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        found = sorted(one for one in ready(world) if is_of_rows(one))
        if not found:
            return None
        left, is_base = chance.choice((None, 0, -1)), chance.random() < 0.3
        place = -1 if chance.random() < 0.4 else chance.randrange(40)
        return cls(chance.choice(found), left, Upsert.draw(chance, world), is_base, place)

    def fits(self, world: World) -> bool:
        """Before version 8 the name of a log does not say whether its commit is on the timeline."""
        return self.partition in ready(world) and world.setting.version > 6 and not world.has_dead_writer

    def do(self, world: World, table: Table | None = None) -> None:
        if not self._lose(world):
            return
        self._read(world)
        before = world.model.copied()
        try:
            self.meanwhile.do(world)
        except CorruptData:
            world.model = before
        settle(world.table, world.model)
        self._read(world)
        if self.partition not in ready(world):  # it went with the metadata table, by an option of that write
            return
        problems = world.table.check().problems.to_pylist()
        if self.partition not in {one["repair"] for one in problems}:
            raise Wrong(f"check() says {problems}, and a file of {self.partition} is gone")
        world.table.repair(self.partition, options=world.setting.options)

    def _lose(self, world: World) -> bool:
        """Return whether there was one, of a commit that counts."""
        told = told_by(world)
        assert told is not None
        slices = told.file_groups(self.partition)
        found: list[BaseFile | LogFile] = []
        for some in slices:
            found += [some.base] if self.is_base and some.base is not None else []
            found += [] if self.is_base else [one for one in some.logs if told.is_valid(one.instant)]
        files = [one for one in found if isinstance(one, BaseFile) or is_needed(one, slices)]
        if not files:
            return False
        lost = sorted(files, key=lambda one: (one.instant, one.path))[self.place % len(files)]
        storage, data = told.state.storage, told.state.storage.get(lost.path)
        storage.delete(lost.path)
        if self.left is not None:
            storage.put(lost.path, data[: self.left])
        return True

    def _read(self, world: World) -> None:
        """Ask for rows by all keys, and by all values, that an index of rows may be asked for."""
        rows = [one.row for one in world.model.rows.values()]
        for column in ("k", "s", "p", "ts"):
            values = {row[column] for row in rows} - {None}
            for value in sorted(values):
                require_chosen(world, Where(column, "=", value))

    def call(self) -> str:
        kind = "base file" if self.is_base else "log"
        return (
            f"<of {kind} {self.place} of {self.partition}, {self.left} is left>; {self.meanwhile.call()}; check; repair"
        )


def is_needed(log: LogFile, slices: Sequence[FileSlice]) -> bool:
    """Return whether a log has entries, or is all that its commit wrote to show its file group."""
    if log.size_bytes > len(empty_group_log(log.instant)):
        return True
    group = next(one for one in slices if log in one.logs)
    return group.base is None and all(one is log or one.instant != log.instant for one in group.logs)


def ready(world: World) -> set[str]:
    """Return the partitions of the metadata table that readers use."""
    return {*open_state(world.storage, world.env).config.metadata_partitions}


def kept_up(world: World) -> set[str]:
    """Return those, and those that are being built."""
    return {*open_state(world.storage, world.env).config.partitions_kept_up}


def known(world: World) -> set[str]:
    """Return those, and those that are planned."""
    state = open_state(world.storage, world.env)
    return kept_up(world) | planned_partitions(state, load_timeline(state))

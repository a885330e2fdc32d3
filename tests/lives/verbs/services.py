"""Services, called and planned for another process, and repair. Start at `Service`."""

from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Final, Self

from tests.lives.verbs.step import Step
from tests.lives.world import World, Wrong

from pyhudi.errors import HudiError, NotBuilt, WriteConflict
from pyhudi.table import Table

KEPT: Final[tuple[tuple[str, tuple[object, ...]], ...]] = (
    ("hoodie.parquet.compression.codec", ("zstd", "snappy")),
    ("hoodie.parquet.small.file.limit", (0, 2_000)),
    ("hoodie.parquet.max.file.size", (4_000, 20_000)),
    ("hoodie.logfile.data.block.format", ("avro", "parquet")),
)
"""Options that change files and no rows, and values of each."""


@dataclass(frozen=True, slots=True)
class Service(Step):
    """A service that plans and runs: rows stay as they are."""

    verb: ClassVar[str] = ""
    is_scheduled: bool = False
    is_tried: bool = False
    """A dry run comes first, and what is done then must be what it said."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        is_scheduled = chance.random() < 0.35
        return cls(is_scheduled, not is_scheduled and chance.random() < 0.4)

    def apply(self, table: Table, world: World) -> Any:
        verb, options = getattr(table, self.verb), world.setting.options
        if self.is_scheduled:
            return verb(options=options, schedule=True)
        planned = verb(options=options, dry_run=True) if self.is_tried and not world.may_have_plans else None
        result = verb(options=options)
        if planned is not None and sorted(planned.files) != sorted(result.files) and not world.has_dead_writer:
            raise Wrong(f"the dry run of {self.verb} said {planned.files}, and it did {result.files}")
        return result

    def do(self, world: World, table: Table | None = None) -> Any:
        result = Step.do(self, world, table)
        world.has_plans |= self.is_scheduled
        return result

    def call(self) -> str:
        return f"table.{self.verb}(options=options{', schedule=True' if self.is_scheduled else ''})"


@dataclass(frozen=True, slots=True)
class Compact(Service):
    """Merge logs into base files."""

    verb: ClassVar[str] = "compact"

    def do(self, world: World, table: Table | None = None) -> Any:
        result = Service.do(self, world, table)
        if result is not None and not self.is_scheduled and not world.may_have_plans:
            world.model.compact_all()
        return result

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        return Service.draw.__func__(cls, chance, world) if world.setting.is_logged else None  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class LogCompact(Service):
    """Merge logs into one log."""

    verb: ClassVar[str] = "log_compact"

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """Logs whose rows fill each other are not put together everywhere."""
        return (NotBuilt,) if world.setting.fills else ()

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        return Service.draw.__func__(cls, chance, world) if world.setting.is_logged else None  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Cluster(Service):
    """Write rows anew, in an order and into files of another size."""

    verb: ClassVar[str] = "cluster"

    def apply(self, table: Table, world: World) -> Any:
        with suppress(WriteConflict):  # others have left nothing of a plan, which is removed
            return Service.apply(self, table, world)
        return None


@dataclass(frozen=True, slots=True)
class Clean(Service):
    """Delete old files."""

    verb: ClassVar[str] = "clean"

    def do(self, world: World, table: Table | None = None) -> Any:
        result = Service.do(self, world, table)
        world.expire(is_cleaned=True)
        return result


@dataclass(frozen=True, slots=True)
class Archive(Step):
    """Move old instants to the history."""

    is_tried: bool = True
    """A dry run comes first, and what is done then must be what it said."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        return cls()

    def apply(self, table: Table, world: World) -> Any:
        planned = table.archive(options=world.setting.options, dry_run=True) if self.is_tried else None
        result = table.archive(options=world.setting.options)
        if planned is not None and planned.instants != result.instants:
            raise Wrong(f"the dry run of archive said {planned.instants}, and it did {result.instants}")
        return result

    def do(self, world: World, table: Table | None = None) -> Any:
        result = Step.do(self, world, table)
        world.expire(is_archived=True)
        return result

    def call(self) -> str:
        return "table.archive(options=options)"


@dataclass(frozen=True, slots=True)
class RunDueServices(Step):
    """Be the process that runs what writes leave."""

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        return cls()

    def apply(self, table: Table, world: World) -> Any:
        with suppress(WriteConflict):  # others have left nothing of a plan, which is removed
            return world.open(table.state.storage).run_due_services(options=world.setting.options)
        return None

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """A log compaction that is due may be refused, as when it is called."""
        return LogCompact().refusals(world)

    def do(self, world: World, table: Table | None = None) -> Any:
        result = Step.do(self, world, table)
        world.expire(is_cleaned=True)
        return result

    def call(self) -> str:
        return "pyhudi.open_table(path).run_due_services(options=options)"


@dataclass(frozen=True, slots=True)
class Repair(Step):
    """Build metadata anew."""

    partition: str | None = None

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        has_one = any(path.startswith(".hoodie/metadata/") for path in world.paths())
        return cls(chance.choice((None, "files"))) if has_one else None

    def fits(self, world: World) -> bool:
        return any(path.startswith(".hoodie/metadata/") for path in world.paths())

    def apply(self, table: Table, world: World) -> Any:
        return table.repair(self.partition, options=world.setting.options)

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """What a dead writer told the metadata table is settled first."""
        return (WriteConflict,) if world.has_dead_writer else ()

    def call(self) -> str:
        return f"table.repair({self.partition!r}, options=options)"


@dataclass(frozen=True, slots=True)
class SetOption(Step):
    """Let the table keep an option, or keep it no longer, for the writes that do not say it."""

    key: str = ""
    value: object = None

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        key, values = chance.choice(KEPT)
        return cls(key, chance.choice((None, *values)))

    def apply(self, table: Table, world: World) -> Any:
        table.set_options({self.key: self.value}, options=world.setting.options)
        kept = {one["key"]: one["value"] for one in table.options().to_pylist()}
        if self.value is not None and kept.get(self.key) != str(self.value):
            raise Wrong(f"the table keeps {kept}, and {self.key} was set to {self.value}")

    def call(self) -> str:
        return f"table.set_options({{{self.key!r}: {self.value!r}}})"


@dataclass(frozen=True, slots=True)
class Wait(Step):
    """Let time pass: dead writers are known to be dead, and the table is opened anew."""

    seconds: int = 0

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self:
        return cls(chance.choice((1, 400, 7_300)))

    def apply(self, table: Table, world: World) -> Any:
        world.env.sleep(self.seconds)
        world.table = world.open()

    def call(self) -> str:
        return f"time.sleep({self.seconds}); table = pyhudi.open_table(path)"

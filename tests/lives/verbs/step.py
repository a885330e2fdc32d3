"""What a verb is to a life: something that can be drawn, done and expected. Start at `Step`."""

import zlib
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Final, Self

from tests.lives.model import Counts, Model
from tests.lives.rows import Row
from tests.lives.setting import Options
from tests.lives.world import World, Wrong

from pyhudi.errors import Conflict, HudiError
from pyhudi.table import Table

STREAMED: Final = ("pyhudi.memory.bytes", 1 << 28)
"""An option by which the rows of a write come as a stream; a life leaves it so little memory that it waits on disk."""
_DRY: Final = 0.25
"""How many of the writes are planned first."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call. A verb says how it is drawn, what it calls, and what it promises; the rest is here.

    It is a plain value: its repr makes it again, its `call` is what a user types.
    """

    @classmethod
    def draw(cls, chance: Random, world: World) -> Self | None:
        """Draw one; None where the table has no use for it now."""
        raise NotImplementedError

    def fits(self, world: World) -> bool:
        """Return whether what it promises is known in this state; else it is left out."""
        return True

    def apply(self, table: Table, world: World) -> Any:
        """Call the verb."""
        raise NotImplementedError

    def expect(self, model: Model, result: Any) -> None:
        """Do to the model what the verb promises, and check what it says it did."""

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """Return the errors by which the verb may say that it did nothing."""
        return ()

    def call(self) -> str:
        """Return what a user types."""
        raise NotImplementedError

    def do(self, world: World, table: Table | None = None) -> Any:
        """Do it to the table and to the model."""
        table = table or world.table
        options = {**world.setting.options, **dict(getattr(self, "more", ()))}
        world.may_drop_metadata = not options.get("hoodie.metadata.enable", True)
        result = world.take(lambda given: self.apply(given, world), self.expect, self.refusals(world), table)
        world.remember()
        return result


@dataclass(frozen=True, slots=True)
class Write(Step):
    """A step that makes a commit."""

    more: Options = ()
    """Options of this write alone."""
    planned: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Counts that its dry run knows: their names in the plan, and in the result."""

    def do(self, world: World, table: Table | None = None) -> Any:
        """Do it; now and then a dry run comes first, and what it says is compared with what is done."""
        is_tried = table is None and Random(zlib.crc32(repr(self).encode())).random() < _DRY
        plan = self._tried(world) if is_tried else None
        result = Step.do(self, world, table)
        if plan is None or result is None:
            return result
        for name, done in self.planned:
            if getattr(plan, name) not in {None, getattr(result, done)}:
                raise Wrong(f"the dry run says {getattr(plan, name)} {name}, and {getattr(result, done)} were {done}")
        paths = {path.rpartition("/")[0] for path in result.files}
        if not paths <= {*plan.partitions}:
            raise Wrong(f"the dry run says that it writes to {plan.partitions}, and it wrote to {sorted(paths)}")
        return result

    def _tried(self, world: World) -> Any:
        """Return the plan; None where there is none, or where the write is refused."""
        before = world.paths()
        try:
            plan = self.dry(world.table, world)
        except self.refusals(world):
            return None
        if world.paths() != before and not world.has_dead_writer:
            raise Wrong(f"a dry run left or took files: {sorted(world.paths() ^ before)}")
        return plan

    def options(self, world: World) -> dict[str, object]:
        """Return the options of this write."""
        return {**world.setting.options, **dict(self.more)}

    def change(self, model: Model) -> Counts:
        """Do to the model what the write promises."""
        raise NotImplementedError

    def expect(self, model: Model, result: Any) -> None:
        """Compare what the write says it did with what the model did."""
        counts = self.change(model)
        model.is_compact = model.is_compact and not (model.setting.is_logged and result.files)
        for name in ("inserted", "updated", "deleted"):
            wanted, said = getattr(counts, name), getattr(result, name)
            if wanted is not None and said != wanted:
                raise Wrong(f"the write says {said} {name}, and {wanted} were")

    def refusals(self, world: World) -> tuple[type[HudiError], ...]:
        """What rewrites base files waits for services that are planned on them."""
        return (Conflict,) if world.setting.is_logged and world.may_have_plans else ()

    def dry(self, table: Table, world: World) -> Any:
        """Return the plan of this write; None where there is none."""
        return None


def spell_rows(rows: tuple[Row, ...]) -> str:
    """Spell rows as a list of dicts."""
    return "[" + ", ".join(repr(row) for row in rows) + "]"


def spell_options(more: Options) -> str:
    """Spell the options of a call."""
    return f", options={{**options, **{dict(more)}}}" if more else ", options=options"


def draw_more(chance: Random, world: World) -> Options:
    """Draw options that one write has for itself, seldom."""
    streamed = (STREAMED,) if chance.random() < 0.1 else ()
    if chance.random() > 0.12:
        return streamed
    found: list[tuple[str, object]] = [
        ("hoodie.metadata.enable", chance.random() < 0.5),
        ("hoodie.clean.automatic", False),
    ]
    if world.setting.is_logged:
        found.append(("hoodie.compact.inline", True))
        found.append(("hoodie.logfile.data.block.format", chance.choice(("avro", "parquet"))))
    return (*streamed, chance.choice(found))

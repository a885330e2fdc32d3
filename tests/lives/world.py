"""A table that lives: its bytes in memory, its clock, the handles that are open, and the model beside it.

Start at `World`.
"""

import itertools
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa
from tests.fixed_env import FixedEnv
from tests.lives.model import Key, Model, Moment
from tests.lives.rows import ADDED, WIDENED, Fields, Where, draw_where
from tests.lives.setting import Setting

from pyhudi.errors import HudiError
from pyhudi.state.metadata_table import METADATA_TABLE_PATH
from pyhudi.state.properties_file import open_state
from pyhudi.storage.api import Storage, StorageTraits
from pyhudi.storage.memory import MemoryStorage
from pyhudi.table import Table
from pyhudi.table.pinned import PinnedTable
from pyhudi.timeline.instant import WRITE_ACTIONS, Action

METADATA_TABLE_PROPERTIES = f"{METADATA_TABLE_PATH}/.hoodie/hoodie.properties"
DEAD_S = 7_300
"""Longer than a heartbeat is believed, and than a write that never had one is left alone."""
_names = itertools.count()
_PASSING = (".hoodie/.heartbeat/", ".hoodie/.temp/", ".hoodie/.locks/", ".hoodie/.tmp/")


@dataclass(frozen=True, slots=True)
class Pin:
    """A moment that is read for some time."""

    table: PinnedTable
    completion: str
    """Of the commit: a service that is run again after a rollback has its instant."""
    until_ms: int
    held: AbstractContextManager[PinnedTable]
    """Ends when it is left, or with its process."""


class Wrong(AssertionError):
    """The table is not what it promised."""


class OwnMemory(MemoryStorage):
    """Memory of which a process remembers what never changes, as of other stores."""

    @property
    def traits(self) -> StorageTraits:
        """Return those of a store whose address names one content."""
        return replace(super().traits, is_picklable=True)


def own_memory(env: FixedEnv) -> Storage:
    """Return an empty store."""
    return OwnMemory(f"memory://life-{next(_names)}", env)


class World:
    """One table and what is known of it."""

    def __init__(self, setting: Setting, seed: int = 0, place: Callable[[FixedEnv], Storage] = own_memory) -> None:
        """Make the table."""
        self.setting = setting
        self.env = FixedEnv(seed=seed)
        self.storage = place(self.env)
        self.table = setting.create(self.storage, self.env)
        self.stale = self.open()
        self.model = Model(setting)
        self.seen: set[tuple[str, str | None]] = set()
        """Commits whose moments are known: a plan whose commit was taken back may be run again, and is another."""
        self.has_dead_writer = False
        """A writer died, and what it left may still be there."""
        self.may_drop_metadata = False
        """The step at work is told to do without a metadata table."""
        self.has_plans = False
        """Plans of services may be pending."""
        self.pins: list[Pin] = []

    @property
    def fields(self) -> Fields:
        """Return what rows are drawn by: small values of the added column, which fit before it is widened too."""
        fields = self.setting.fields
        more = (ADDED.name, WIDENED[ADDED.type])
        return replace(fields, more=(*fields.more, more)) if self.model.has_added else fields

    def draw_where(self, chance: Random, schema: pa.Schema | None = None) -> Where:
        """Draw a condition on columns that the table has, or had at a moment with this schema."""
        has_added = ADDED.name in (schema or self.model.schema).names
        return draw_where(chance, is_indexed=self.setting.is_indexed, has_added=has_added)

    def open(self, storage: Storage | None = None) -> Table:
        """Open the table as another process does."""
        return Table(open_state(storage or self.storage, self.env))

    def moment(self, back: int) -> Moment | None:
        """Return the moment so many commits back; None where there are not as many."""
        moments = self.model.moments
        return moments[-1 - back] if back < len(moments) and not moments[-1 - back].is_unknown else None

    @property
    def may_have_plans(self) -> bool:
        """Return whether a plan of a service may be pending."""
        return self.has_plans or any("schedule.inline" in key and is_on for key, is_on in self.setting.options.items())

    def keys(self, keys: Sequence[Key]) -> list[object]:
        """Spell keys as callers do: the value of one field, of several fields a tuple or a dict."""
        names = self.setting.key
        if len(names) == 1:
            return [key[0] for key in keys]
        return [key if number % 2 else dict(zip(names, key, strict=True)) for number, key in enumerate(keys)]

    def paths(self) -> set[str]:
        """Return the files there are, but for those that come and go with processes."""
        return {one.path for one in self.storage.list("") if not one.path.startswith(_PASSING)}

    def remember(self, overtaken: str = "") -> None:
        """Remember the moments of commits that are new, of services inside writes too: they show what there is.

        `overtaken` is the instant of a write that began before others which were remembered already.
        """
        done = {(one.requested_time, one.completion_time): one for one in self.open().timeline.completed.values()}
        new = [one for name, one in done.items() if name not in self.seen and one.action in WRITE_ACTIONS]
        self.seen = set(done)
        for one in sorted(new, key=lambda one: (one.completion_time or "", one.requested_time)):
            is_service = one.requested_time != overtaken
            if one.action is Action.COMMIT and self.setting.is_logged:
                self.model.compact()
            self.model.complete(one.requested_time, one.completion_time or "", is_service=is_service)
        if self.model.doubts:  # which of several commits settled them is not known
            for moment in self.model.moments[-len(new) : -1] if len(new) > 1 else ():
                moment.is_unknown = True
        self.expire()

    def expire(self, *, is_cleaned: bool = False, is_archived: bool = False) -> None:
        """Take into account what a write may have cleaned or archived."""
        option = self.setting.option
        if is_cleaned or option("hoodie.clean.automatic", default=True):
            is_by_commits = option("hoodie.clean.policy", "KEEP_LATEST_COMMITS") == "KEEP_LATEST_COMMITS"
            self.model.expire(option("hoodie.clean.commits.retained", 10) if is_by_commits else 1)
        if is_archived or option("hoodie.archive.automatic", default=True):
            beyond = option("hoodie.archive.beyond.savepoint", default=False)  # those that stay count among the kept
            saved = len(self.model.savepoints) if beyond else 0
            self.model.expire(max(0, option("hoodie.keep.min.commits", 20) - saved))

    def require_nothing_lost(self, before: set[str], said: Exception) -> None:
        """Check that a verb which was refused took nothing away; what was due in the metadata table may be done."""
        gone = before - self.paths()
        is_dropped = METADATA_TABLE_PROPERTIES in gone and not self.may_drop_metadata
        lost = sorted(path for path in gone if is_dropped or not path.startswith(METADATA_TABLE_PATH))
        if lost and not self.has_dead_writer:
            raise Wrong(f"refused ({said}), and yet files went: {lost}") from said

    def take(
        self,
        act: Callable[[Table], Any],
        expect: Callable[[Model, Any], None],
        allowed: tuple[type[HudiError], ...] = (),
        table: Table | None = None,
    ) -> Any:
        """Do something, and what it promises to the model; return its result, or None where it was refused."""
        before, files = self.model.copied(), self.paths()
        self.model.begin()
        try:
            result = act(table or self.table)
        except allowed as error:
            self.model = before
            self.require_nothing_lost(files, error)
            return None
        expect(self.model, result)
        return result

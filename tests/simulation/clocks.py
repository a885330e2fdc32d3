"""Worlds whose writers have wrong clocks, and stores in which something happens before a chosen operation."""

from tests.building import TRIPS, TableBuilder, trip
from tests.faulty import FaultyStorage
from tests.fixed_env import FixedEnv
from tests.simulation.world import OPTIONS, URL, World

from pyhudi.state.properties_file import open_state
from pyhudi.storage.api import StorageTraits
from pyhudi.storage.memory import MemoryStorage
from pyhudi.table import Table

SECOND_MS, HOUR_MS, DAY_MS = 1_000, 3_600_000, 86_400_000
YEAR_MS = 365 * DAY_MS


class WrongEnv(FixedEnv):
    """A host beside another one: the same time passes, but the wall clock is off."""

    def __init__(self, right, offset_ms=0):
        super().__init__(seed=right.now_ms())
        self._right, self.offset_ms = right, offset_ms

    def now_ms(self):
        return self._right.now_ms() + self.offset_ms

    def monotonic_s(self):
        return self._right.monotonic_s()

    def sleep(self, seconds):
        self._right.sleep(seconds)


class Interrupted(FaultyStorage):
    """A store in which something happens just before one operation, by its number."""

    def __init__(self, inner, env, at, happen):
        super().__init__(inner, env=env)
        self._at, self._happen = at, happen
        self.has_happened = False

    def _begin(self, name, path):
        if not self.has_happened and len(self._log) + 1 == self._at:
            self.has_happened = True
            self._happen()
        return super()._begin(name, path)


class Bucket(MemoryStorage):
    """A memory store that says it is an object store: its lock is a lease, and hearts are judged by their files."""

    @property
    def traits(self):
        return StorageTraits(is_shared=True, is_picklable=False, has_atomic_create=True, has_cas=True, has_guard=False)


def new_bucket(env, options=None):
    """Make a table of three rows in a store of leases, through a host of its own."""
    storage = Bucket(URL, env)
    builder = TableBuilder()
    builder.env = env
    table = builder.create(TRIPS, storage=storage)
    table.upsert([trip(f"k{n}", "ab"[n % 2], fare=float(n)) for n in range(3)], options={**OPTIONS, **(options or {})})
    return storage


def copied(storage, env):
    """Return the same bytes and times apart from the original."""
    copy = type(storage)(URL, env)
    copy._content.files.update(storage._content.files)
    return copy


def opened(storage, env):
    """Open a table as a process on this host would."""
    return Table(open_state(storage, env))


def rows_in(storage, env):
    """Read (key, partition) to fare."""
    return World(storage, env).rows()

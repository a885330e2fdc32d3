"""Every state in which a crash can leave a table in memory, from one run.

While a verb runs, the files are kept as they are before each storage operation, and in the middle of those that are
more than one step. A writer that dies before or after an operation leaves one of these states and no other: after a
crash nothing it does reaches the store. Start at `watched`, or at `deaths` for a table.
"""

from tests.faulty import FaultyStorage
from tests.fixed_env import FixedEnv
from tests.simulation.explorer.process import quick
from tests.simulation.world import World

from pyhudi.storage.memory import MemoryStorage


class Moment:
    """The bytes and the time at one moment."""

    def __init__(self, files, now_ms):
        self._files = files
        self._now_ms = now_ms

    def world(self, later_ms=0):
        """Return a world that goes on from here, so much later."""
        env = FixedEnv(self._now_ms + later_ms, seed=self._now_ms)
        storage = MemoryStorage("memory://world", env)
        storage._content.files.update(self._files)
        return World(storage, env)

    def has(self, files):
        """Return whether nothing but time has passed."""
        return self._files == files


class WatchedStorage(FaultyStorage):
    """A store that remembers what a crash at any moment would leave."""

    def __init__(self, inner, env):
        super().__init__(inner, env=env)
        self.moments = []
        self.points = 0
        """How many crash points these are: before, after and in the middle of each operation."""

    def keep(self, gone=()):
        """Remember how the files are, without those that are gone."""
        files = {path: stored for path, stored in self.inner._content.files.items() if path not in gone}
        if not self.moments or not self.moments[-1].has(files):
            self.moments.append(Moment(files, self._env._now_ms))

    def delete_tree(self, prefix):
        below = [status.path for status in self.inner.list(prefix)]
        half = len(below) // 2
        if half:
            for gone in (below[:half], below[half:]):
                self.keep(gone)
                self.points += 1
        super().delete_tree(prefix)

    def _begin(self, name, path):
        self.keep()
        self.points += 2
        return super()._begin(name, path)


def watched(world, verb):
    """Do a verb to a copy of a world; give its storage, with every moment of the run, and the world after it."""
    done = world.copy()
    storage = WatchedStorage(done.storage, done.env)
    verb(done.table(storage))
    storage.keep()
    return storage, done


def deaths(table, do):
    """Return a table once in each state that a process leaves that dies while it does something to it.

    In the first nothing has been done, in the last all. Each is apart from the others, and at its time of death.
    """
    with quick():
        storage, _ = watched(World(table.state.storage, table.state.env), do)
    return [moment.world().table() for moment in storage.moments]

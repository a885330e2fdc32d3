"""The power goes at any moment: what was acknowledged is there, the rest is there whole or not at all."""

import hashlib

import pytest
from tests.amounts import IS_FULL, amount
from tests.building import TRIPS, TableBuilder, trip
from tests.faulty import SimulatedCrash
from tests.fixed_env import FixedEnv
from tests.simulation.power import Disk, PoweredOs, world_of
from tests.simulation.test_crashes import VERBS, new_world, recovered, upsert
from tests.simulation.world import DEAD_MS, OPTIONS

from pyhudi.errors import HudiError
from pyhudi.state.properties_file import has_properties, open_state
from pyhudi.storage.local import LocalStorage
from pyhudi.table import Table

pytestmark = pytest.mark.usefixtures("quick_process")


def warm(table):
    """Write to more partitions than a verb makes: directories come and go."""
    table.upsert([trip(f"w{city}", city) for city in "abxyz"], options=OPTIONS)


class Cut:
    """A table on a real directory that one process opens, writes to, and goes on with until the power goes."""

    def __init__(self, folder, kind="9"):
        world, self.root = new_world(kind), str(folder / "trips")
        storage = LocalStorage(self.root)
        for path, data in world.files().items():
            storage.put(path, data)
        self.disk = Disk(world.files())
        self.env = FixedEnv(world.env.now_ms(), seed=1)
        self.storage = LocalStorage(self.root, self.env)
        self.states = {}
        self._write(warm, self.storage, PoweredOs(self.root, self.disk))
        self.world = next(iter(self.worlds_now()))
        self.before = self.world.rows()

    def write(self, verb, **bad):
        """Do a verb, and keep every state that a cut may leave on the way; `bad` is what the writer does wrong.

        A writer that dies is another process.
        """
        storage = LocalStorage(self.root, self.env) if "dies_at" in bad else self.storage
        self._write(verb, storage, PoweredOs(self.root, self.disk, self.look, **bad))

    def _write(self, verb, storage, system):
        with system.at_work():
            verb(Table(open_state(storage, self.env)))

    def look(self):
        """Keep what a cut would leave now."""
        for files in self.disk.states():
            digest = hashlib.sha256()
            for path, data in sorted(files.items()):
                digest.update(f"{path}:{len(data)}:".encode() + data)
            self.states.setdefault(digest.hexdigest(), files)

    def worlds(self):
        """Return what is found after a cut on the way."""
        return [world_of(files, FixedEnv(self.env._now_ms)) for files in self.states.values()]

    def worlds_now(self):
        """Return what is found after a cut now."""
        return [world_of(files, FixedEnv(self.env._now_ms)) for files in self.disk.states()]


def rows_after(cut, verb):
    done = cut.world.copy()
    verb(done.table())
    return done.rows()


def require_safe(cut, verb, **bad):
    """Cut the power at every moment of a verb and after it; give how many states that makes."""
    after = rows_after(cut, verb)
    cut.write(verb, **bad)
    for world in cut.worlds_now():
        assert world.rows() == after, "acknowledged, and lost"
    for world in [*cut.worlds(), *cut.worlds_now()]:
        recovered(world, cut.before, after)
    return len(cut.states)


TWO = ("upsert", "insert_overwrite")


@pytest.mark.parametrize("name", amount(TWO, TWO, VERBS, everyday=TWO[1:]))
def test_the_power_may_go_at_any_moment(tmp_path, figure, name):
    states = require_safe(Cut(tmp_path), VERBS[name])
    assert states > 20
    figure("states after a power cut, recovered", states)


@pytest.mark.parametrize("kind", ("6", "8", "9 fenced") if IS_FULL else ("9 fenced",))
def test_the_power_may_go_in_any_table(tmp_path, figure, kind):
    figure("states after a power cut, recovered", require_safe(Cut(tmp_path, kind), upsert))


@pytest.mark.parametrize("unsynced", ["file", "directory"])
def test_a_writer_that_does_not_sync_is_caught(tmp_path, unsynced):
    with pytest.raises((AssertionError, HudiError)):
        require_safe(Cut(tmp_path), upsert, unsynced=unsynced)


class Created:
    """A table that is made where no directory is, and the disk it is made on."""

    place = "data/lake/trips"

    def __init__(self, folder):
        self.folder, self.disk, self.env = str(folder), Disk({}), FixedEnv(seed=1)

    def create(self, **bad):
        """Create the table and write to it; `bad` is what goes wrong."""
        with PoweredOs(self.folder, self.disk, **bad).at_work():
            builder = TableBuilder()
            builder.env = self.env
            table = builder.create(TRIPS, storage=LocalStorage(f"{self.folder}/{self.place}", self.env))
            table.upsert([trip("k1", "b")], options=OPTIONS)

    def rows_after_a_cut(self):
        """Return what is found after each cut that is possible now; None where there is no table."""
        found = []
        for files in self.disk.states():
            inside = {path.removeprefix(f"{self.place}/"): data for path, data in files.items()}
            world = world_of(inside, FixedEnv(self.env.now_ms()))
            found.append(world.rows() if has_properties(world.storage) else None)
        return found


def require_there(created):
    assert set(map(str, created.rows_after_a_cut())) == {str({("k1", "b"): 1.0})}


def test_a_new_table_is_there_with_the_directories_above_it(tmp_path):
    created = Created(tmp_path)
    created.create()
    require_there(created)


@pytest.mark.parametrize("made", ["data", "data/lake", "data/lake/trips"])
def test_a_new_table_is_there_also_where_a_dead_process_made_its_directory(tmp_path, made):
    created = Created(tmp_path)
    with pytest.raises(SimulatedCrash):
        created.create(dies_at=made)
    created.create()
    require_there(created)


@pytest.mark.everyday
def test_a_directory_that_a_dead_writer_made_is_safe_before_anything_in_it_is(tmp_path):
    cut = Cut(tmp_path)
    with pytest.raises(SimulatedCrash):
        cut.write(upsert, dies_at="c")
    cut.env.set_now_ms(cut.env.now_ms() + DEAD_MS)
    cut.write(upsert)
    assert [world.rows() for world in cut.worlds_now()] == [rows_after(cut, upsert)] * len(cut.worlds_now())

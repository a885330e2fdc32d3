import weakref

import pytest
from tests.fixed_env import FixedEnv
from tests.new_states import new_state

from pyhudi.errors import CorruptData, InvalidInput, TableExists, TableNotFound, Unsupported
from pyhudi.formats.properties import parse_properties
from pyhudi.state.properties_file import (
    BACKUP_PATH,
    PROPERTIES_PATH,
    create_state,
    encode_properties,
    has_properties,
    load_properties,
    open_state,
    update_properties,
)
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage

GOOD = {"hoodie.table.name": "t", "hoodie.table.version": "9", "hoodie.timeline.layout.version": "2"}


class Sleepless(FixedEnv):
    """A clock that does something while the code under test sleeps."""

    def __init__(self):
        super().__init__()
        self.slept = []
        self.meanwhile = lambda: None

    def sleep(self, seconds):
        self.slept.append(seconds)
        super().sleep(seconds)
        self.meanwhile()


@pytest.fixture
def env():
    return Sleepless()


@pytest.fixture
def storage(env):
    made = MemoryStorage(env=env)
    made.put(PROPERTIES_PATH, encode_properties(GOOD, env, "Properties saved on"))
    return made


def test_the_file_is_hudis_two_comments_and_the_entries_with_a_checksum(env):
    env.set_now_ms(1_759_064_076_662)
    lines = encode_properties(GOOD, env, "Updated at").decode().splitlines()
    assert lines[0] == "#Updated at 2025-09-28T12:54:36.663Z"
    assert lines[1] == "#Sun Sep 28 12:54:36 UTC 2025"
    assert lines[2:5] == [f"{key}={text}" for key, text in GOOD.items()]
    assert lines[5].startswith("hoodie.table.checksum=")


def test_no_table_is_found_at_once(env):
    with pytest.raises(TableNotFound, match=r"hoodie\.properties"):
        open_state(MemoryStorage(env=env), env)
    assert env.slept == []


def test_while_the_file_is_replaced_its_backup_is_read(storage, env):
    storage.put(BACKUP_PATH, storage.get(PROPERTIES_PATH))
    storage.delete(PROPERTIES_PATH)
    assert load_properties(storage, env)["hoodie.table.name"] == "t"
    assert has_properties(storage)
    assert env.slept == []


def test_a_half_written_file_is_read_again(storage, env):
    whole = storage.get(PROPERTIES_PATH)
    storage.put(PROPERTIES_PATH, whole[:60])
    env.meanwhile = lambda: storage.put(PROPERTIES_PATH, whole)
    assert load_properties(storage, env)["hoodie.table.name"] == "t"
    assert env.slept == [1.0]


def test_a_moment_without_either_file_is_waited_for(storage, env):
    whole = storage.get(PROPERTIES_PATH)
    storage.put(".hoodie/timeline/x", b"")
    storage.delete(PROPERTIES_PATH)
    env.meanwhile = lambda: storage.put(PROPERTIES_PATH, whole)
    assert open_state(storage, env).config.name == "t"


@pytest.mark.parametrize("data", [b"", b"x\\u12", b"hoodie.table.name=t\nhoodie.table.checksum=1\n"])
def test_a_file_that_stays_broken_is_named(storage, env, data):
    storage.put(PROPERTIES_PATH, data)
    with pytest.raises(CorruptData, match=r"file='\.hoodie/hoodie\.properties'") as caught:
        load_properties(storage, env)
    assert len(env.slept) == 4
    kept = weakref.ref(caught.value)
    del caught
    assert kept() is None, "an error that holds the frame which holds it stays in memory"


def test_a_version_we_do_not_know_is_refused_by_number(storage, env):
    storage.put(PROPERTIES_PATH, encode_properties({**GOOD, "hoodie.table.version": "10"}, env, "x"))
    with pytest.raises(Unsupported, match="version=10"):
        open_state(storage, env)


def test_a_layout_that_does_not_fit_the_version_is_refused(storage, env):
    storage.put(PROPERTIES_PATH, encode_properties({**GOOD, "hoodie.table.version": "6"}, env, "x"))
    with pytest.raises(Unsupported, match="layout"):
        open_state(storage, env)


def test_directories_come_from_the_properties_and_stay_inside(storage, env):
    said = {**GOOD, "hoodie.timeline.path": "tl", "hoodie.timeline.history.path": "old"}
    storage.put(PROPERTIES_PATH, encode_properties(said, env, "x"))
    layout = open_state(storage, env).layout
    assert (layout.timeline_path, layout.history_path) == (".hoodie/tl", ".hoodie/tl/old")
    storage.put(PROPERTIES_PATH, encode_properties({**said, "hoodie.timeline.path": "../../etc"}, env, "x"))
    with pytest.raises(InvalidInput):
        open_state(storage, env)


def test_an_update_keeps_unknown_keys_and_leaves_no_backup(storage, env):
    storage.put(PROPERTIES_PATH, encode_properties({**GOOD, "hoodie.new.thing": "1", "hoodie.gone": "1"}, env, "x"))
    update_properties(storage, env, {"hoodie.added": "a:b", "hoodie.gone": None})
    data = storage.get(PROPERTIES_PATH)
    read = parse_properties(data)
    assert (read["hoodie.new.thing"], read["hoodie.added"], "hoodie.gone" in read) == ("1", "a:b", False)
    assert data.startswith(b"#Updated at ")
    assert [one.path for one in storage.list(".hoodie")] == [PROPERTIES_PATH]


def test_an_update_that_changes_nothing_writes_nothing(storage, env):
    before = storage.get(PROPERTIES_PATH)
    update_properties(storage, env, {"hoodie.table.name": "t", "hoodie.absent": None})
    assert storage.get(PROPERTIES_PATH) == before


class Killed(Exception):
    pass


@pytest.mark.parametrize("dies_at", range(5))
def test_a_writer_that_dies_in_an_update_leaves_a_readable_table(env, dies_at):
    class Dying(MemoryStorage):
        steps = -1

        def _step(self):
            if self.steps == dies_at:
                raise Killed
            self.steps += 1 if self.steps >= 0 else 0

        def put(self, *given):
            self._step()
            super().put(*given)

        def delete(self, path):
            self._step()
            super().delete(path)

    storage = Dying(env=env)
    storage.put(PROPERTIES_PATH, encode_properties(GOOD, env, "x"))
    storage.steps = 0
    with pytest.raises(Killed):
        update_properties(storage, env, {"hoodie.added": "1"})
    storage.steps = -1
    assert load_properties(storage, env)["hoodie.table.name"] == "t"
    assert update_properties(storage, env, {"hoodie.later": "2"})["hoodie.later"] == "2"
    assert [one.path for one in storage.list(".hoodie")] == [PROPERTIES_PATH]


def test_a_torn_file_is_recovered_from_the_backup_before_an_update(storage, env):
    storage.put(BACKUP_PATH, storage.get(PROPERTIES_PATH))
    storage.put(PROPERTIES_PATH, b"#torn")
    assert update_properties(storage, env, {"hoodie.added": "1"})["hoodie.table.name"] == "t"
    storage.put(PROPERTIES_PATH, b"#torn")
    with pytest.raises(CorruptData):
        update_properties(storage, env, {"hoodie.added": "2"})


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_created_table_opens_as_what_it_was_asked_to_be(version):
    state = new_state(version)
    again = open_state(state.storage, state.env)
    assert again.config == state.config
    assert (state.config.table_version, state.config.record_key, state.config.partition_fields) == (
        version,
        ("uuid",),
        ("city",),
    )
    assert state.config.timeline_zone == "UTC"


def test_a_table_is_never_created_over_another(env):
    state = new_state(env=env)
    with pytest.raises(TableExists):
        create_state(state.storage, env, state.config.properties)
    state.storage.put(BACKUP_PATH, state.storage.get(PROPERTIES_PATH))
    state.storage.delete(PROPERTIES_PATH)
    with pytest.raises(TableExists):
        create_state(state.storage, env, state.config.properties)


def test_of_two_creators_at_once_one_is_told(env):
    class Raced(MemoryStorage):
        def make_directory(self, path):
            if not super().list(".hoodie"):
                self.put(PROPERTIES_PATH, encode_properties(GOOD, env, "the other's"))

    storage = Raced(env=env)
    with pytest.raises(TableExists, match="another writer"):
        create_state(storage, env, {**GOOD, "hoodie.table.name": "mine"})
    assert load_properties(storage, env)["hoodie.table.name"] == "t"


def test_directories_are_made_beside_the_properties(tmp_path):
    for version, history in ((6, "archived"), (9, "timeline/history")):
        new_state(version, LocalStorage(str(tmp_path / str(version))))
        meta = tmp_path / str(version) / ".hoodie"
        for name in (".aux/.bootstrap/.partitions", ".aux/.bootstrap/.fileids", ".schema", ".temp", history):
            assert (meta / name).is_dir()

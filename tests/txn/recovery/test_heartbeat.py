import multiprocessing
import os
import signal
from dataclasses import replace

import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.new_states import new_state
from tests.simulation.world import FarStorage
from tests.txn.clocks import World

from pyhudi.errors import PreconditionFailed
from pyhudi.options import Settings
from pyhudi.storage.api import PutMode
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.storage.process import process_name
from pyhudi.timeline.clock import format_instant
from pyhudi.txn.recovery.heartbeat import (
    Liveness,
    guard_path,
    heartbeat_path,
    is_abandoned,
    liveness,
    run_heartbeat,
    stop_heartbeat,
)

SETTINGS = Settings()
HOUR_MS = 3_600_000


@pytest.fixture
def world():
    return World()


@pytest.fixture
def env(world):
    return world.host()


@pytest.fixture
def state(env):
    return new_state(storage=MemoryStorage(env=env), env=env)


@pytest.fixture
def local(env, tmp_path):
    return new_state(storage=LocalStorage(str(tmp_path)), env=env)


@pytest.fixture
def time(env, state):
    return format_instant(env.now_ms(), env.zone())


def test_a_writer_is_alive_while_it_beats_and_dead_two_beats_later(world, state, time):
    with run_heartbeat(state, time, SETTINGS):
        world.pass_ms(600_000)
        assert liveness(state, time, SETTINGS) is Liveness.ALIVE
    world.pass_ms(120_000)
    assert liveness(state, time, SETTINGS) is Liveness.ALIVE
    world.pass_ms(1)
    assert liveness(state, time, SETTINGS) is Liveness.DEAD
    assert is_abandoned(state, time, SETTINGS)


def test_the_options_say_how_long_a_beat_is_believed(world, state, time):
    settings = Settings(
        {"hoodie.client.heartbeat.interval_in_ms": "1000", "hoodie.client.heartbeat.tolerable.misses": "3"}
    )
    with run_heartbeat(state, time, settings):
        pass
    world.pass_ms(3_000)
    assert liveness(state, time, settings) is Liveness.ALIVE
    world.pass_ms(1)
    assert liveness(state, time, settings) is Liveness.DEAD


def test_the_file_says_who_beats_and_stays_until_it_is_removed(state, time):
    with run_heartbeat(state, time, SETTINGS):
        assert state.storage.get(f".hoodie/.heartbeat/{time}").decode() == process_name()
    assert state.storage.get(heartbeat_path(time)).decode() == process_name()
    stop_heartbeat(state, time)
    stop_heartbeat(state, time)
    assert liveness(state, time, SETTINGS) is Liveness.FOREIGN


def test_who_never_beat_is_foreign_and_is_given_an_hour(world, state, time):
    assert liveness(state, time, SETTINGS) is Liveness.FOREIGN
    world.pass_ms(HOUR_MS)
    assert not is_abandoned(state, time, SETTINGS)
    world.pass_ms(1)
    assert is_abandoned(state, time, SETTINGS)


def test_nobody_beats_for_somebody_elses_instant(state, time):
    state.storage.put(heartbeat_path(time), b"")
    with pytest.raises(PreconditionFailed), run_heartbeat(state, time, SETTINGS):
        pass
    assert state.storage.head(heartbeat_path(time))


def test_a_beat_that_fails_is_forgiven(world, env, state, time):
    faulty = FaultyStorage(
        state.storage, plan=[Fault(kind=FaultKind.ERROR_BEFORE, operations=frozenset({"put"}), at=2)]
    )
    shaky = new_state(storage=MemoryStorage(env=env), env=env)
    shaky = type(shaky)(storage=faulty, env=env, config=shaky.config, layout=shaky.layout)
    with run_heartbeat(shaky, time, SETTINGS):
        world.pass_ms(180_000)
        assert liveness(state, time, SETTINGS) is Liveness.ALIVE


def test_whoever_stood_still_may_have_been_replaced_though_it_beats_again(world, env, time):
    state = new_state(storage=FarStorage(env=env), env=env)
    with run_heartbeat(state, time, SETTINGS) as heartbeat:
        world.pass_ms(180_000)
        assert not heartbeat.may_be_replaced()
        env.is_frozen = True
        world.pass_ms(180_000)
        assert heartbeat.is_expired()
        env.is_frozen = False
        world.pass_ms(60_000)
        assert (heartbeat.is_expired(), heartbeat.may_be_replaced()) == (False, True)


def test_a_local_writer_that_is_gone_is_dead_at_once(local, time):
    with run_heartbeat(local, time, SETTINGS):
        assert liveness(local, time, SETTINGS) is Liveness.ALIVE
    assert liveness(local, time, SETTINGS) is Liveness.DEAD


def test_a_local_writer_whose_heartbeat_file_was_removed_is_still_alive(local, time):
    with run_heartbeat(local, time, SETTINGS):
        local.storage.delete(heartbeat_path(time))
        assert liveness(local, time, SETTINGS) is Liveness.ALIVE


def test_a_java_writers_heartbeat_on_a_local_path_is_judged_by_its_age(world, local, time):
    local.storage.put(heartbeat_path(time), b"")
    world.now_ms = local.storage.head(heartbeat_path(time)).modified_ms
    assert liveness(local, time, SETTINGS) is Liveness.ALIVE
    world.pass_ms(120_001)
    assert liveness(local, time, SETTINGS) is Liveness.DEAD


def test_no_guard_file_is_left(local, time):
    with run_heartbeat(local, time, SETTINGS):
        stop_heartbeat(local, time)
    local.storage.put(heartbeat_path(time), b"")
    with pytest.raises(PreconditionFailed), run_heartbeat(local, time, SETTINGS):
        pass
    assert local.storage.list(".hoodie/.locks") == []


def test_who_died_stays_dead_when_somebody_else_is_given_the_same_time(local, time):
    """Its guard is what tells; its heartbeat alone would be believed for two minutes."""
    with run_heartbeat(local, time, SETTINGS):
        pass
    with pytest.raises(PreconditionFailed), run_heartbeat(local, time, SETTINGS):
        pass
    assert liveness(local, time, SETTINGS) is Liveness.DEAD


def _beat_until_told(root, time, ready, stop):
    state = new_state(storage=LocalStorage(root), env=World().host(), name="other")
    with run_heartbeat(state, time, SETTINGS):
        ready.set()
        stop.wait()


def _fork_while_beating(root, time, ready, stop, children):
    state = new_state(storage=LocalStorage(root), env=World().host(), name="other")
    with run_heartbeat(state, time, SETTINGS):
        child = os.fork()
        if not child:
            ready.set()  # by the child: it has let go of its parent's files
            stop.wait()
            os._exit(0)
        children.put(child)
        stop.wait()


def test_a_forked_child_does_not_keep_its_killed_parents_heartbeat_alive(tmp_path, env, time):
    context = multiprocessing.get_context("spawn")
    ready, stop, children = context.Event(), context.Event(), context.SimpleQueue()
    storage = LocalStorage(str(tmp_path / "t"))
    state = replace(new_state(env=env), storage=storage)
    parent = context.Process(target=_fork_while_beating, args=(str(tmp_path / "t"), time, ready, stop, children))
    parent.start()
    assert ready.wait(60)
    child = children.get()
    try:
        assert liveness(state, time, SETTINGS) is Liveness.ALIVE
        parent.kill()
        parent.join()
        os.kill(child, 0)  # it is there
        assert liveness(state, time, SETTINGS) is Liveness.DEAD
    finally:
        parent.kill()
        parent.join()
        os.kill(child, signal.SIGKILL)


def test_another_process_is_alive_until_it_is_killed(tmp_path, env, time):
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Event(), context.Event()
    process = context.Process(target=_beat_until_told, args=(str(tmp_path / "t"), time, ready, stop))
    process.start()
    try:
        assert ready.wait(60)
        storage = LocalStorage(str(tmp_path / "t"))
        model = new_state(env=env)
        state = type(model)(storage=storage, env=env, config=model.config, layout=model.layout)
        assert liveness(state, time, SETTINGS) is Liveness.ALIVE
        process.kill()
        process.join()
        assert liveness(state, time, SETTINGS) is Liveness.DEAD
        assert guard_path(time) in {status.path for status in storage.list(".hoodie/.locks")}
    finally:
        process.kill()
        process.join()


def test_a_beat_counts_from_when_it_was_sent(world, env, time):
    """Storage dates it by then at the earliest: others may take us for dead while a slow answer is on its way."""

    class Slow(MemoryStorage):
        """Answers late, and knows no locks of this host."""

        @property
        def traits(self):
            return replace(super().traits, has_guard=False)

        def put(self, path, data, mode=PutMode.OVERWRITE):
            super().put(path, data, mode)
            if mode is PutMode.OVERWRITE:
                world.now_ms += 50_000

    state, begun_s = new_state(storage=Slow(env=env), env=env), env.monotonic_s()
    with run_heartbeat(state, time, SETTINGS) as heartbeat:
        world.pass_ms(60_000)
        assert heartbeat.last_s == begun_s + 60
        world.now_ms = int((begun_s + 60) * 1000) + 120_000
        assert not heartbeat.is_expired()
        world.now_ms += 1
        assert heartbeat.is_expired()

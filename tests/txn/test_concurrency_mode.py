# ruff: noqa: PT012 - writes that end by an error inside are the subject

import logging

import pytest
from tests.new_states import new_state
from tests.txn.clocks import World
from tests.txn.writing import begun, committed, proposal_of, write

from pyhudi.errors import LockNotAcquired, NotBuilt, Unsupported
from pyhudi.storage.api import PutMode, StorageTraits
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.active import load_timeline, request
from pyhudi.timeline.clock import format_instant
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.view import completed_writes

MODE = "hoodie.write.concurrency.mode"
MANY = {MODE: "OPTIMISTIC_CONCURRENCY_CONTROL"}


class Honest(MemoryStorage):
    """An object store that keeps its promises."""

    has_cas = True
    has_atomic_create = True

    @property
    def traits(self):
        return StorageTraits(
            is_shared=True,
            is_picklable=False,
            has_atomic_create=self.has_atomic_create,
            has_cas=self.has_cas,
            has_guard=False,
        )


class Liar(Honest):
    """One that accepts conditions and ignores them."""

    def put(self, path, data, mode=PutMode.OVERWRITE):
        super().put(path, data, PutMode.OVERWRITE)

    def cas(self, path, data, version):
        self.put(path, data)
        return self.get_versioned(path)[1]


class Plain(Honest):
    """One that knows no conditions, as a plain Hadoop file system."""

    has_cas = False
    has_atomic_create = False

    def put(self, path, data, mode=PutMode.OVERWRITE):
        super().put(path, data, PutMode.OVERWRITE)


@pytest.fixture
def world():
    return World()


def state_on(kind, world):
    env = world.host()
    return new_state(storage=kind(env=env), env=env)


def test_an_honest_store_bears_several_writers(world):
    state = state_on(Honest, world)
    with begun(state, **MANY) as first, begun(state, **MANY) as second:
        for txn, group in ((first, "g1"), (second, "g2")):
            txn.start(None)
            txn.commit(proposal_of(write(txn, group)))


@pytest.mark.parametrize("kind", [Liar, Plain])
def test_a_store_that_keeps_no_conditions_lets_one_writer_write_and_warns(kind, world, caplog):
    state = state_on(kind, world)
    with caplog.at_level(logging.WARNING, "pyhudi.txn"):
        committed(state)
        committed(state, "g2")
    assert len(completed_writes(load_timeline(state))) == 2
    assert [text for text in caplog.messages if "only one writer at a time" in text] == caplog.messages
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("kind", [Liar, Plain])
def test_such_a_store_refuses_the_options_of_several_writers(kind, world):
    state = state_on(kind, world)
    with pytest.raises(Unsupported, match="cannot keep several writers apart") as caught:
        begun(state, **MANY)
    assert caught.value.values["reason"]
    assert load_timeline(state).instants == ()


@pytest.mark.parametrize("kind", [Liar, Plain])
def test_such_a_store_refuses_a_second_writer_while_the_first_works(kind, world):
    state = state_on(kind, world)
    with begun(state) as txn:
        txn.start(None)
        with pytest.raises(LockNotAcquired, match="one writer at a time"):
            begun(state)
        txn.commit(proposal_of(write(txn)))
    committed(state, "g2")


def test_such_a_store_lets_the_next_writer_in_when_the_first_is_dead(world):
    state = state_on(Liar, world)
    with pytest.raises(KeyboardInterrupt), begun(state) as txn:
        txn.start(None)
        raise KeyboardInterrupt
    with pytest.raises(LockNotAcquired):
        begun(state)
    world.pass_ms(120_001)
    committed(state)
    assert len(completed_writes(load_timeline(state))) == 1


def test_such_a_store_waits_for_a_foreign_writer(world):
    state = state_on(Liar, world)
    time = format_instant(world.now_ms, state.env.zone())
    request(state, Instant(requested_time=time, action=Action.COMMIT, state=State.REQUESTED))
    world.pass_ms(1_000)
    with pytest.raises(LockNotAcquired, match=time):
        begun(state)


def test_our_own_stores_are_not_asked():
    storage = MemoryStorage()
    committed(new_state(storage=storage))
    assert storage.list(".hoodie/.probe") == []


def test_a_write_that_blocks_nobody_is_refused_by_name_before_anything_is_written():
    state = new_state()
    with pytest.raises(NotBuilt, match="NON_BLOCKING_CONCURRENCY_CONTROL"):
        begun(state, **{MODE: "NON_BLOCKING_CONCURRENCY_CONTROL"})
    assert load_timeline(state).instants == ()

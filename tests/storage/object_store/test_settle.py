"""What became of a conditional put, for every order of replies and readings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixed_env import FixedEnv

from pyhudi.errors import FileMissing, PermissionDenied, PreconditionFailed, PutUnknown, StorageUnavailable
from pyhudi.storage.object_store.settle import ConditionalPut, settle

OURS = b"ours"


class World:
    """One path, and a network that loses things by a script."""

    def __init__(self, script: list[str], stored: bytes | None, version: str | None, ours: bytes = OURS) -> None:
        self.script = iter(script)
        self.stored = stored
        self.version = "1" if stored is not None else ""
        self.expected = version
        self.applied = 0
        self.ours = ours

    def send(self) -> str:
        step = next(self.script, "pass")
        if step == "lost request":
            raise StorageUnavailable("x")
        if (self.version or None) != self.expected:
            raise PreconditionFailed("x") if step == "pass" else StorageUnavailable("x")
        self.stored, self.version = self.ours, f"{self.version}+"
        self.applied += 1
        if step == "pass":
            return self.version
        raise PreconditionFailed("x") if step == "repeated" else StorageUnavailable("x")

    def read(self) -> tuple[bytes, str]:
        if next(self.script, "pass") == "lost request":
            raise StorageUnavailable("x")
        if self.stored is None:
            raise FileMissing("x")
        return self.stored, self.version

    def put(self) -> ConditionalPut:
        return ConditionalPut(path="p", data=self.ours, version=self.expected, send=self.send, read=self.read)


steps = st.lists(st.sampled_from(["pass", "lost request", "lost reply", "repeated"]), max_size=12)


@given(steps)
def test_a_free_name_is_won_exactly_once(script):
    world = World(script, None, None)
    assert settle(world.put(), FixedEnv(), 60) == world.version
    assert world.applied == 1


@given(steps, st.sampled_from([b"theirs", b""]))
def test_a_taken_name_is_never_won(script, theirs: bytes):
    world = World(script, theirs, None)
    with pytest.raises(PreconditionFailed):
        settle(world.put(), FixedEnv(), 60)
    assert world.applied == 0


@pytest.mark.parametrize("lost", ["lost reply", "lost request"])
def test_an_empty_file_that_is_there_after_an_unclear_reply_may_be_anybodys(lost: str):
    world = World([lost], None if lost == "lost reply" else b"", None, ours=b"")
    with pytest.raises(PutUnknown):
        settle(world.put(), FixedEnv(), 60)


def test_an_empty_file_that_a_store_refuses_to_create_is_somebody_elses():
    with pytest.raises(PreconditionFailed):
        settle(World([], b"", None, ours=b"").put(), FixedEnv(), 60)


@given(steps, st.sampled_from(["1", "0"]))
def test_a_swap_is_won_exactly_if_the_version_is_current(script, version: str):
    world = World(script, b"old", version)
    if version == "1":
        assert settle(world.put(), FixedEnv(), 60) == world.version
        assert world.applied == 1
    else:
        with pytest.raises(PreconditionFailed):
            settle(world.put(), FixedEnv(), 60)
        assert world.stored == b"old"


def test_silence_ends_as_unknown_at_the_deadline():
    env = FixedEnv()
    world = World(["lost request"] * 10_000, None, None)
    before_s = env.monotonic_s()
    with pytest.raises(PutUnknown):
        settle(world.put(), env, 60)
    assert 60 <= env.monotonic_s() - before_s < 65


def test_a_refusal_of_the_first_request_is_passed_on():
    def refuse() -> str:
        raise PermissionDenied("x")

    put = ConditionalPut(path="p", data=OURS, version=None, send=refuse, read=lambda: (OURS, "1"))
    with pytest.raises(PermissionDenied):
        settle(put, FixedEnv(), 60)


def test_swapping_what_is_gone_is_refused():
    with pytest.raises(PreconditionFailed, match="deleted"):
        settle(World(["lost reply"], None, "1").put(), FixedEnv(), 60)

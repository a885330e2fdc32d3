import pytest
from tests.txn.clocks import World

from pyhudi.errors import LockNotAcquired
from pyhudi.txn.locks.api import DRIFT_MS, TimedLease, require_lease


def lease(env, seconds=60):
    return TimedLease(env=env, owner="me", version="1", deadline_s=env.monotonic_s() + seconds)


@pytest.mark.parametrize(("passed_ms", "left_ms"), [(0, 59_500), (59_000, 500), (59_500, 0), (70_000, 0)])
def test_a_lease_is_trusted_for_less_than_others_respect_it(passed_ms, left_ms):
    world = World()
    held = lease(world.host())
    world.pass_ms(passed_ms)
    assert held.remaining_ms() == left_ms == max(0, 60_000 - passed_ms - DRIFT_MS)


def test_a_jump_of_the_wall_clock_does_not_stretch_it():
    world = World()
    env = world.host()
    held = lease(env)
    env.skew_ms = -3_600_000
    world.pass_ms(30_000)
    assert held.remaining_ms() == 29_500


def test_one_that_is_lost_holds_no_longer():
    held = lease(World().host())
    held.is_lost = True
    assert held.remaining_ms() == 0


class Lease:
    def __init__(self, remaining_ms):
        self._remaining_ms = remaining_ms

    def remaining_ms(self):
        return self._remaining_ms


@pytest.mark.parametrize(("remaining_ms", "is_enough"), [(None, True), (5_000, True), (4_999, False), (0, False)])
def test_a_lease_that_is_about_to_end_is_not_enough(remaining_ms, is_enough):
    if is_enough:
        require_lease(Lease(remaining_ms))
    else:
        with pytest.raises(LockNotAcquired):
            require_lease(Lease(remaining_ms))

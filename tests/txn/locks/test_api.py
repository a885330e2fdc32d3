import pytest
from tests.txn.clocks import World

from pyhudi.txn.locks.api import DRIFT_MS, TimedLease


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

import threading
from datetime import UTC, timedelta

from pyhudi.env import FixedEnv, SystemEnv


def test_a_fixed_world_moves_only_when_it_is_told_to():
    env = FixedEnv(1_000, tick_ms=5)
    assert [env.now_ms(), env.now_ms()] == [1_005, 1_010]
    assert env.monotonic_s() == env.monotonic_s() == 1.01
    env.sleep(2)
    assert env.now_ms() == 3_015
    env.set_now_ms(10)
    assert env.now_ms() == 15


def test_a_fixed_world_repeats_itself():
    one, other = FixedEnv(seed=7), FixedEnv(seed=7)
    assert [one.uuid(), one.random_bytes(8)] == [other.uuid(), other.random_bytes(8)]
    assert FixedEnv(seed=8).uuid() != FixedEnv(seed=7).uuid()
    assert one.zone() is UTC


def test_no_beat_runs_in_a_fixed_world():
    calls = []
    with FixedEnv().every(0.001, lambda: calls.append(1)):
        pass
    assert calls == []


def test_the_real_clock_tells_milliseconds_and_never_goes_back():
    env = SystemEnv()
    assert 1_700_000_000_000 < env.now_ms() < 4_000_000_000_000
    assert env.monotonic_s() <= env.monotonic_s()
    env.sleep(0)
    assert env.zone().utcoffset(None) is None or isinstance(env.zone().utcoffset(None), timedelta)


def test_real_ids_and_bytes_differ():
    env = SystemEnv()
    assert env.uuid() != env.uuid()
    assert env.uuid().version == 4
    assert len(env.random_bytes(16)) == 16
    assert env.random_bytes(16) != env.random_bytes(16)


def test_a_beat_runs_until_its_context_is_left():
    beaten = threading.Event()
    with SystemEnv().every(0.001, beaten.set):
        assert beaten.wait(10)
    assert not [thread for thread in threading.enumerate() if thread.name == "pyhudi-beat" and thread.is_alive()]

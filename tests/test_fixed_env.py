from datetime import UTC

from tests.fixed_env import FixedEnv


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
    assert [one.uuid(), one.nonce()] == [other.uuid(), other.nonce()]
    assert FixedEnv(seed=8).uuid() != FixedEnv(seed=7).uuid()
    assert one.zone() is UTC


def test_no_beat_runs_in_a_fixed_world():
    calls = []
    with FixedEnv().every(0.001, lambda: calls.append(1)):
        pass
    assert calls == []

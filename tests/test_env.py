import threading
import time
from datetime import timedelta

from pyhudi.env import SystemEnv, timed


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
    assert len(env.nonce()) == 16
    assert env.nonce() != env.nonce()


def test_a_beat_runs_until_its_context_is_left():
    beaten = threading.Event()
    with SystemEnv().every(0.001, beaten.set):
        assert beaten.wait(10)
    assert not [thread for thread in threading.enumerate() if thread.name == "pyhudi-beat" and thread.is_alive()]


def test_work_that_waits_takes_many_times_its_processor_time():
    result, times = timed(lambda: time.sleep(0.02) or "done")
    assert result == "done"
    assert times > 5

"""What every table lock owes, as one test class.

Subclass it, and give a `make` fixture: a function from the longest wait in ms to a new provider on the same table.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pyhudi.env import SystemEnv
from pyhudi.errors import LockNotAcquired


class QuickEnv(SystemEnv):
    """The real world, with short naps."""

    def sleep(self, seconds):
        super().sleep(min(seconds, 0.002))


class LockTests:
    """The contract of `pyhudi.txn.locks.LockProvider`."""

    @pytest.fixture
    def make(self):
        raise NotImplementedError

    def test_one_holder_at_a_time(self, make):
        inside, most, rounds = 0, 0, 5
        start = threading.Barrier(4)

        def work(_):
            nonlocal inside, most
            start.wait()
            for _ in range(rounds):
                with make(30_000).hold():
                    inside += 1
                    most = max(most, inside)
                    inside -= 1

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
        assert (inside, most) == (0, 1)

    def test_nothing_is_lost_under_the_lock(self, make):
        counter = {"value": 0}

        def add(_):
            with make(30_000).hold():
                seen = counter["value"]
                threading.Event().wait(0.001)
                counter["value"] = seen + 1

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(add, range(12)))
        assert counter["value"] == 12

    def test_who_waits_too_long_is_told(self, make):
        with make(1000).hold(), pytest.raises(LockNotAcquired), make(20).hold():
            pass

    def test_it_can_be_taken_again_once_it_is_released(self, make):
        for _ in range(3):
            with make(0).hold() as lease:
                assert lease.remaining_ms() is None or lease.remaining_ms() > 0

    def test_an_error_inside_releases_it(self, make):
        with pytest.raises(KeyError), make(0).hold():
            raise KeyError
        with make(0).hold():
            pass

    def test_it_says_what_it_is(self, make):
        assert make(0).name

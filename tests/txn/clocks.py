"""Clocks that tests move by hand, with beats that run when time passes them."""

import itertools
from contextlib import contextmanager

from tests.fixed_env import FixedEnv

_seeds = itertools.count(1)


class World:
    """Time that several hosts share."""

    def __init__(self, start_ms=1_767_225_600_000):
        self.now_ms = start_ms
        self.beats = []

    def pass_ms(self, ms):
        """Let time pass, running the beats that are due."""
        end = self.now_ms + ms
        while due := [beat for beat in self.beats if beat.next_ms <= end]:
            beat = min(due, key=lambda one: one.next_ms)
            self.now_ms = max(self.now_ms, beat.next_ms)
            beat.next_ms += beat.period_ms
            beat.run()
        self.now_ms = end

    def host(self, skew_ms=0):
        """Return a host whose wall clock is off by so much."""
        return HostEnv(self, skew_ms)


class HostEnv(FixedEnv):
    """One host: its own wall clock and ids; `is_frozen` stops its beats, as a stopped process would."""

    def __init__(self, world, skew_ms):
        super().__init__(seed=next(_seeds))
        self._world, self.skew_ms, self.is_frozen = world, skew_ms, False

    def now_ms(self):
        return self._world.now_ms + self.skew_ms

    def monotonic_s(self):
        return self._world.now_ms / 1000

    def sleep(self, seconds):
        self._world.pass_ms(int(seconds * 1000) or 1)

    @contextmanager
    def every(self, seconds, function):
        beat = _Beat(self, int(seconds * 1000), function)
        self._world.beats.append(beat)
        try:
            yield
        finally:
            self._world.beats.remove(beat)


class _Beat:
    def __init__(self, env, period_ms, function):
        self.env, self.period_ms, self.function = env, period_ms, function
        self.next_ms = env._world.now_ms + period_ms

    def run(self):
        if not self.env.is_frozen:
            self.function()

"""Where instants come from: rules by which the holder of the table lock issues a time later than all others.

`WallTimes` is for tables that Apache Hudi writes too, which takes its own clock's word and ignores the times of others:
never ahead of the clock, and the lock is kept until no clock can show the time again. `HybridTimes` is for pyhudi's
own writers: the clock where it is ahead of the timeline, the next millisecond where it is not. Start at `times_for`.

Spec: reliability 1.3 (W2, W11).
"""

from dataclasses import dataclass
from datetime import tzinfo
from typing import Final, Protocol

from pyhudi.env import Env
from pyhudi.errors import ClockBehindTimeline
from pyhudi.options import Settings, one_of, option
from pyhudi.state.model import TableState
from pyhudi.timeline.active import timeline_zone
from pyhudi.timeline.clock import format_instant, instant_ms, next_instant_time, wait_until_past
from pyhudi.timeline.instant import InstantTime
from pyhudi.txn.locks import lock_for
from pyhudi.txn.locks.guard import GuardLock

__all__ = ["HybridTimes", "Times", "WallTimes", "times_for"]

_WAIT: Final = "WAIT_TO_ADJUST_SKEW"
_HYBRID: Final = "HYBRID_CLOCK"
GENERATOR: Final = option(
    "hoodie.time.generator.type",
    "",
    f"How instants are issued: {_WAIT}, as Apache Hudi does, or {_HYBRID}, which may run 0.9 s ahead of the clock. "
    f"Empty: {_HYBRID} where only pyhudi knows the lock, else {_WAIT}.",
    parse=one_of("", _WAIT, _HYBRID),
)
SKEW_MS: Final = option(
    "hoodie.time.generator.max_expected_clock_skew_ms",
    200,
    "How far the clocks of this table's writers may be apart: so long a time that was issued is waited out under the "
    "lock, where the table declares a lock that Apache Hudi shares, or the option is given.",
)

_LEAD_MS: Final = 900
"""Less than others wait for their clock, so that no wait of theirs is too long for the times we issue."""
_LONGEST_WAIT_S: Final = 1.0


class Times(Protocol):
    """A source of instants. Both calls are made while the table lock is held."""

    def issue(self, newest: InstantTime | None) -> InstantTime:
        """Return a time later than the newest on the timeline.

        Raises: ClockBehindTimeline where the timeline is too far ahead of the clock.
        """
        ...

    def settle(self, issued: InstantTime) -> None:
        """Wait as long as the lock has to be kept for the sake of this time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WallTimes:
    """The clock's own time, waited out by the skew that clocks may have."""

    env: Env
    zone: tzinfo
    skew_ms: int = 0

    def issue(self, newest: InstantTime | None) -> InstantTime:
        """Wait for the clock to pass the timeline, then read it."""
        return next_instant_time(self.env, newest, self.zone)

    def settle(self, issued: InstantTime) -> None:
        """Wait until every clock is past the time, if none is behind ours by more than the skew."""
        ahead_ms = instant_ms(issued, self.zone) + self.skew_ms - self.env.now_ms()
        if self.skew_ms and 0 < ahead_ms <= self.skew_ms:
            self.env.sleep(ahead_ms / 1000)
        wait_until_past(self.env, issued, self.zone)


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridTimes:
    """The clock, or one more than the timeline; no writer waits for a millisecond to pass."""

    env: Env
    zone: tzinfo

    def issue(self, newest: InstantTime | None) -> InstantTime:
        """Return the clock's time, or the millisecond after the newest one."""
        waited_s = 0.0
        while True:
            now_ms = self.env.now_ms()
            at_ms = now_ms if newest is None else max(now_ms, instant_ms(newest, self.zone) + 1)
            issued = format_instant(at_ms, self.zone)
            if newest is not None and issued <= newest:  # the hour that autumn repeats
                return next_instant_time(self.env, newest, self.zone)
            behind_s = (at_ms - now_ms - _LEAD_MS) / 1000
            if behind_s <= 0:
                return issued
            if waited_s + behind_s > _LONGEST_WAIT_S:
                raise ClockBehindTimeline(
                    "this clock is behind the newest instant; check the clock, and the time zone if the timeline is "
                    "LOCAL",
                    now=format_instant(now_ms, self.zone),
                    newest=newest,
                )
            self.env.sleep(behind_s)
            waited_s += behind_s

    def settle(self, issued: InstantTime) -> None:
        """Return at once: the next holder of the lock reads the timeline."""


def times_for(state: TableState, settings: Settings) -> Times:
    """Choose how this table's instants are issued.

    Raises: as `lock_for`.
    """
    env, zone = state.env, timeline_zone(state)
    lock = lock_for(state, settings)
    wanted = settings.get(GENERATOR) or (_HYBRID if isinstance(lock, GuardLock) else _WAIT)
    if wanted == _HYBRID:
        return HybridTimes(env=env, zone=zone)
    is_told = bool(state.config.lock) or settings.has(SKEW_MS) or settings.has(GENERATOR)
    return WallTimes(env=env, zone=zone, skew_ms=settings.get(SKEW_MS) if is_told else 0)

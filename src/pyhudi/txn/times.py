"""Where instants come from: rules by which the holder of the table lock issues a time later than all others.

`WallTimes` is for tables that Apache Hudi writes too, which takes its own clock's word and ignores the times of others:
never ahead of the clock, and the lock is kept until no clock can show the time again. `HybridTimes` is for pyhudi's
own writers: the clock where it is ahead of the timeline, the next millisecond where it is not. `CounterTimes` asks a
counter outside the timeline, which gives no number twice even if two hold the lock. Start at `times_for`.

Spec: reliability 1.3 (W2, W11).
"""

from dataclasses import dataclass
from datetime import tzinfo
from typing import Final, Protocol

from pyhudi.env import Env
from pyhudi.errors import ClockBehindTimeline, CorruptData, FileMissing, PreconditionFailed, Unsupported
from pyhudi.options import Settings, one_of, option
from pyhudi.state.model import TableState
from pyhudi.storage.api import PutMode, Storage
from pyhudi.timeline.active import timeline_zone
from pyhudi.timeline.clock import format_instant, instant_ms, next_instant_time, wait_until_past
from pyhudi.timeline.instant import InstantTime
from pyhudi.txn.locks import lock_for
from pyhudi.txn.locks.guard import GuardLock

__all__ = ["COUNTER_PATH", "CounterTimes", "HybridTimes", "Times", "WallTimes", "times_for"]

_WAIT: Final = "WAIT_TO_ADJUST_SKEW"
_HYBRID: Final = "HYBRID_CLOCK"
_COUNTER: Final = "COUNTER"
GENERATOR: Final = option(
    "hoodie.time.generator.type",
    "",
    f"How instants are issued: {_WAIT}, as Apache Hudi does; {_HYBRID}, which may run 0.9 s ahead of the clock; "
    f"{_COUNTER}, from a file that gives no time twice. Empty: {_HYBRID} where only pyhudi knows the lock, else "
    f"{_WAIT}.",
    parse=one_of("", _WAIT, _HYBRID, _COUNTER),
)
SKEW_MS: Final = option(
    "hoodie.time.generator.max_expected_clock_skew_ms",
    200,
    "How far the clocks of this table's writers may be apart: so long a time that was issued is waited out under the "
    "lock, where the table declares a lock that Apache Hudi shares, or the option is given.",
)

COUNTER_PATH: Final = ".hoodie/.locks/pyhudi.counter"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterTimes:
    """Hybrid times, each confirmed by a counter that is only changed by compare-and-swap."""

    hybrid: HybridTimes
    storage: Storage
    path: str = COUNTER_PATH

    def issue(self, newest: InstantTime | None) -> InstantTime:
        """Count on from whatever is greatest: the clock, the timeline, the counter.

        Raises: CorruptData for a counter that is no time.
        """
        while True:
            last, version = self._read()
            issued = self.hybrid.issue(max(filter(None, (newest, last)), default=None))
            try:
                if version is None:
                    self.storage.put(self.path, issued.encode(), PutMode.CREATE)
                else:
                    self.storage.cas(self.path, issued.encode(), version)
            except PreconditionFailed:
                continue  # another writer drew; a create whose answer was lost costs one number
            return issued

    def settle(self, issued: InstantTime) -> None:
        """Return at once."""

    def _read(self) -> tuple[InstantTime | None, str | None]:
        try:
            data, version = self.storage.get_versioned(self.path)
        except FileMissing:
            return None, None
        text = data.decode("ascii", errors="replace")
        if len(text) != 17 or not text.isdigit():
            raise CorruptData("the counter of instants is no instant", path=self.path)
        return InstantTime(text), version


def times_for(state: TableState, settings: Settings) -> Times:
    """Choose how this table's instants are issued.

    Raises: as `lock_for`; Unsupported for a counter on a store without compare-and-swap.
    """
    env, zone = state.env, timeline_zone(state)
    lock = lock_for(state, settings)
    wanted = settings.get(GENERATOR) or (_HYBRID if isinstance(lock, GuardLock) else _WAIT)
    if wanted == _HYBRID:
        return HybridTimes(env=env, zone=zone)
    if wanted == _COUNTER:
        if not state.storage.traits.has_cas:
            raise Unsupported("a counter needs a store with compare-and-swap", storage=state.storage.url)
        return CounterTimes(hybrid=HybridTimes(env=env, zone=zone), storage=state.storage)
    is_told = bool(state.config.lock) or settings.has(SKEW_MS) or settings.has(GENERATOR)
    return WallTimes(env=env, zone=zone, skew_ms=settings.get(SKEW_MS) if is_told else 0)

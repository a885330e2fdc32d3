"""How protections are taken away: functions from what is there to what is put there instead.

They are told apart by what a writer then does wrong. `mutants` says where each is put. Start at `off`.
"""

import sys
from contextlib import nullcontext, suppress
from dataclasses import replace

import numpy as np

from pyhudi.errors import PreconditionFailed, PutUnknown, StorageUnavailable
from pyhudi.index.tag import IndexKind
from pyhudi.storage.api import PutMode
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.clock import format_instant
from pyhudi.timeline.instant import Action, State
from pyhudi.timeline.view import completed_writes, newest_time
from pyhudi.txn import group_locks
from pyhudi.txn.conflicts import Resolution
from pyhudi.txn.recovery import announce
from pyhudi.txn.times import times_for


def off(_):
    """Check nothing, do nothing."""
    return lambda *_, **__: None


def always(value):
    """Give the same answer whatever is asked."""
    return lambda _: lambda *_, **__: value


def off_in(*callers):
    """Check nothing where these functions ask."""

    def make(check):
        def chosen(*given, **more):
            return None if sys._getframe(1).f_code.co_name in callers else check(*given, **more)

        return chosen

    return make


def off_under(*callers):
    """Check nothing while one of these functions is at work."""

    def make(check):
        def chosen(*given, **more):
            frame = sys._getframe(1)
            while frame is not None and frame.f_code.co_name not in callers:
                frame = frame.f_back
            return check(*given, **more) if frame is None else None

        return chosen

    return make


def without(*left_out):
    return lambda found: found.difference(left_out)


class NoLock:
    """Held by everybody at once."""

    def hold(self):
        return nullcontext(NoLease())


class NoLease:
    def remaining_ms(self):
        return None


def lock_off_in(*callers):
    """Give no lock to these functions; to all where none is named."""

    def make(lock_for):
        def chosen(state, settings):
            caller = sys._getframe(1).f_code.co_name
            return lock_for(state, settings) if callers and caller not in callers else NoLock()

        return chosen

    return make


def footprint_with(**changed):
    return lambda footprint: lambda metadata: replace(footprint(metadata), **changed)


def footprint_without_replaced(footprint):
    return lambda metadata: footprint(replace(metadata, replaced=None))


def without_replacements(completed_after):
    return lambda *given: tuple(one for one in completed_after(*given) if one.action is not Action.REPLACECOMMIT)


def unanswered_is_anothers(_):
    """Take a pending file whose put got no answer for another writer's."""

    def created(state, path, data):
        try:
            state.storage.put(path, data, PutMode.CREATE)
        except PutUnknown as error:
            raise PreconditionFailed("the file was written by another writer", path=path) from error

    return created


def update_wins(_):
    """Take an updating row for the newer one, whatever its ordering value."""
    return lambda batch, rows, *_: np.ones(len(rows), dtype=bool)


def in_one_partition(footer_index):
    """Look a key up in its own partition only, also under a global index."""
    return lambda write: replace(footer_index(write), kind=IndexKind.BLOOM, is_global=False)


def by_file_id(rules_for):
    """Tell file groups apart by their ids, also where these have one bucket."""
    return lambda *given: replace(rules_for(*given), resolution=Resolution.SIMPLE)


def newest_only(_):
    """Take everything that was requested before the newest commit of a snapshot for seen in it."""
    return lambda timeline, seen: [
        one for one in completed_writes(timeline) if one.requested_time > max(seen, default="")
    ]


def begun_later_only(concurrent):
    """See only those who began after us; who began before and completed meanwhile is missed."""

    def found(txn, now):
        return {instant: what for instant, what in concurrent(txn, now).items() if instant > txn.time}

    return found


def snapshot_late(begin):
    def begun(state, *given, **more):
        txn = begin(state, *given, **more)
        txn.snapshot = load_timeline(state)
        return txn

    return begun


def drawing_early(lock_for):
    """Draw the completion time before a commit takes the lock."""

    def chosen(state, settings):
        if sys._getframe(1).f_code.co_name == "commit":
            state.env.drawn = times_for(state, settings).issue(newest_time(load_timeline(state)))
        return lock_for(state, settings)

    return chosen


def drawn_first(times_for):
    """Issue what was drawn early, then as ever."""

    def chosen(state, settings):
        times, drawn = times_for(state, settings), state.env.__dict__.pop("drawn", None)
        return times if drawn is None else _Drawn(times, [drawn])

    return chosen


class _Drawn:
    """Times of which the first were drawn before they were asked for."""

    def __init__(self, times, drawn):
        self._times = times
        self._drawn = drawn
        self.settle = times.settle

    def issue(self, newest):
        return self._drawn.pop() if self._drawn else self._times.issue(newest)


def clock_only(_):
    """Issue whatever the clock says, without a look at the timeline."""
    return lambda times, _: format_instant(times.env.now_ms(), times.zone)


def unpublished_looks_pending(find_instant):
    """Take a completed instant for one that can still be rolled back."""

    def found(*given):
        one = find_instant(*given)
        return None if one is None else replace(one, state=State.INFLIGHT, completion_time=None)

    return found


def as_unavailable(_):
    return lambda instant: StorageUnavailable("the store did not answer", instant=str(instant.requested_time))


def swap_is_put(_):
    def swap(storage, path, data, version):
        storage.put(path, data)
        return storage._run.disk.inode(path)

    return swap


def create_is_put(put):
    return lambda storage, path, data, mode=PutMode.OVERWRITE: put(storage, path, data)


def nothing_written(stored_status):
    return lambda *given: replace(stored_status(*given), path="")


def last_left_out(to_statuses):
    return lambda table: to_statuses(table)[:-1]


def others_may_be_later(_):
    """Save in place also beside those who began after us, and on top of whom readers would not see us."""
    return lambda time, overlaps: bool(overlaps) and not any(one.is_replaced or one.partitions for one in overlaps)


def first_revision(mend):
    return lambda **said: mend(**{**said, "revision": 0})


def one_token(_):
    return lambda bucket, plan_revision: "0-0-0"


def request_first(_):
    """Request, then beat."""

    def announced(state, wanted, plan, settings, alive):
        try:
            instant = announce.request(state, wanted, plan)
        except PreconditionFailed:
            return None
        return instant, alive.enter_context(announce.run_heartbeat(state, wanted.requested_time, settings))

    return announced


def in_any_order(_):
    """Take the locks of file groups in an order of one's own."""

    def hold(locks, state, settings, groups):
        is_backwards = state.env.random_bytes(1) > b"\x80"
        resolution = group_locks.resolution_for(settings, state.config)
        table_lock = group_locks.lock_for(state, settings)
        numbers = {group_locks.lock_number(group, resolution) for group in groups} - locks._numbers
        for number in sorted(numbers, reverse=is_backwards):
            locks._held.enter_context(group_locks.group_lock(state, settings, table_lock, number))
        locks._numbers |= numbers

    return hold


def kept_while_waiting(_):
    """Wait for a lock whose turn was earlier with the others in hand."""

    def hold(locks, state, settings, groups):
        resolution = group_locks.resolution_for(settings, state.config)
        table_lock = group_locks.lock_for(state, settings)
        missing = {group_locks.lock_number(group, resolution) for group in groups} - locks._numbers
        for number in sorted(missing):
            locks._held.enter_context(group_locks.group_lock(state, settings, table_lock, number))
        locks._numbers |= missing

    return hold


def without_claim(complete):
    """Publish beside the fence."""
    return lambda *given, claim=None: complete(*given)


def taken_slots_count(claim):
    """Take a slot that somebody else has for one's own."""

    def claimed(fence, said):
        with suppress(PreconditionFailed):
            claim(fence, said)

    return claimed


def unmarked(_):
    """Put no marker that tells of a file."""
    return lambda instant, path, kind: f".hoodie/.temp/{instant}/{path.rsplit('/', 1)[-1]}"


def forgetful(_):
    """Put no new key into a filter that is there."""
    return lambda bloom, keys: bloom


def narrow(key_values):
    """Say that a file ends with its first key."""
    return lambda **said: key_values(**{**said, "max_key": said["min_key"]})


def larger(stat):
    return lambda status: replace(stat(status), file_size_in_bytes=status.size_bytes + 1)

"""A model of copy-on-write commits, small enough to be searched whole.

Made from the description of the consistency-model series (a write is nine steps; the timeline is a directory; storage
may or may not refuse names that exist), not from any code. It tells which combinations of protections are needed, and
so what the real code must be found to do when one of them is taken away. Start at `Protection` and `search`.
"""

from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import NamedTuple

GONE = 0
"""What a delete writes."""


class Control(StrEnum):
    """How writers of one file group are kept apart."""

    NONE = "none"
    OPTIMISTIC = "optimistic"
    PESSIMISTIC = "pessimistic"


@dataclass(frozen=True, kw_only=True)
class Protection:
    """What stands between two writers."""

    control: Control
    is_monotonic: bool
    """No time is issued twice, and later ones are greater; else a writer may get any time."""
    has_absent: bool
    """A put of a name that exists fails; else it overwrites."""
    is_salted: bool
    """Names of instants and slices carry something that only this attempt has."""
    checks_keys: bool
    """A key that was mapped to another file group meanwhile is a conflict."""


@dataclass(frozen=True)
class Size:
    """How much is modelled."""

    groups: int
    keys: int
    values: int
    operations: int = 3
    writers: int = 2


class Writer(NamedTuple):
    """One writer between two of its steps; step 0 is idle."""

    step: int = 0
    ts: int = 0
    salt: int = 0
    key: int = 0
    value: int = 0
    group: int = -1
    is_insert: bool = False
    target_ts: int = 0
    rows: tuple = ()


class Slice(NamedTuple):
    """A stored file: the rows of one file group at one time."""

    group: int
    ts: int
    salt: int


class World(NamedTuple):
    """Everything there is."""

    issued: int
    requested: frozenset
    completed: tuple
    """(ts, salt) -> slice, as sorted pairs."""
    slices: tuple
    """slice -> rows, as sorted pairs; rows are (key, value) pairs."""
    index: tuple
    """Group of each key, -1 for none."""
    locks: tuple
    """(what, writer) pairs that are held."""
    writers: tuple
    told: tuple
    """(ts, key, value) of every write that its writer believes in, in order."""


@dataclass(frozen=True)
class Verdict:
    """What a search says."""

    wrong: str
    """Empty: nothing can go wrong in any order."""
    states: int


def search(protection, size):
    """Look at every state that can be reached; stop at the first that is wrong."""
    start = World(
        issued=0,
        requested=frozenset(),
        completed=(),
        slices=(),
        index=(-1,) * size.keys,
        locks=(),
        writers=(Writer(),) * size.writers,
        told=(),
    )
    seen, todo = {start}, [start]
    while todo:
        world = todo.pop()
        for after in _next(world, protection, size):
            if after in seen:
                continue
            seen.add(after)
            if (after.told, after.slices, after.completed) != (world.told, world.slices, world.completed):
                wrong = _wrong(after)
                if wrong:
                    return Verdict(wrong, len(seen))
            todo.append(after)
    return Verdict("", len(seen))


def _wrong(world):
    """Compare what readers see with what writers were told: at every time by times, and now by the last to be told."""
    by_time = sorted(world.told, key=lambda one: one[0])
    moments = [(ts, [one for one in by_time if one[0] <= ts]) for ts in sorted({one[0] for one in by_time})]
    if world.told:
        moments.append((by_time[-1][0], world.told))
    for now, told in moments:
        wanted = {key: value for _, key, value in told}
        wanted = sorted((key, value) for key, value in wanted.items() if value != GONE)
        rows = _read(world, now)
        if rows != wanted:
            return f"at {now} readers see {rows}, writers were told {wanted}"
    return ""


def _read(world, now):
    """Return the rows of every file group's newest slice that is completed and not later than now."""
    newest, stored = {}, dict(world.slices)
    for (ts, _), found in world.completed:
        if ts <= now and (found.group not in newest or newest[found.group].ts < ts):
            newest[found.group] = found
    return sorted(row for found in newest.values() for row in stored.get(found, ()))


def _next(world, protection, size):
    """Yield what can follow: every writer's next step, in every way it can be done."""
    for number, writer in enumerate(world.writers):
        yield from _STEPS[writer.step](world, number, writer, protection, size)


def _with(world, number, writer, **changed):
    writers = (*world.writers[:number], writer, *world.writers[number + 1 :])
    return world._replace(writers=writers, **changed)


def _idle(world, number, **changed):
    """End a write, well or not; what it holds is let go."""
    locks = tuple(one for one in world.locks if one[1] != number)
    return _with(world, number, Writer(), locks=locks, **changed)


def _obtain_time(world, number, _, protection, size):
    if world.issued == size.operations:
        return
    times = [world.issued + 1] if protection.is_monotonic else range(1, size.operations + 1)
    salt = world.issued + 1 if protection.is_salted else 0
    for ts, key, value in product(times, range(size.keys), range(size.values + 1)):
        begun = Writer(step=1, ts=ts, salt=salt, key=key, value=value)
        yield _with(world, number, begun, issued=world.issued + 1)


def _request(world, number, writer, protection, _):
    name = (writer.ts, writer.salt)
    if protection.has_absent and name in world.requested:
        yield _idle(world, number)
        return
    yield _with(world, number, writer._replace(step=2), requested=world.requested | {name})


def _look_up(world, number, writer, protection, size):
    known = world.index[writer.key]
    if known < 0 and writer.value == GONE:
        yield _idle(world, number)
        return
    step = 3 if protection.control is Control.PESSIMISTIC else 4
    for group in range(size.groups) if known < 0 else [known]:
        yield _with(world, number, writer._replace(step=step, group=group, is_insert=known < 0))


def _lock_group(world, number, writer, *_):
    if not any(what == writer.group for what, _ in world.locks):
        yield _with(world, number, writer._replace(step=4), locks=(*world.locks, (writer.group, number)))


def _read_target(world, number, writer, *_):
    touching = [(ts, found) for (ts, _), found in world.completed if found.group == writer.group]
    target_ts, found = max(touching, key=lambda one: one[0], default=(0, None))
    if target_ts >= writer.ts:
        yield _idle(world, number)
        return
    rows = dict(dict(world.slices).get(found, ()))
    rows.pop(writer.key, None)
    if writer.value != GONE:
        rows[writer.key] = writer.value
    merged = tuple(sorted(rows.items()))
    yield _with(world, number, writer._replace(step=5, target_ts=target_ts, rows=merged))


def _write_slice(world, number, writer, protection, _):
    slices, name = dict(world.slices), Slice(writer.group, writer.ts, writer.salt)
    if protection.has_absent and name in slices:
        yield _idle(world, number)
        return
    slices[name] = writer.rows
    step = 6 if protection.control is Control.OPTIMISTIC else 7
    yield _with(world, number, writer._replace(step=step, rows=()), slices=_sorted(slices))


def _lock_table(world, number, writer, *_):
    if not world.locks:
        yield _with(world, number, writer._replace(step=7), locks=(("table", number),))


def _update_index(world, number, writer, protection, _):
    known = world.index[writer.key]
    if protection.checks_keys and writer.is_insert and known not in {-1, writer.group}:
        yield _idle(world, number)
        return
    index = world.index
    if writer.is_insert:
        index = (*index[: writer.key], writer.group, *index[writer.key + 1 :])
    step = 8 if protection.control is Control.OPTIMISTIC else 9
    yield _with(world, number, writer._replace(step=step), index=index)


def _check(world, number, writer, *_):
    if any(found.group == writer.group and ts > writer.target_ts for (ts, _), found in world.completed):
        yield _idle(world, number)
        return
    yield _with(world, number, writer._replace(step=9))


def _complete(world, number, writer, protection, _):
    completed, name = dict(world.completed), (writer.ts, writer.salt)
    if protection.has_absent and name in completed:
        yield _idle(world, number)
        return
    completed[name] = Slice(writer.group, writer.ts, writer.salt)
    told = (*world.told, (writer.ts, writer.key, writer.value))
    yield _idle(world, number, completed=_sorted(completed), told=told)


def _sorted(pairs):
    return tuple(sorted(pairs.items()))


_STEPS = (
    _obtain_time,
    _request,
    _look_up,
    _lock_group,
    _read_target,
    _write_slice,
    _lock_table,
    _update_index,
    _check,
    _complete,
)

"""The invariants, each by its number: what must hold of every run, whatever was done and whatever befell it.

Watchers look while a run goes on; the rest is judged when everybody has stopped, once for every end. Metadata table,
indexes, change data, table services and savepoints (I11, I12, I15, I16, I17) have nothing to judge before they are
built. Start at `judged`.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from tests.building import trip
from tests.simulation.explorer.scenario import ONE_ATTEMPT, TOKEN
from tests.simulation.world import DEAD_MS, OPTIONS, World, require_clean

from pyhudi.actions.rollback import recover
from pyhudi.errors import HudiError
from pyhudi.options import Settings
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.codec import decode_commit
from pyhudi.timeline.instant import Action, parse_name

NEXT = ("next", "n")
_TIMELINE = ".hoodie/"


# --- while a run goes on


class Watcher:
    """Looks at every write the moment it was applied."""

    def __init__(self, play):
        self._play = play
        self._begun = play.run.disk.start_ms
        self._completed = dict(_completed(play.run.disk))
        self._named = {path for data in self._completed.values() for path in _paths(play, data)}

    def __call__(self, run, actor, operation):
        if operation.path.startswith(_TIMELINE):
            self._look_at_timeline(run, actor, operation)
        missing = [path for path in self._named if path not in run.disk.files]
        if missing:
            _blame(run, "I8", f"{actor.name} removed {missing[0]}, which a commit names, by {operation}")
            self._named -= set(missing)

    def _look_at_timeline(self, run, actor, operation):
        now = dict(_completed(run.disk))
        for path in self._completed.keys() - now.keys():
            _blame(run, "I18", f"{actor.name} took the completed instant {path} away by {operation}")
        for path in now.keys() & self._completed.keys():
            if now[path] != self._completed[path]:
                _blame(run, "I1", f"{actor.name} replaced the completed instant {path} by {operation}")
        for path in sorted(now.keys() - self._completed.keys()):
            self._look_at_new(run, actor, path, now[path])
        self._completed = now

    def _look_at_new(self, run, actor, path, data):
        new = parse_name(path.rsplit("/", 1)[-1])
        others = [parse_name(known.rsplit("/", 1)[-1]) for known in self._completed]
        if new.action is Action.ROLLBACK and may_repeat_rollbacks(self._play.scenario):
            return
        if new.requested_time in {one.requested_time for one in others}:
            _blame(run, "I10", f"{actor.name} completed a second instant of the time {new.requested_time}")
        times = [one.completion_time for one in others if one.completion_time]
        if new.completion_time and times and new.completion_time <= max(times):
            _blame(run, "I10", f"{actor.name} completed {path}, not later than what was visible before")
        if new.completion_time and new.completion_time <= new.requested_time:
            _blame(run, "I10", f"{actor.name} completed {path} before it was requested")
        paths = set(_paths(self._play, data))
        missing = [name for name in paths if name not in run.disk.files]
        if missing:
            _blame(run, "I20", f"{actor.name} completed {path}, which names {missing[0]}: no such file")
        self._named |= paths - set(missing)


def _completed(disk):
    for path, stored in disk.files.items():
        if path.startswith(_TIMELINE) and path.rpartition("/")[0] in {".hoodie", ".hoodie/timeline"}:
            instant = parse_name(path.rsplit("/", 1)[-1])
            if instant is not None and instant.is_completed:
                yield path, stored.data


def _paths(play, data):
    try:
        metadata = decode_commit(data, "completed")
    except HudiError:
        return []
    return [stat.path for stats in metadata.stats.values() for stat in stats if stat.path]


def _blame(run, invariant, text):
    run.violations.append(f"{invariant}: {text}")


# --- when everybody has stopped


@dataclass(frozen=True)
class End:
    """How a run ended: the table at rest, and what was told to whom."""

    play: object
    world: World

    @property
    def commits(self):
        """Give (instant, token) of completed writes since the beginning, in the order in which they are read."""
        state = self.world.table().state
        timeline = load_timeline(state)
        begun = {one.requested_time for one in load_timeline(self.play.world.world.table().state).completed.values()}
        found = []
        for one in timeline.completed.values():
            if one.requested_time in begun or one.action not in {"commit", "replacecommit"}:
                continue
            token = (read_commit_metadata(state, one).extra or {}).get(TOKEN, "")
            found.append((timeline.point(one), one, token))
        return [(one, token) for _, one, token in sorted(found, key=lambda each: each[0])]


def judged(play):
    """Give what is wrong with a run that is over: texts that begin with the invariant's number."""
    end = End(play, _at_rest(play.run.disk))
    found = list(play.run.violations)
    for check in CHECKS:
        try:
            found += [f"{check.__name__.split('_')[0].upper()}: {text}" for text in check(end)]
        except (HudiError, AssertionError) as error:
            found.append(f"{check.__name__.split('_')[0].upper()}: {type(error).__name__}: {error}")
    return found


def i3_the_table_is_what_committed_writes_made_one_after_the_other(end):
    """Also I4, no lost update, and I5, no duplicate key: both show as rows that differ."""
    if not end.play.scenario.is_serializable:
        return
    rows = expected(end)[-1]
    found = end.world.rows()
    if found != rows:
        yield f"rows are {_difference(found, rows)}"


def i4_no_call_is_committed_twice(end):
    for token, times in Counter(token for _, token in end.commits).items():
        if times > 1:
            yield f"{token} is committed {times} times"


def i6_what_was_acknowledged_is_there(end):
    committed = {token: one.requested_time for one, token in end.commits}
    for outcome in end.play.outcomes:
        if outcome.result == "ok" and outcome.instant and committed.get(outcome.token) != outcome.instant:
            yield f"{outcome.token} ({outcome.verb.about}) was acknowledged and is not there"


def i7_what_failed_is_not_there(end):
    committed = {token for _, token in end.commits}
    for outcome in end.play.outcomes:
        if outcome.result not in {"ok", "died", "CommitUnknown"} and outcome.token in committed:
            yield f"{outcome.token} ({outcome.verb.about}) raised {outcome.result} and is committed"


def i2_a_reader_sees_one_moment(end):
    moments = [tuple(sorted((key, city, fare) for (key, city), fare in rows.items())) for rows in expected(end)]
    for token, first, second in end.play.seen:
        if first != second:
            yield f"{token} read {first}, then {second}"
        if end.play.scenario.is_serializable and first not in moments:
            yield f"{token} read {first}, which the table never was"


def i13_the_past_stays(end):
    if end.play.scenario.version == 6 or not end.play.scenario.is_serializable:
        return
    for (one, _), rows in zip(end.commits, expected(end)[1:], strict=True):
        scan = end.world.table().scan(["uuid", "city", "fare"], as_of=one.completion_time)
        found = {(row["uuid"], row["city"]): row["fare"] for row in scan.to_arrow().to_pylist()}
        if found != rows:
            yield f"as of {one.completion_time} rows are {_difference(found, rows)}"


def i14_changes_miss_nothing(end):
    if end.play.scenario.version == 6 or len(end.commits) < 2:
        return
    table = end.world.table()
    points = [one.completion_time for one, _ in end.commits]
    whole = _changed(table, points[0], points[-1])
    parts = [_changed(table, after, until) for after, until in pairwise(points)]
    if not whole <= set().union(*parts):
        yield f"(first, last] changed {whole}, the parts only {parts}"


def i9_the_next_writer_puts_the_table_right(end):
    """Recovery twice is recovery once; after it nothing pending, stray or missing is left."""
    later = end.world.copy(DEAD_MS)
    before = later.rows()
    state = later.table().state
    recover(state, load_timeline(state), Settings())
    once = later.files()
    recover(state, load_timeline(state), Settings())
    if later.files() != once:
        yield f"the second recovery changed {sorted(later.files().keys() ^ once.keys())}"
    later.table().upsert([trip(*NEXT, fare=1.0)], options={**OPTIONS, **ONE_ATTEMPT})
    if later.rows() != {**before, NEXT: 1.0}:
        yield f"after the next write rows are {_difference(later.rows(), {**before, NEXT: 1.0})}"
    require_clean(later.table(), may_repeat_rollbacks=may_repeat_rollbacks(end.play.scenario))


def may_repeat_rollbacks(scenario):
    """Tell whether two may hold the lock at once, so that both finish one rollback."""
    return any(event.startswith("expire") for event in scenario.events)


def l1_somebody_wins(end):
    """Where nothing befell anybody, nobody waits for ever, and of writers that conflict one commits."""
    if len(end.play.scenario.events) > len(end.play.run.events) and end.play.run.budget < end.play.scenario.budget:
        return
    writers = [outcome for outcome in end.play.outcomes if not outcome.verb.is_read]
    if writers and not any(outcome.result == "ok" for outcome in writers):
        yield f"nobody committed: {[(outcome.token, outcome.result) for outcome in writers]}"
    is_rolled_back = any(outcome.verb.means is None and not outcome.verb.is_read for outcome in end.play.outcomes)
    killed = [outcome.token for outcome in end.play.outcomes if outcome.result == "HeartbeatExpired"]
    if killed and not is_rolled_back:
        yield f"{killed} was alive and taken for dead"
    stuck = [outcome.token for outcome in end.play.outcomes if outcome.result == "LockNotAcquired"]
    if stuck:
        yield f"{stuck} waited for a lock that was never free"


CHECKS = (
    i2_a_reader_sees_one_moment,
    i3_the_table_is_what_committed_writes_made_one_after_the_other,
    i4_no_call_is_committed_twice,
    i6_what_was_acknowledged_is_there,
    i7_what_failed_is_not_there,
    i9_the_next_writer_puts_the_table_right,
    i13_the_past_stays,
    i14_changes_miss_nothing,
    l1_somebody_wins,
)


def expected(end):
    """Give the rows after each committed write, from the beginning on, as a dictionary would have them."""
    meanings = {
        f"{name}/{number}": verb.means
        for name, verbs in end.play.scenario.actors.items()
        for number, verb in enumerate(verbs)
    }
    rows = [end.play.world.rows()]
    for _, token in end.commits:
        rows.append(meanings[token](rows[-1]))
    return rows


def _at_rest(disk):
    world = World(disk.storage, disk.clock)
    return world.copy()


def _changed(table, after, until):
    found = table.changes(after, until, columns=["uuid", "city"]).to_arrow().to_pylist()
    return {(row["uuid"], row["city"]) for row in found}


def _difference(found, wanted):
    missing = {place: wanted[place] for place in wanted.keys() - found.keys()}
    extra = {place: found[place] for place in found.keys() - wanted.keys()}
    wrong = {
        place: (found[place], wanted[place]) for place in found.keys() & wanted.keys() if found[place] != wanted[place]
    }
    return f"missing {missing}, extra {extra}, wrong {wrong} (found, expected)"

"""What a table promises, as a dictionary: each verb in a few lines of plain Python.

A row is at a place: its partition path and its key. Where a promise leaves two answers open, as when a row comes to a
log behind a delete with a greater ordering value, both are written down as a doubt; what the table is first seen to
say settles it, and it must stay with that. Start at `Model`.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
from tests.lives.change_logs import PLACE, place_of
from tests.lives.rows import ADDED, WIDENED, Row, in_java, schema_of
from tests.lives.setting import Setting

Key = tuple[object, ...]
Place = tuple[str, Key]
Order = tuple[Any, ...]
"""Ordering values as they compare; none is below all."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A row, and the number of the write it came by."""

    row: Row
    number: int


Answers = tuple[Stored | None, ...]
_MOST_MET = 7
"""Of so many rows all ways are tried in which they may meet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a write says it did; None where that is not promised."""

    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None


@dataclass(slots=True, kw_only=True)
class Moment:
    """What the table showed when a commit was completed."""

    instant: str
    completion: str
    number: int
    rows: dict[Place, Stored]
    graves: dict[Place, Order]
    hidden: dict[Place, tuple[Stored, ...]]
    beaten: dict[Place, Answers]
    met: dict[Place, tuple[Row, ...]]
    schema: pa.Schema
    may_be_expired: bool = False
    is_unknown: bool = False
    """What was there was never seen: a write of version 6 that another one overtook."""


@dataclass(slots=True)
class Model:
    """What a table should show."""

    setting: Setting
    rows: dict[Place, Stored] = field(default_factory=dict)
    graves: dict[Place, Order] = field(default_factory=dict)
    """The ordering values of what deletes took that may still lie in logs."""
    hidden: dict[Place, tuple[Stored, ...]] = field(default_factory=dict)
    """Rows out of sight behind deletes with greater ordering values, until a compaction; oldest first."""
    beaten: dict[Place, Answers] = field(default_factory=dict)
    """Rows out of sight behind an older one with a greater ordering value, oldest first, which a compaction may part
    them from; None: a delete.
    """
    met: dict[Place, tuple[Row, ...]] = field(default_factory=dict)
    """Rows of which each place was made by filling, oldest first, since there were no logs."""
    doubts: dict[Place, Answers] = field(default_factory=dict)
    schema: pa.Schema = field(init=False)
    number: int = 0
    """Of the write that is under way."""
    lost: list[tuple[int, Place]] = field(default_factory=list)
    """Rows that lost to what was there, by write: `changes` of logs may show them."""
    written: dict[Place, list[Row]] = field(default_factory=dict)
    """Every row that was ever at a place: what base files may hold."""
    moments: list[Moment] = field(default_factory=list)
    savepoints: set[str] = field(default_factory=set)
    settled_from: int = 0
    """Moments before this one are what they were when doubts arose."""
    is_compact: bool = True
    """No logs are left: what base files hold is what there is."""

    def __post_init__(self) -> None:
        """Begin with the columns that the table is made with."""
        self.schema = schema_of(self.setting.columns)

    def copied(self) -> "Model":
        """Return the same apart from this one."""
        copied = copy(self)
        copied.rows, copied.graves, copied.doubts = dict(self.rows), dict(self.graves), dict(self.doubts)
        copied.hidden, copied.beaten, copied.met = dict(self.hidden), dict(self.beaten), dict(self.met)
        copied.moments = [replace(one) for one in self.moments]
        copied.savepoints, copied.lost = set(self.savepoints), list(self.lost)
        copied.written = {place: list(rows) for place, rows in self.written.items()}
        return copied

    # --- what columns there are

    @property
    def has_added(self) -> bool:
        """Return whether the table has the column that a life may add."""
        return ADDED.name in self.schema.names

    def add_column(self) -> None:
        """The table has that column from now on."""
        self.schema = self.schema if self.has_added else self.schema.append(ADDED)

    def widen(self, kind: pa.DataType) -> None:
        """Its type becomes a wider one; what is wider already stays."""
        if self.may_widen(kind):
            at = self.schema.get_field_index(ADDED.name)
            self.schema = self.schema.set(at, ADDED.with_type(kind))

    def may_widen(self, kind: pa.DataType) -> bool:
        """Return whether its type is none that is wider."""
        kinds = [*WIDENED]
        return kinds.index(kind) >= kinds.index(self.schema.field(ADDED.name).type)

    def is_whole(self, value: float) -> bool:
        """Return whether a float is taken for a value of its type: whole, and of a size that has all digits."""
        most = 2**31 if self.schema.field(ADDED.name).type == pa.int32() else 2**53
        return float(value).is_integer() and -most <= value < most

    # --- what writes promise

    def upsert(self, rows: Sequence[Row]) -> Counts:
        """Each key's newest row meets the stored one."""
        newest = self.one_a_place(rows)
        is_new = [not self.found(row) and not self.setting.erases(row) for row in newest]
        for row in newest:
            self._put(row)
        is_exact = not self.setting.is_logged
        return Counts(inserted=sum(is_new) if is_exact and not self.setting.is_global else None)

    def insert(self, rows: Sequence[Row], *, drops: bool = False) -> Counts:
        """Rows of keys that are not stored; others are left out where duplicates are dropped, and so are deletes."""
        given = self.one_a_place(rows) if drops else rows
        fresh = [row for row in given if not (self.found(row) or self.setting.erases(row))]
        for row in fresh:
            self._put(row)
        return Counts(inserted=len(fresh), updated=0, deleted=0)

    def delete(self, places: Iterable[Place], order: Order = ()) -> Counts:
        """Rows go, whatever their ordering value, and are never seen again."""
        gone = [place for place in places if place in self.rows]
        for place in gone:
            self._bury(place, order)
        return Counts(inserted=0, updated=0, deleted=len(gone))

    def update(self, changes: Callable[[Row], Row], where: Callable[[Row], bool]) -> Counts:
        """Rows change, whatever their ordering value."""
        met = [place for place, stored in self.rows.items() if where(stored.row)]
        kept = [self.rewrite(place, changes(self.rows[place].row)) for place in met]
        return Counts(inserted=0, updated=kept.count(True), deleted=kept.count(False))

    def rewrite(self, place: Place, row: Row) -> bool:
        """A row becomes another, whatever their ordering values; or goes, where that says it is a delete."""
        is_kept = not self.setting.erases(row)
        if is_kept:
            self._set(place, row)
        else:
            self._bury(place)
        return is_kept

    def force(self, row: Row) -> bool:
        """A row of a key that is not stored comes, whatever its ordering value; not where it says it is a delete."""
        is_kept = not self.setting.erases(row)
        if is_kept:
            self._set(self.place(row), row)
        return is_kept

    def replace_partitions(self, paths: Iterable[str], rows: Sequence[Row] = ()) -> Counts:
        """What is in these partitions goes, with its logs; the rows come."""
        gone = set(paths)
        self.rows = {place: stored for place, stored in self.rows.items() if place[0] not in gone}
        self.graves = {place: ts for place, ts in self.graves.items() if place[0] not in gone}
        self.hidden = {place: stored for place, stored in self.hidden.items() if place[0] not in gone}
        self.beaten = {place: stored for place, stored in self.beaten.items() if place[0] not in gone}
        for row in rows:
            if not self.setting.erases(row):
                self._set(self.place(row), row)
        return Counts()

    # --- what rows meet

    def place(self, row: Row) -> Place:
        """Return where a row belongs by its own columns."""
        return self.setting.path_of(row), self.setting.key_of(row)

    def found(self, row: Row) -> list[Place]:
        """Return where the key of a row is stored, as the index looks for it."""
        if not self.setting.is_global:
            return [place for place in (self.place(row),) if place in self.rows]
        return [place for place in self.rows if place[1] == self.setting.key_of(row)]

    def is_free(self, row: Row) -> bool:
        """Return whether no row of a key is there, also none that a delete hides, where the index looks for it."""
        return not self.found(row) and self.place(row) not in self.hidden

    def places(self, keys: Iterable[Key]) -> list[Place]:
        """Return where these keys are stored, in all partitions."""
        wanted = set(keys)
        return [place for place in self.rows if place[1] in wanted]

    def one_a_place(self, rows: Sequence[Row]) -> list[Row]:
        """Return the newest row of each key: the greatest ordering value, of equal ones the last."""
        newest: dict[object, Row] = {}
        for row in rows:
            where = self.setting.key_of(row) if self.setting.is_global else self.place(row)
            if where not in newest:
                newest[where] = row
            else:
                newest[where] = self._merged(newest[where], row, is_given=True)
        return list(newest.values())

    def _merged(self, old: Row, new: Row, *, is_given: bool = False) -> Row:
        """Return what becomes of two rows of a key that meet by ordering value; of one write, or not."""
        if self.setting.adds:
            return {**new, "v": old["v"] + new["v"]}
        order = self._order_given if is_given else self.order
        winner, loser = (new, old) if order(new) >= order(old) else (old, new)
        fills = self.setting.fills_given if is_given else self.setting.fills
        if not fills or self.setting.erases(new) or self.setting.erases(old):
            return winner
        return {
            name: loser.get(name) if self.setting.is_unset(winner.get(name)) else winner.get(name)
            for name in {**loser, **winner}
        }

    def order(self, row: Row) -> Order:
        """Return by what rows of a key are ordered."""
        return tuple(place_of(row[name]) if name == PLACE else in_java(row[name]) for name in self.setting.ordering)

    def _order_given(self, row: Row) -> Order:
        """Return the same of rows of one write, where places in a binary log compare as texts."""
        return tuple(in_java(row[name]) for name in self.setting.ordering)

    def _erase(self, row: Row) -> None:
        """Let a row that is a delete meet what is stored of its key; in a log those meet it that come later.

        At version 6 it meets the rows of a log by ordering value, and deletes what is in a base file.
        """
        order, is_early = self.order(row), self.setting.is_logged and self.setting.version == 6
        for stored in self.found(row):
            old = self.rows[stored]
            is_moved = self.setting.moves and stored != self.place(row) and not self.setting.is_event_time
            if is_moved or order >= self.order(old.row) or not (is_early or self.setting.ranks_deletes):
                self._bury(stored, order)
            elif is_early:
                self.doubts[stored] = (old, None)
        if self.setting.is_logged:
            place = self.place(row)
            self.graves[place] = max(order, self.graves.get(place, ()))

    def _put(self, row: Row) -> None:
        """Let a row meet what is stored of its key."""
        if self.setting.erases(row):
            self._erase(row)
            return
        place, found = self.place(row), self.found(row)
        if not found:
            self._put_new(place, row)
            return
        [stored] = found
        if not self.setting.moves:
            place = stored
        old = self.rows[stored]
        if self.setting.combines:
            self._combine(place, old.row, row)
        elif self.setting.is_event_time and self.order(row) < self.order(old.row):
            self._lose(stored, row)
        elif place != stored:
            self._bury(stored)
            self._put_new(place, row)
        elif self.setting.keeps_ties and self.order(row) == self.order(old.row):
            if self._is_open_in_logs():
                self.doubts[place] = (old, self._stored(place, row))
            else:
                self._lose(place, row)
        elif self._is_open_in_logs() and self.order(row) < self.order(old.row):
            self.doubts[place] = (old, self._stored(place, row))
        else:
            self._set(place, row)

    def _combine(self, place: Place, old: Row, row: Row) -> None:
        """Let two rows become one; in logs those that fill an older row may meet each other first."""
        met = (*self.met.get(place, (old,)), row)
        self._set(place, self._merged(old, row))
        if self.setting.fills and self.setting.is_event_time and self.setting.is_logged:
            self.met[place] = met
            if others := self._folds(place):
                self.doubts[place] = (self.rows[place], *others)

    def _folds(self, place: Place) -> tuple[Stored, ...]:
        """Return what else the rows of a place become, where neighbours among them are put together first."""

        def meet(done: Row, late: Row | None) -> Row:
            return done if late is None else self._merged(done, late)

        head, *rest = self.met[place][-_MOST_MET:]
        ways: list[tuple[Row, Row | None]] = [(head, None)]
        """What there is, and what meets it later as one."""
        for row in rest:
            joined = [(done, row if late is None else self._merged(late, row)) for done, late in ways]
            ways = [*joined, *((meet(done, late), row) for done, late in ways)]
        found = [meet(*way) for way in ways]
        stored = self.rows[place].row
        different = {repr(one): one for one in found if repr(one) != repr(stored)}
        return tuple(Stored(one, self.number) for one in different.values())

    def _put_new(self, place: Place, row: Row) -> None:
        if self.setting.ranks_deletes and self.order(row) < self.graves.get(place, ()):
            self.doubts[place] = (None, self._stored(place, row))
        else:
            self._set(place, row)

    def _is_open_in_logs(self) -> bool:
        """At version 6 payload classes compare the rows of a log by ordering value, in commit-time order too."""
        return self.setting.is_logged and self.setting.version == 6 and bool(self.setting.ordering)

    def _set(self, place: Place, row: Row) -> None:
        self.met.pop(place, None)
        self.hidden.pop(place, None)
        self.beaten.pop(place, None)
        self.rows[place] = self._stored(place, row)

    def _stored(self, place: Place, row: Row) -> Stored:
        row = {name: value for name, value in row.items() if name in self.schema.names}
        self.written.setdefault(place, []).append(row)
        return Stored(row, self.number)

    def _lose(self, place: Place, row: Row) -> None:
        self.written.setdefault(place, []).append(row)
        self.lost.append((self.number, place))

    def _bury(self, place: Place, order: Order = ()) -> None:
        gone = self.rows.pop(place)
        self.beaten.pop(place, None)
        if self.setting.is_logged:
            self.graves[place] = max(self.order(gone.row), order, self.graves.get(place, ()))

    def settle(self, place: Place, said: Stored | None) -> None:
        """Take what the table says where two answers were open."""
        answers, beaten = self.doubts.pop(place), self.beaten.get(place, ())
        late = tuple(one for one in answers[1:] if not any(one is other for other in beaten))
        if not late and said is not answers[0]:
            self._part_in_the_past(place, answers[0], said)
        if said is None and answers[0] is not None:
            self._bury(place)
        elif said is None:
            self.rows.pop(place, None)
            [hidden] = [one for one in answers[1:2] if one is not None]
            if hidden not in self._behind(place):
                self.hidden[place] = (*self.hidden.get(place, ()), hidden)
        else:
            self.rows[place] = said
            self.hidden.pop(place, None)
            if said is answers[0] and self._is_open_in_logs():
                self.beaten[place] = (*beaten, *late)
        self.lost += [(one.number, place) for one in answers if one is not None and one is not said]
        for moment in self.moments[self.settled_from :]:
            if moment.number == self.number:
                moment.rows, moment.graves = dict(self.rows), dict(self.graves)
                moment.hidden, moment.beaten = dict(self.hidden), dict(self.beaten)

    def _part_in_the_past(self, place: Place, old: Stored | None, said: Stored | None) -> None:
        """A compaction of version 6 comes where it was planned, also before moments that were seen already."""
        for moment in self.moments:
            if moment.rows.get(place) is not old or (said is not None and moment.number < said.number):
                continue
            if said is None:
                moment.is_unknown = True
            else:
                moment.rows = {**moment.rows, place: said}

    def _behind(self, place: Place) -> tuple[Stored, ...]:
        """Return what a compaction that takes a delete may show: the rows that came after it was planned, as one."""
        shown: list[Stored] = []
        for one in reversed(self.hidden.get(place, ())):
            merged = self._merged(one.row, shown[-1].row) if shown else one.row
            shown.append(one if merged is one.row else Stored(merged, shown[-1].number))
        return tuple(reversed(shown))

    def compact(self) -> None:
        """A compaction may have taken deletes from before the rows that they kept out of sight.

        What was committed before it, by another writer in the same step, does not show them. What that one left open
        is not known any more. At version 6 it comes where it was planned: what a past moment shows of a row that others
        have replaced since is not known either.
        """
        if self.setting.version == 6:
            for moment in self.moments:
                parted = {*moment.beaten, *moment.hidden}
                moment.is_unknown |= any(self.rows.get(one) is not moment.rows.get(one) for one in parted)
        else:
            for moment in self.moments[self.settled_from :] if self.doubts else ():
                moment.is_unknown |= moment.number == self.number
            self.settled_from = len(self.moments)
        for place in self.hidden:
            if place not in self.rows:
                self.doubts.setdefault(place, (None, *self._behind(place)))
        for place in self.met.keys() & self.rows.keys():
            if others := self._folds(place):
                self.doubts.setdefault(place, (self.rows[place], *others))
        for place, beaten in self.beaten.items():
            if place in self.rows:
                self.doubts.setdefault(place, (self.rows[place], *beaten))

    def compact_all(self) -> None:
        """No logs are left, and no deletes in them."""
        self.is_compact = True
        self.met.clear()
        self.graves.clear()
        self.beaten = {place: stored for place, stored in self.beaten.items() if place in self.doubts}
        self.hidden = {place: stored for place, stored in self.hidden.items() if place in self.doubts}

    # --- what was

    def begin(self) -> None:
        """Number the next write."""
        self.number += 1
        self.settled_from = 0

    def complete(self, instant: str, completion: str, *, is_service: bool) -> None:
        """Remember what the table shows now as this commit's moment."""
        moment = Moment(
            instant=instant,
            completion=completion,
            number=self.number,
            rows=dict(self.rows),
            graves=dict(self.graves),
            hidden=dict(self.hidden),
            beaten=dict(self.beaten),
            met=dict(self.met),
            schema=self.schema,
        )
        self.moments.append(moment)
        if self.setting.version == 6:
            self._put_in_order(moment, is_service=is_service)

    def _put_in_order(self, moment: Moment, *, is_service: bool) -> None:
        """At version 6 commits follow each other by the times at which they were requested."""
        self.moments.sort(key=lambda one: one.instant)
        at = self.moments.index(moment)
        later = self.moments[at + 1 :]
        if later and is_service:
            before = self.moments[at - 1] if at else None
            moment.rows, moment.graves = (dict(before.rows), dict(before.graves)) if before else ({}, {})
            moment.number = before.number if before else 0
            moment.schema = before.schema if before else schema_of(self.setting.columns)
            moment.may_be_expired = before is not None and before.may_be_expired  # it shows files of that moment
        elif later:
            moment.is_unknown = True
            for one in later:
                one.rows, one.graves, one.schema = dict(self.rows), dict(self.graves), self.schema

    def go_back(self, moment: Moment | None) -> None:
        """Show what was at a moment; what came since is gone."""
        kept = self.moments.index(moment) + 1 if moment else 0
        self.rows = dict(moment.rows) if moment else {}
        self.graves = dict(moment.graves) if moment else {}
        self.hidden = dict(moment.hidden) if moment else {}
        self.beaten = dict(moment.beaten) if moment else {}
        self.met = dict(moment.met) if moment else {}
        self.schema = moment.schema if moment else schema_of(self.setting.columns)
        self.moments = self.moments[:kept]
        self.is_compact = not self.setting.is_logged

    def expire(self, kept: int) -> None:
        """Let all but the newest moments be gone, and but those that savepoints keep.

        Cleans go by completion, archiving by request: what was requested long before it was completed goes early.
        """
        old = max(0, len(self.moments) - kept)
        for moment in [*self.moments[:old], *sorted(self.moments, key=lambda one: one.instant)[:old]]:
            moment.may_be_expired |= moment.instant not in self.savepoints

    def changes(self, after: Moment | None, until: Moment | None) -> tuple[dict[Place, Stored], set[Place]]:
        """Return what changed in a window: what must be shown, and the places of which logs may show what lost."""
        first = after.number if after else 0
        last = until.number if until else self.number
        rows = until.rows if until else self.rows
        must = {place: stored for place, stored in rows.items() if stored.number > first}
        may = {place for number, place in self.lost if first < number <= last} if self.setting.is_logged else set()
        return must, may - set(must)

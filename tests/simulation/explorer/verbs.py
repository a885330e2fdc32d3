"""Verbs beyond those of `scenario`: the other ways to put rows in, to change them, and to look at them.

Start at `merge`.
"""

from tests.building import trip
from tests.simulation.explorer.scenario import Verb, _as_rows, _keys, _spelled

_COLUMNS = ["uuid", "city", "fare"]


def insert(**fares):
    """Put rows in without looking their keys up."""
    keys = _keys(fares)

    def do(seat):
        return seat.call("insert", _trips(keys))

    return Verb(about=f"insert {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def insert_unless_there(**fares):
    """Put rows in whose keys are not there yet."""
    keys = _keys(fares)

    def do(seat):
        return seat.call("insert", _trips(keys), duplicates="drop")

    return Verb(about=f"insert new {_spelled(keys)}", do=do, means=lambda rows: {**keys, **rows})


def bulk_insert(**fares):
    """Put rows in as new files."""
    keys = _keys(fares)

    def do(seat):
        return seat.call("bulk_insert", _trips(keys))

    return Verb(about=f"bulk insert {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def merge(fares, **how):
    """Merge rows: those that are there get the fare, the others are put in."""
    keys = _keys(fares)

    def do(seat):
        merging = seat.call("merge", _trips(keys), "t.uuid = s.uuid and t.city = s.city", **how)
        return merging.when_matched_update({"fare": "s.fare"}).when_not_matched_insert_all().execute()

    return Verb(about=f"merge {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def delete_where(key, city, **how):
    """Delete what a predicate finds."""

    def do(seat):
        return seat.call("delete", where=f"uuid = '{key}' and city = '{city}'", **how)

    def means(rows):
        return {place: fare for place, fare in rows.items() if place != (key, city)}

    return Verb(about=f"delete where {key}@{city}", do=do, means=means)


def overwrite_table(**fares):
    """Replace the whole content by these rows."""
    keys = _keys(fares)

    def do(seat):
        return seat.call("insert_overwrite_table", _trips(keys))

    return Verb(about=f"overwrite all by {_spelled(keys)}", do=do, means=lambda _: dict(keys))


def read_changes():
    """Read everything that ever changed, twice: the rows of one moment."""
    return _reading("read changes", lambda table: table.changes(columns=_COLUMNS))


def read_as_of():
    """Read as of the newest commit, twice."""
    return _reading("read as of", lambda table: table.scan(_COLUMNS, as_of=table.latest_instant))


def look_up(*names):
    """Look keys up: all there may be, so that what is found is the table."""

    def do(seat):
        found = _as_rows(seat.table().lookup(list(names), columns=_COLUMNS))
        seat.log.append((seat.token, found, found))

    return Verb(about=f"look up {' '.join(names)}", do=do, is_read=True)


def _reading(about, begin):
    def do(seat):
        scan = begin(seat.table())
        first, second = (_as_rows(scan.to_arrow()) for _ in range(2))
        seat.log.append((seat.token, first, second))

    return Verb(about=about, do=do, is_read=True)


def _trips(keys):
    return [trip(key, city, ts=2, fare=fare) for (key, city), fare in keys.items()]

"""What an actor can do, and what it means for a dictionary of rows: writes, deletes, recovery, reads.

Start at `upsert`.
"""

from dataclasses import replace

from tests.building import trip
from tests.simulation.explorer.scenario import Verb

_COLUMNS = ["uuid", "city", "fare"]
_WAITING = {"hoodie.read.timeline.holes.resolution.policy": "BLOCK"}


def upsert(**fares):
    """Write rows: `upsert(k1_b=5.0)` gives key k1 of partition b a fare."""
    keys = _keys(fares)

    def do(seat):
        return seat.call("upsert", _trips(keys))

    return Verb(about=f"upsert {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def move(**fares):
    """Write rows under a global index: a key is in one partition, the last that it was given."""
    keys = _keys(fares)
    names = {name for name, _ in keys}

    def do(seat):
        return seat.call("upsert", _trips(keys))

    def means(rows):
        return {place: fare for place, fare in rows.items() if place[0] not in names} | keys

    return Verb(about=f"move {_spelled(keys)}", do=do, means=means)


def outbid(**fares):
    """Write rows whose fare is their ordering value: the highest stays, whoever commits last."""
    keys = _keys(fares)

    def do(seat):
        rows = [trip(key, city, ts=int(fare), fare=fare) for (key, city), fare in keys.items()]
        return seat.call("upsert", rows)

    def means(rows):
        return {**rows, **{place: max(fare, rows.get(place, fare)) for place, fare in keys.items()}}

    return Verb(about=f"outbid {_spelled(keys)}", do=do, means=means)


def raise_fare(key, city, **how):
    """Add one to a row's fare: what is read decides what is written."""

    def do(seat):
        where = f"uuid = '{key}' and city = '{city}'"
        return seat.call("update", set={"fare": "fare + 1"}, where=where, **how)

    def means(rows):
        return {**rows, (key, city): rows[key, city] + 1} if (key, city) in rows else rows

    return Verb(about=f"raise {key}@{city}", do=do, means=means)


def having(verb, options):
    """Do a verb under options of its own."""
    return replace(verb, do=lambda seat: verb.do(replace(seat, options={**seat.options, **options})))


def repaint(old, new, **how):
    """Give every row of one fare another: `isolation="serializable"` keeps what was read from changing."""

    def do(seat):
        return seat.call("update", set={"fare": f"{new:.1f}"}, where=f"fare = {old:.1f}", **how)

    def means(rows):
        return {place: new if fare == old else fare for place, fare in rows.items()}

    return Verb(about=f"repaint {old:g} as {new:g}", do=do, means=means)


def add(**fares):
    """Merge: add to the fares of rows that are there, insert the others."""
    keys = _keys(fares)

    def do(seat):
        merging = seat.call("merge", _trips(keys), "t.uuid = s.uuid and t.city = s.city")
        return merging.when_matched_update({"fare": "t.fare + s.fare"}).when_not_matched_insert_all().execute()

    def means(rows):
        return {**rows, **{place: rows.get(place, 0.0) + fare for place, fare in keys.items()}}

    return Verb(about=f"add {_spelled(keys)}", do=do, means=means)


def widen(column, **fares):
    """Write rows that have one more column."""
    keys = _keys(fares)

    def do(seat):
        rows = [trip(key, city, ts=2, fare=fare, **{column: "v"}) for (key, city), fare in keys.items()]
        return seat.call("upsert", rows)

    return Verb(about=f"widen by {column} {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def delete(*names, **how):
    """Delete keys wherever they are: `delete("k1")`."""

    def means(rows):
        return {place: fare for place, fare in rows.items() if place[0] not in names}

    def do(seat):
        return seat.call("delete", keys=list(names), **how)

    return Verb(about=f"delete {' '.join(names)}", do=do, means=means)


def overwrite(**fares):
    """Replace the partitions of these rows by them."""
    keys = _keys(fares)
    cities = {city for _, city in keys}

    def do(seat):
        return seat.call("insert_overwrite", _trips(keys))

    def means(rows):
        return {place: fare for place, fare in rows.items() if place[1] not in cities} | keys

    return Verb(about=f"overwrite {_spelled(keys)}", do=do, means=means)


def drop_partition(city):
    """Take a partition away."""

    def means(rows):
        return {place: fare for place, fare in rows.items() if place[1] != city}

    return Verb(about=f"drop {city}", do=lambda seat: seat.call("delete_partitions", [city]), means=means)


def roll_back_pending():
    """Roll back every write that is pending, whoever it belongs to."""

    def do(seat):
        table = seat.table()
        for one in [one for one in table.timeline.instants if not one.is_completed]:
            table.rollback(one.requested_time, options=seat.options)

    return Verb(about="roll back what is pending", do=do)


def read_twice():
    """Pin a snapshot, read it, read it again: the same rows, and those of some moment."""

    def do(seat):
        scan = seat.table().scan(["uuid", "city", "fare"])
        first, second = (_as_rows(scan.to_arrow()) for _ in range(2))
        seat.log.append((seat.token, first, second))

    return Verb(about="read twice", do=do, is_read=True)


def insert(**fares):
    """Put rows in without looking their keys up."""
    keys = _keys(fares)

    def do(seat):
        return seat.call("insert", _trips(keys))

    return Verb(about=f"insert {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def insert_unless_there(fares, isolation=""):
    """Put rows in whose keys are not there yet."""
    keys = _keys(fares)
    how = {"pyhudi.isolation": isolation} if isolation else {}

    def do(seat):
        return seat.call("insert", _trips(keys), duplicates="drop", options=how)

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


def follow(times):
    """Read what changed since the checkpoint, several times: with that, a consumer has the rows of some moment."""

    def do(seat):
        rows, checkpoint = {}, None
        for _ in range(times):
            scan = seat.table().changes(checkpoint, columns=_COLUMNS, options=_WAITING)
            rows |= {(key, city): fare for key, city, fare in _as_rows(scan.to_arrow())}
            checkpoint = scan.instant
            found = tuple(sorted((*place, fare) for place, fare in rows.items()))
            seat.log.append((seat.token, found, found))

    return Verb(about=f"follow {times} times", do=do, is_read=True)


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


def _keys(fares):
    return {tuple(name.split("_")): fare for name, fare in fares.items()}


def _spelled(keys):
    return " ".join(f"{key}@{city}={fare:g}" for (key, city), fare in keys.items())


def _as_rows(table):
    found = table.to_pylist()
    return tuple(sorted((row["uuid"], row["city"], row["fare"]) for row in found))

"""What an actor can do, and what it means for a dictionary of rows: writes, deletes, recovery, reads.

Start at `upsert`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pyarrow as pa
from tests.building import trip
from tests.simulation.explorer.scenario import Rows, Seat, Verb

from pyhudi.table import Table

Keys = dict[tuple[str, str], float]

_COLUMNS = ["uuid", "city", "fare"]
_WAITING = {"hoodie.read.timeline.holes.resolution.policy": "BLOCK"}


def upsert(**fares: float) -> Verb:
    """Write rows: `upsert(k1_b=5.0)` gives key k1 of partition b a fare."""
    keys = _keys(fares)

    def do(seat: Seat) -> Any:
        return seat.call("upsert", _trips(keys))

    return Verb(about=f"upsert {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def move(**fares: float) -> Verb:
    """Write rows under a global index: a key is in one partition, the last that it was given."""
    keys = _keys(fares)
    names = {name for name, _ in keys}

    def do(seat: Seat) -> Any:
        return seat.call("upsert", _trips(keys))

    def means(rows: Rows) -> Rows:
        return {place: fare for place, fare in rows.items() if place[0] not in names} | keys

    return Verb(about=f"move {_spelled(keys)}", do=do, means=means)


def outbid(**fares: float) -> Verb:
    """Write rows whose fare is their ordering value: the highest stays, whichever commits last."""
    keys = _keys(fares)

    def do(seat: Seat) -> Any:
        rows = [trip(key, city, ts=int(fare), fare=fare) for (key, city), fare in keys.items()]
        return seat.call("upsert", rows)

    def means(rows: Rows) -> Rows:
        return {**rows, **{place: max(fare, rows.get(place, fare)) for place, fare in keys.items()}}

    return Verb(about=f"outbid {_spelled(keys)}", do=do, means=means)


def raise_fare(key: str, city: str, **how: Any) -> Verb:
    """Add one to a row's fare: what is read decides what is written."""

    def do(seat: Seat) -> Any:
        where = f"uuid = '{key}' and city = '{city}'"
        return seat.call("update", set={"fare": "fare + 1"}, where=where, **how)

    def means(rows: Rows) -> Rows:
        return {**rows, (key, city): rows[key, city] + 1} if (key, city) in rows else rows

    return Verb(about=f"raise {key}@{city}", do=do, means=means)


def having(verb: Verb, options: Mapping[str, object]) -> Verb:
    """Do a verb under options of its own."""
    return replace(verb, do=lambda seat: verb.do(replace(seat, options={**seat.options, **options})))


def repaint(old: float, new: float, **how: Any) -> Verb:
    """Change every row of one fare to another: `isolation="serializable"` keeps what was read from changing."""

    def do(seat: Seat) -> Any:
        return seat.call("update", set={"fare": f"{new:.1f}"}, where=f"fare = {old:.1f}", **how)

    def means(rows: Rows) -> Rows:
        return {place: new if fare == old else fare for place, fare in rows.items()}

    return Verb(about=f"repaint {old:g} as {new:g}", do=do, means=means)


def add(**fares: float) -> Verb:
    """Merge: add to the fares of rows that are there, insert the others."""
    keys = _keys(fares)

    def do(seat: Seat) -> Any:
        merging = seat.call("merge", _trips(keys), "t.uuid = s.uuid and t.city = s.city")
        return merging.when_matched_update({"fare": "t.fare + s.fare"}).when_not_matched_insert_all().execute()

    def means(rows: Rows) -> Rows:
        return {**rows, **{place: rows.get(place, 0.0) + fare for place, fare in keys.items()}}

    return Verb(about=f"add {_spelled(keys)}", do=do, means=means)


def widen(column: str, **fares: float) -> Verb:
    """Write rows that have one more column."""
    keys = _keys(fares)

    def do(seat: Seat) -> Any:
        rows = [trip(key, city, ts=2, fare=fare, **{column: "v"}) for (key, city), fare in keys.items()]
        return seat.call("upsert", rows)

    return Verb(about=f"widen by {column} {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def delete(*names: str, **how: Any) -> Verb:
    """Delete keys wherever they are: `delete("k1")`."""

    def means(rows: Rows) -> Rows:
        return {place: fare for place, fare in rows.items() if place[0] not in names}

    def do(seat: Seat) -> Any:
        return seat.call("delete", keys=list(names), **how)

    return Verb(about=f"delete {' '.join(names)}", do=do, means=means)


def overwrite(**fares: float) -> Verb:
    """Replace the partitions of these rows by them."""
    keys = _keys(fares)
    cities = {city for _, city in keys}

    def do(seat: Seat) -> Any:
        return seat.call("insert_overwrite", _trips(keys))

    def means(rows: Rows) -> Rows:
        return {place: fare for place, fare in rows.items() if place[1] not in cities} | keys

    return Verb(about=f"overwrite {_spelled(keys)}", do=do, means=means)


def drop_partition(city: str) -> Verb:
    """Take a partition away."""

    def means(rows: Rows) -> Rows:
        return {place: fare for place, fare in rows.items() if place[1] != city}

    return Verb(about=f"drop {city}", do=lambda seat: seat.call("delete_partitions", [city]), means=means)


def clean(**options: object) -> Verb:
    """Clean under these options: `clean(policy="KEEP_LATEST_FILE_VERSIONS", fileversions__retained=1)`."""
    named = {f"hoodie.clean.{name.replace('__', '.')}": value for name, value in options.items()}

    def do(seat: Seat) -> Any:
        return seat.table().clean(options={**seat.options, **named})

    return Verb(about=f"clean {named}", do=do, means=lambda rows: rows)


def compact() -> Verb:
    """Merge log files into base files: all that there are."""

    def do(seat: Seat) -> Any:
        return seat.table().compact(options=seat.options)

    return Verb(about="compact", do=do, means=lambda rows: rows)


def cluster() -> Verb:
    """Write the rows of all file groups anew, in the order of their fares."""

    def do(seat: Seat) -> Any:
        return seat.table().cluster(order_by=["fare"], options=seat.options)

    return Verb(about="cluster", do=do, means=lambda rows: rows)


def log_compact() -> Verb:
    """Put the log files of each file group together, from two blocks on."""
    few = {"hoodie.log.compaction.enable": True, "hoodie.log.compaction.blocks.threshold": 2}

    def do(seat: Seat) -> Any:
        return seat.table().log_compact(options={**seat.options, **few})

    return Verb(about="log compact", do=do, means=lambda rows: rows)


def build_index(
    index: str, column: str | None = None, options: Mapping[str, object] = MappingProxyType({}), **named: Any
) -> Verb:
    """Build an index: `build_index("secondary", "fare")`."""

    def do(seat: Seat) -> Any:
        return seat.table().create_index(index, column, options={**seat.options, **options}, **named)

    return Verb(about=f"build {' '.join(filter(None, (index, column)))}", do=do, means=lambda rows: rows)


def archive() -> Verb:
    """Archive all commits but the last two."""
    short = {"hoodie.keep.min.commits": 1, "hoodie.keep.max.commits": 1, "hoodie.clean.commits.retained": 1}

    def do(seat: Seat) -> Any:
        return seat.table().archive(options={**seat.options, **short})

    return Verb(about="archive", do=do, means=lambda rows: rows)


def save() -> Verb:
    """Make a savepoint of the newest commit, unless it has one."""

    def do(seat: Seat) -> Any:
        table = seat.table()
        table.savepoint(table.latest_instant or "", options=seat.options)

    return Verb(about="savepoint", do=do, means=lambda rows: rows)


def roll_back_pending() -> Verb:
    """Roll back every write that is pending, whichever writer it belongs to."""

    def do(seat: Seat) -> Any:
        table = seat.table()
        for one in [one for one in table.timeline.instants if not one.is_completed]:
            table.rollback(one.requested_time, options=seat.options)

    return Verb(about="roll back what is pending", do=do)


def restore_oldest() -> Verb:
    """Go back to the first commit."""

    def do(seat: Seat) -> Any:
        table = seat.table()
        return table.restore(min(table.timeline.completed), options=seat.options)

    return Verb(about="restore the oldest", do=do)


def read_twice() -> Verb:
    """Pin a snapshot, read it, read it again: the same rows, and those of some moment."""

    def do(seat: Seat) -> Any:
        scan = seat.table().scan(["uuid", "city", "fare"])
        first, second = (_as_rows(scan.to_arrow()) for _ in range(2))
        seat.log.append((seat.token, first, second))

    return Verb(about="read twice", do=do, is_read=True)


def insert(**fares: float) -> Verb:
    """Put rows in without looking their keys up."""
    keys = _keys(fares)

    def do(seat: Seat) -> Any:
        return seat.call("insert", _trips(keys))

    return Verb(about=f"insert {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def insert_unless_there(fares: Mapping[str, float], isolation: str = "") -> Verb:
    """Put rows in whose keys are not there yet."""
    keys = _keys(fares)
    how = {"pyhudi.isolation": isolation} if isolation else {}

    def do(seat: Seat) -> Any:
        return seat.call("insert", _trips(keys), duplicates="drop", options=how)

    return Verb(about=f"insert new {_spelled(keys)}", do=do, means=lambda rows: {**keys, **rows})


def bulk_insert(**fares: float) -> Verb:
    """Put rows in as new files."""
    keys = _keys(fares)

    def do(seat: Seat) -> Any:
        return seat.call("bulk_insert", _trips(keys))

    return Verb(about=f"bulk insert {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def merge(fares: Mapping[str, float], **how: Any) -> Verb:
    """Merge rows: those that are there get the fare, the others are put in."""
    keys = _keys(fares)

    def do(seat: Seat) -> Any:
        merging = seat.call("merge", _trips(keys), "t.uuid = s.uuid and t.city = s.city", **how)
        return merging.when_matched_update({"fare": "s.fare"}).when_not_matched_insert_all().execute()

    return Verb(about=f"merge {_spelled(keys)}", do=do, means=lambda rows: {**rows, **keys})


def delete_where(key: str, city: str, **how: Any) -> Verb:
    """Delete what a predicate finds."""

    def do(seat: Seat) -> Any:
        return seat.call("delete", where=f"uuid = '{key}' and city = '{city}'", **how)

    def means(rows: Rows) -> Rows:
        return {place: fare for place, fare in rows.items() if place != (key, city)}

    return Verb(about=f"delete where {key}@{city}", do=do, means=means)


def overwrite_table(**fares: float) -> Verb:
    """Replace the whole content by these rows."""
    keys = _keys(fares)

    def do(seat: Seat) -> Any:
        return seat.call("insert_overwrite_table", _trips(keys))

    return Verb(about=f"overwrite all by {_spelled(keys)}", do=do, means=lambda _: dict(keys))


def read_changes() -> Verb:
    """Read everything that ever changed, twice: the rows of one moment."""
    return _reading("read changes", lambda table: table.changes(columns=_COLUMNS))


def read_as_of() -> Verb:
    """Read as of the newest commit, twice."""
    return _reading("read as of", lambda table: table.scan(_COLUMNS, as_of=table.latest_instant))


def follow(times: int) -> Verb:
    """Read what changed since the checkpoint, several times: with that, a consumer has the rows of some moment."""

    def do(seat: Seat) -> Any:
        rows: Keys = {}
        checkpoint = None
        for _ in range(times):
            scan = seat.table().changes(checkpoint, columns=_COLUMNS, options=_WAITING)
            rows |= {(key, city): fare for key, city, fare in _as_rows(scan.to_arrow())}
            checkpoint = scan.instant
            found = tuple(sorted((*place, fare) for place, fare in rows.items()))
            seat.log.append((seat.token, found, found))

    return Verb(about=f"follow {times} times", do=do, is_read=True)


def look_up(*names: str) -> Verb:
    """Look keys up: all there may be, so that what is found is the table."""

    def do(seat: Seat) -> Any:
        found = _as_rows(seat.table().lookup(list(names), columns=_COLUMNS))
        seat.log.append((seat.token, found, found))

    return Verb(about=f"look up {' '.join(names)}", do=do, is_read=True)


def _reading(about: str, begin: Callable[[Table], Any]) -> Verb:
    def do(seat: Seat) -> Any:
        scan = begin(seat.table())
        first, second = (_as_rows(scan.to_arrow()) for _ in range(2))
        seat.log.append((seat.token, first, second))

    return Verb(about=about, do=do, is_read=True)


def _trips(keys: Keys) -> list[dict[str, Any]]:
    return [trip(key, city, ts=2, fare=fare) for (key, city), fare in keys.items()]


def _keys(fares: Mapping[str, float]) -> Keys:
    return {(name.partition("_")[0], name.partition("_")[2]): fare for name, fare in fares.items()}


def _spelled(keys: Keys) -> str:
    return " ".join(f"{key}@{city}={fare:g}" for (key, city), fare in keys.items())


def _as_rows(table: pa.Table) -> tuple[tuple[str, str, float], ...]:
    found = table.to_pylist()
    return tuple(sorted((row["uuid"], row["city"], row["fare"]) for row in found))

"""Compare a table with its model: the rows after every step, and now and then everything that can be asked of it.

Start at `require_as_promised`.
"""

from collections import Counter
from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa
from tests.lives.model import Key, Model, Moment, Place, Stored
from tests.lives.rows import COLUMNS, COMPUTED, KEYS, Row, Where, comparable
from tests.lives.world import World, Wrong

from pyhudi.errors import Expired, OptionError
from pyhudi.metadata.names import EXPRESSION_PREFIX, SECONDARY_PREFIX, MetadataPartition
from pyhudi.metadata.record_places import read_places
from pyhudi.metadata.secondary_keys import can_index
from pyhudi.metadata.secondary_places import keys_of_values
from pyhudi.metadata.state import MetadataTable, open_metadata
from pyhudi.queries.problems import ProblemKind
from pyhudi.state.properties_file import open_state
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import InstantTime

Values = tuple[Any, ...]
RECORD_INDEX = MetadataPartition.RECORD_INDEX
UNFINISHED = ProblemKind.UNFINISHED
OF_THE_DEAD = frozenset({UNFINISHED, ProblemKind.ORPHAN_FILE, ProblemKind.DEFINITIONS})
"""What a process that died leaves for others to finish or to take away; all else is wrong, with or without a death."""
_WINDOWS = 8
"""Of changes, when everything is compared: a window has two ends, a filter and columns of its own."""
_META = ("_hoodie_record_key", "_hoodie_partition_path", "_hoodie_commit_time")


def require_as_promised(world: World, chance: Random, *, is_whole: bool) -> None:
    """Compare the rows; one other thing of all that there are to compare, or with `is_whole` each."""
    settle(world.table, world.model)
    if world.setting.is_indexed:
        require_indexed(world)
        require_computed(world, chance, is_whole=is_whole)
    often = (
        require_filtered,
        require_projected,
        require_limited,
        require_found,
        require_found_then,
        require_past,
        require_pinned,
        require_changed,
        require_read_optimized,
        require_checked,
    )
    for check in (*often, require_earliest) if is_whole else chance.sample(often, chance.choice((0, 1))):
        check(world, chance)
    if is_whole:
        require_every_past(world, chance)
        for _ in range(_WINDOWS):
            require_changed(world, chance)


def settle(table: Table, model: Model) -> None:
    """Compare the rows, and take what the table says where the promise leaves it open."""
    said = matched(table, model)
    if isinstance(said, str):
        raise Wrong(said)
    for place, stored in said.items():
        model.settle(place, stored)


def shows(table: Table, model: Model) -> bool:
    """Return whether a table shows what a model promises; where it does, what was open is settled."""
    said = matched(table, model)
    if isinstance(said, str):
        return False
    for place, stored in said.items():
        model.settle(place, stored)
    return True


def matched(table: Table, model: Model) -> dict[Place, Stored | None] | str:
    """Return what the table says of what is open; a text says what is wrong."""
    rest = Counter(values_of(row) for row in rows_of(table.scan()))
    certain = Counter(values_of(one.row) for place, one in model.rows.items() if place not in model.doubts)
    missing = certain - rest
    rest -= certain
    said: dict[Place, Stored | None] = {}
    for place, answers in model.doubts.items():
        found = next((one for one in answers if one is not None and rest[values_of(one.row)] > 0), None)
        if found is None and None not in answers:
            missing[place] += 1
        elif found is not None:
            rest -= Counter([values_of(found.row)])
        said[place] = found
    if missing or rest:
        lacking, more = sorted(missing.elements(), key=repr), sorted(rest.elements(), key=repr)
        return f"the rows differ: missing {lacking}, too many {more}"
    return said


def require_filtered(world: World, chance: Random) -> None:
    """Read by a condition."""
    where = world.draw_where(chance)
    wanted = require_chosen(world, where)
    count = world.table.scan(filter=where.sql()).count()
    if count != len(wanted):
        raise Wrong(f"scan(filter={where.sql()!r}).count() says {count}, and there are {len(wanted)}")


def require_chosen(world: World, where: Where) -> list[Row]:
    """Read by one condition; return the rows that it is true of."""
    wanted = [one.row for one in world.model.rows.values() if where.holds(one.row)]
    require_same(rows_of(world.table.scan(filter=where.sql())), wanted, f"scan(filter={where.sql()!r})")
    return wanted


def require_limited(world: World, chance: Random) -> None:
    """Read some rows of all."""
    limit, rows = chance.choice((0, 1, 3)), world.model.rows
    found = Counter(map(values_of, rows_of(world.table.scan(limit=limit))))
    more = found - Counter(values_of(one.row) for one in rows.values())
    if more or found.total() != min(limit, len(rows)):
        raise Wrong(f"scan(limit={limit}) of {len(rows)} rows shows {found.total()}, among them {[*more]}")


def require_projected(world: World, chance: Random) -> None:
    """Read some columns, and Hudi's own of each row."""
    names = chance.sample(world.setting.columns, 3)
    found = world.table.scan([*names, *_META]).to_arrow().to_pylist()
    by_number = {one.number: one.instant for one in reversed(world.model.moments)}
    wanted = []
    for (path, key), stored in world.model.rows.items():
        wanted.append(
            (*(told_apart(stored.row[name]) for name in names), spelled(key, world), path, by_number.get(stored.number))
        )
    said = [
        (*(told_apart(row[name]) for name in names), prefixed(row[_META[0]], world), row[_META[1]], row[_META[2]])
        for row in found
    ]
    known = {one.instant for one in world.model.moments}
    said = [one if one[-1] in known else (*one[:-1], None) for one in said]
    if not has_meta(world) or world.setting.combines:  # by which write a filled row came is not promised
        wanted, said = [one[:3] for one in wanted], [one[:3] for one in said]
    elif _are_archived({row[_META[2]] for row in found} - known, world):
        wanted, said = [one[:-1] for one in wanted], [one[:-1] for one in said]
    if Counter(said) != Counter(wanted):
        raise Wrong(f"scan({names} and meta) shows {sorted(said, key=repr)} for {sorted(wanted, key=repr)}")


def _are_archived(instants: set[str], world: World) -> bool:
    """Return whether there are such commits in the archive: a write may archive itself before it is remembered."""
    archive = world.open().timeline.archive
    return any(archive.completion_of(InstantTime(one)) is not None for one in instants)


def has_meta(world: World) -> bool:
    """Return whether rows carry Hudi's own columns."""
    return bool(dict(world.setting.creation).get("hoodie.populate.meta.fields", True))


def prefixed(key: str | None, world: World) -> str:
    """Spell a stored key with its field's name, which one field may lack."""
    name = world.setting.key[0]
    return key if key is not None and key.startswith(f"{name}:") else f"{name}:{key}"


def require_found(world: World, chance: Random) -> None:
    """Look keys up, stored ones and others."""
    if not has_meta(world):
        return
    keys = chance.sample(KEYS, 3)
    given = [(key,) if len(world.setting.key) == 1 else (key, chance.choice((1, 2))) for key in keys]
    wanted = [one.row for (_, key), one in world.model.rows.items() if key in given]
    require_same(world.table.lookup(world.keys(given)).to_pylist(), wanted, f"lookup({given})")


def require_found_then(world: World, chance: Random) -> None:
    """Look keys up as they were."""
    moments = [one for one in world.model.moments if not one.is_unknown]
    if not (moments and has_meta(world)):
        return
    moment = chance.choice(moments)
    keys = sorted({key for _, key in moment.rows}, key=repr)
    given = chance.sample(keys, min(2, len(keys)))
    read = f"lookup({given}, as_of={moment.instant!r})"
    try:
        found = world.table.lookup(world.keys(given), as_of=moment.instant).to_pylist()
    except Expired as error:
        if not moment.may_be_expired:
            raise Wrong(f"{read} is to be readable: {error}") from error
        return
    require_same(found, [one.row for (_, key), one in moment.rows.items() if key in given], read)


def require_pinned(world: World, chance: Random) -> None:
    """Read what was pinned: that moment, for as long as the pin was to last, or an error where it was taken back."""
    moments = {one.instant: one for one in world.model.moments}
    for pinned in world.pins:
        moment, read = moments.get(pinned.table.instant), f"a pin of {pinned.table.instant} reads"
        if moment is not None and moment.completion != pinned.completion:
            moment = None
        if moment is not None and moment.is_unknown:
            continue
        try:
            found = rows_of(pinned.table.scan())
        except Expired as error:
            is_over = world.env.now_ms() >= pinned.until_ms
            if moment is not None and not (is_over and moment.may_be_expired):
                raise Wrong(f"{read} is to be readable: {error}") from error
            continue
        if moment is None:
            raise Wrong(f"{read} {found}, and that commit was taken back")
        require_same(found, [one.row for one in moment.rows.values()], read)


def require_past(world: World, chance: Random) -> None:
    """Read two moments by their instants, and perhaps by the clock."""
    moments = world.model.moments
    for moment in chance.sample(moments, min(2, len(moments))):
        require_moment(world, moment, moment.instant)
        if chance.random() < 0.3:
            require_time(world, moment)


def require_every_past(world: World, chance: Random) -> None:
    """Read all moments by their instants, and three by the clock, which only says in another way which they are."""
    moments = world.model.moments
    for moment in moments:
        require_moment(world, moment, moment.instant)
    for moment in chance.sample(moments, min(3, len(moments))):
        require_time(world, moment)


def require_time(world: World, moment: Moment) -> None:
    """Read a moment by the clock, where no other commit is of that time."""
    if is_last_of_its_time(world.model, moment):
        # Version 6 knows when commits were requested only.
        require_moment(world, moment, time_of(moment.instant if world.setting.version == 6 else moment.completion))


def require_moment(world: World, moment: Moment, as_of: Any) -> None:
    """Read a moment that was seen."""
    if moment.is_unknown:
        return
    try:
        scan = world.table.scan(as_of=as_of)
        found = rows_of(scan)
    except Expired as error:
        if not moment.may_be_expired:
            raise Wrong(f"scan(as_of={as_of!r}) is to be readable: {error}") from error
        return
    require_same(found, [one.row for one in moment.rows.values()], f"scan(as_of={as_of!r})")
    require_columns(scan, moment.schema, f"scan(as_of={as_of!r})")


def require_columns(scan: Any, wanted: pa.Schema, read: str) -> None:
    """Compare the columns of a read, and their types."""
    said, expected = ([(one.name, one.type) for one in schema] for schema in (scan.schema, wanted))
    if said != expected:
        raise Wrong(f"{read} has columns {said}, and is to have {expected}")


def require_earliest(world: World, chance: Random) -> None:
    """Read the earliest moment from which on all are said to be readable, and one behind it."""
    moments = [one.instant for one in world.model.moments]
    earliest = world.table.earliest_readable_instant
    if earliest not in moments:
        return
    for instant in {earliest, chance.choice(moments[moments.index(earliest) :])}:
        rows_of(world.table.scan(as_of=instant))


def is_last_of_its_time(model: Model, moment: Moment) -> bool:
    """Return whether no other commit is said to have been completed at the same time."""
    return [one.completion for one in model.moments].count(moment.completion) == 1


def time_of(completion: str) -> datetime:
    """Return a completion time as the clock shows it."""
    return datetime.strptime(completion + "000", "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)


def require_changed(world: World, chance: Random) -> None:
    """Read what changed in a window."""
    moments: list[Moment | None] = [None, *world.model.moments]
    first = chance.randrange(len(moments))
    last = chance.randrange(first, len(moments))
    after, until = moments[first], moments[last] if chance.random() < 0.6 else None
    if not has_meta(world) or world.setting.combines or any(one.is_unknown for one in world.model.moments):
        return
    begin, end = after.instant if after else None, until.instant if until else None
    schema = until.schema if until else world.model.schema
    where = world.draw_where(chance, schema) if chance.random() < 0.4 else None
    chosen = chance.sample(schema.names, len(schema)) if chance.random() < 0.3 else None
    how = f"after={begin!r}, until={end!r}, columns={chosen}, filter={where and where.sql()!r}"
    must, may = world.model.changes(after, until)
    if where is not None:
        must = {place: stored for place, stored in must.items() if where.holds(stored.row)}
    try:
        scan = world.table.changes(begin, end, columns=chosen, filter=where and where.sql())
        found = rows_of(scan)
    except Expired as error:
        if not any(one.may_be_expired for one in world.model.moments):
            raise Wrong(f"changes({how}) is to be readable: {error}") from error
        return
    except OptionError as error:
        # At version 6 what is pending lies before what is completed, and the read says so.
        if world.setting.version > 6 or not (world.has_dead_writer or world.may_have_plans):
            raise Wrong(f"changes({how}) is to be readable: {error}") from error
        return
    require_columns(scan, pa.schema([schema.field(name) for name in chosen or schema.names]), f"changes({how})")
    rest = Counter(values_of(row) for row in found)
    missing = Counter(values_of(one.row) for one in must.values()) - rest
    rest -= Counter(values_of(one.row) for one in must.values())
    wrong = [one for one in rest.elements() if not any(is_written(world.model, place, one) for place in may)]
    if missing or wrong:
        raise Wrong(f"changes({how}) lacks {sorted(missing.elements(), key=repr)} and shows {wrong}")


def require_read_optimized(world: World, chance: Random) -> None:
    """Read base files: each row was there once, and is the newest where nothing lies in logs."""
    found = rows_of(world.table.scan(mode="read_optimized"))
    if world.model.is_compact:
        require_same(found, [one.row for one in world.model.rows.values()], "scan(mode='read_optimized')")
    for row in found:
        if not any(is_written(world.model, place, values_of(row)) for place in world.model.written):
            raise Wrong(f"scan(mode='read_optimized') shows a row that never was: {row}")


def is_written(model: Model, place: Place, values: Values) -> bool:
    """Return whether a row was ever written to a place."""
    return any(values_of(row) == values for row in model.written.get(place, ()))


def require_checked(world: World, chance: Random) -> None:
    """Let the table check itself."""
    explained = OF_THE_DEAD if world.has_dead_writer else {UNFINISHED} if world.may_have_plans else frozenset()
    problems = [one for one in world.table.check().problems.to_pylist() if one["kind"] not in explained]
    if problems:
        raise Wrong(f"check() says {problems}")


def require_indexed(world: World) -> None:
    """Compare what the record index and secondary indexes say with the rows."""
    table = told_by(world)
    if table is None or RECORD_INDEX not in table.partitions:
        return
    places = read_places(table).to_pylist()
    found = Counter((one["partition"], prefixed(one["key"], world)) for one in places)
    wanted = Counter((path, spelled(key, world)) for path, key in world.model.rows)
    if found != wanted:
        raise Wrong(f"the record index lacks {[*(wanted - found)]} and has {[*(found - wanted)]}")
    for partition in table.partitions:
        if partition.startswith(SECONDARY_PREFIX):
            require_entries(world, table, partition)


def require_computed(world: World, chance: Random, *, is_whole: bool) -> None:
    """Read by a value that an expression index has, or with `is_whole` by each: only one that is stored can be lost."""
    table = told_by(world)
    for partition in sorted(() if table is None else table.partitions):
        if table is not None and partition.startswith(EXPRESSION_PREFIX):
            definition = table.definitions[partition]
            of = f"{definition.function}({definition.fields[0]})"
            made = COMPUTED[of]
            stored = [one.row[made.column] for one in world.model.rows.values()]
            values = sorted({made.compute(value) for value in stored if value is not None})
            for value in values if is_whole else values and [chance.choice(values)]:
                require_chosen(world, Where(of, "=", value))


def require_entries(world: World, table: MetadataTable, partition: str) -> None:
    """Compare the entries of one secondary index: of each value that was ever stored the keys that have it now.

    An index of a column that became a float is asked no more.
    """
    column = table.definitions[partition].fields[0]
    if not can_index(world.model.schema.field(column).type):
        return
    wanted: dict[Any, list[str]] = {row.get(column): [] for rows in world.model.written.values() for row in rows}
    for (_, key), one in world.model.rows.items():
        wanted[one.row.get(column)].append(spelled(key, world))
    for value, keys in wanted.items():
        try:
            values = pa.array([value], world.model.schema.field(column).type)
        except pa.ArrowInvalid:  # of a wider type, which a restore took back
            assert not keys
            continue
        found = [prefixed(one, world) for one in keys_of_values(table, partition, values).to_pylist()]
        if sorted(found) != sorted(keys):
            raise Wrong(f"{partition} has of {value!r} {sorted(found)}, and these have it: {sorted(keys)}")


def told_by(world: World) -> MetadataTable | None:
    """Return the metadata table; None where there is none."""
    state = open_state(world.storage, world.env)
    return open_metadata(state, load_timeline(state)) if "files" in state.config.metadata_partitions else None


def spelled(key: Key, world: World) -> str:
    """Spell a key with the names of its fields."""
    return ",".join(f"{name}:{value}" for name, value in zip(world.setting.key, key, strict=True))


def require_same(found: list[Row], wanted: list[Row], read: str) -> None:
    """Compare rows as multisets."""
    said, expected = Counter(map(values_of, found)), Counter(map(values_of, wanted))
    if said != expected:
        missing, more = sorted((expected - said).elements(), key=repr), sorted((said - expected).elements(), key=repr)
        raise Wrong(f"{read} lacks {missing} and shows {more}")


def rows_of(scan: Any) -> list[Row]:
    """Read a scan."""
    found: list[Row] = scan.to_arrow().to_pylist()
    return found


def values_of(row: Row) -> Values:
    """Return a row as a tuple, in the order of the table's columns."""
    return tuple(told_apart(comparable(name, row.get(name))) for name in COLUMNS)


def told_apart(value: Any) -> Any:
    """Return a value by which NaN is found again, and -0.0 is not 0.0."""
    return repr(value) if isinstance(value, float) else value

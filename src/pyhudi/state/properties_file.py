"""`.hoodie/hoodie.properties` in storage: read, created, updated; a table opened and created.

A reader must find a whole file at every moment, so an update leaves a backup beside it while the file is replaced, and
reading falls back on it. Writers update under the table lock. Start at `open_state` and `create_state`.

Spec: format/timeline 1.1-1.3.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from pyhudi.env import Env
from pyhudi.errors import CorruptData, FileMissing, PreconditionFailed, TableExists, TableNotFound, Unsupported
from pyhudi.formats.properties import format_properties, java_date, parse_properties, properties_checksum
from pyhudi.state.config import TableConfig
from pyhudi.state.layout import Layout, layout_of
from pyhudi.state.model import TableState
from pyhudi.storage.api import PutMode, Storage, check_path

__all__ = [
    "BACKUP_PATH",
    "PROPERTIES_PATH",
    "create_state",
    "encode_properties",
    "has_properties",
    "load_properties",
    "open_state",
    "plan_state",
    "reopened",
    "update_properties",
]

PROPERTIES_PATH: Final = ".hoodie/hoodie.properties"
BACKUP_PATH: Final = ".hoodie/hoodie.properties.backup"
_CHECKSUM: Final = "hoodie.table.checksum"
_ATTEMPTS: Final = 5
_PAUSE_S: Final = 1.0
_DIRECTORIES: Final = (
    ".hoodie/.aux/.bootstrap/.partitions",
    ".hoodie/.aux/.bootstrap/.fileids",
    ".hoodie/.schema",
    ".hoodie/.temp",
)


def has_properties(storage: Storage) -> bool:
    """Return whether there is a table, whole or half updated."""
    return any(_get(storage, path) is not None for path in (PROPERTIES_PATH, BACKUP_PATH))


def open_state(storage: Storage, env: Env) -> TableState:
    """Open the table at the storage's base path.

    Raises: TableNotFound; CorruptData naming the file; Unsupported for a version or layout we do not know.
    """
    config = TableConfig.of(load_properties(storage, env))
    return TableState(storage=storage, env=env, config=config, layout=_layout(config))


def reopened(state: TableState) -> TableState:
    """Open a table as it is now: a write may have put its index or lock into the properties since.

    One that is not made yet stays as it was planned.

    Raises: as `open_state`.
    """
    return state if state.is_planned else open_state(state.storage, state.env)


def plan_state(storage: Storage, env: Env, properties: Mapping[str, str]) -> TableState:
    """Return a table of these properties that is not there yet; nothing is read or written.

    Raises: as `TableConfig.of`; Unsupported.
    """
    config = TableConfig.of(properties)
    return TableState(storage=storage, env=env, config=config, layout=_layout(config), is_planned=True)


def create_state(storage: Storage, env: Env, properties: Mapping[str, str]) -> TableState:
    """Create a table of these properties (`state.creation` makes them) and open it.

    The properties come last and are created only if absent, so that two creators make one table.

    Raises: TableExists.
    """
    layout = plan_state(storage, env, properties).layout
    if has_properties(storage):
        raise TableExists("there is a table already; open it, or choose another path", path=storage.url)
    for directory in (*_DIRECTORIES, layout.timeline_path, layout.history_path):
        storage.make_directory(directory)
    try:
        storage.put(PROPERTIES_PATH, encode_properties(properties, env, "Properties saved on"), PutMode.CREATE)
    except PreconditionFailed as error:
        raise TableExists("another writer created this table meanwhile; open it", path=storage.url) from error
    return open_state(storage, env)


def load_properties(storage: Storage, env: Env) -> dict[str, str]:
    """Read the table's properties, or their backup while they are being replaced.

    Raises: TableNotFound where there is neither; CorruptData naming the file once all attempts failed.
    Cost:   one read; five attempts a second apart while nothing valid is there.
    """
    broken: CorruptData | None = None
    for attempt in range(_ATTEMPTS):
        if attempt:
            env.sleep(_PAUSE_S)
        for path in (PROPERTIES_PATH, BACKUP_PATH):
            try:
                found = _read(storage, path)
            except CorruptData as error:
                broken = error
                continue
            if found is not None:
                return found
        if broken is None and not _has_meta_directory(storage):
            break
    if broken is not None:
        try:
            raise broken
        finally:
            del broken  # it holds this frame
    raise TableNotFound("there is no Hudi table at this path", path=storage.url, missing=PROPERTIES_PATH)


def update_properties(storage: Storage, env: Env, changes: Mapping[str, str | None]) -> dict[str, str]:
    """Set keys, or remove those whose value is None; keys we do not know stay. Gives the new properties.

    Locks:  the table lock is held.
    Raises: CorruptData where neither the file nor its backup is whole.   Spec: format/timeline 1.3.
    """
    current = _recovered(storage)
    changed = {key: value for key, value in {**current, **changes}.items() if value is not None}
    if changed == current:
        return current
    storage.put(BACKUP_PATH, _require(storage, PROPERTIES_PATH), PutMode.CREATE)
    storage.delete(PROPERTIES_PATH)
    storage.put(PROPERTIES_PATH, encode_properties(changed, env, "Updated at"))
    stored = _read(storage, PROPERTIES_PATH)
    if stored is None or stored.get(_CHECKSUM) != _checksum(changed):
        storage.delete(PROPERTIES_PATH)
        raise CorruptData("the properties that were just written read back differently", file=PROPERTIES_PATH)
    storage.delete(BACKUP_PATH)
    return stored


def encode_properties(properties: Mapping[str, str], env: Env, comment: str) -> bytes:
    """Format the file: Hudi's two comment lines, the entries in the order given, the checksum made anew."""
    now_ms = env.now_ms()
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now_ms)
    stamp = f"{comment} {moment.strftime('%Y-%m-%dT%H:%M:%S')}.{now_ms % 1000:03d}Z"
    entries = {**properties, _CHECKSUM: _checksum(properties)}
    return format_properties(entries, [stamp, java_date(now_ms, env.zone())])


def _layout(config: TableConfig) -> Layout:
    """Choose the layout, with the directories that the properties name."""
    layout = layout_of(config.table_version)
    said = config.properties.get("hoodie.timeline.layout.version", str(layout.timeline_layout))
    if said != str(layout.timeline_layout):
        raise Unsupported(
            "the table's timeline layout does not fit its version",
            layout=said,
            table_version=config.table_version,
            expected=layout.timeline_layout,
        )
    if layout.timeline_layout == 1:
        archive = config.properties.get("hoodie.archivelog.folder") or "archived"
        return replace(layout, history_path=check_path(f".hoodie/{archive}"))
    timeline = check_path(f".hoodie/{config.properties.get('hoodie.timeline.path') or 'timeline'}")
    history = config.properties.get("hoodie.timeline.history.path") or "history"
    return replace(layout, timeline_path=timeline, history_path=check_path(f"{timeline}/{history}"))


def _checksum(properties: Mapping[str, str]) -> str:
    return str(properties_checksum(properties.get("hoodie.database.name", ""), properties.get("hoodie.table.name", "")))


def _read(storage: Storage, path: str) -> dict[str, str] | None:
    """Read one of the two files; None if it is not there."""
    data = _get(storage, path)
    if data is None:
        return None
    try:
        found = parse_properties(data)
    except CorruptData as error:
        raise CorruptData(f"the table's properties cannot be read: {error.message}", file=path) from error
    if not found.get("hoodie.table.name"):
        raise CorruptData("the table's properties are not whole: hoodie.table.name is missing", file=path)
    if _CHECKSUM in found and found[_CHECKSUM] != _checksum(found):
        raise CorruptData(
            "the table's properties are not whole: the checksum does not fit the names",
            file=path,
            stored=found[_CHECKSUM],
            computed=_checksum(found),
        )
    return found


def _recovered(storage: Storage) -> dict[str, str]:
    """Finish or undo an update that died, then read: afterwards the file is whole and there is no backup."""
    whole, failure = _whole(storage, PROPERTIES_PATH)
    if whole is None:
        spare, spare_failure = _whole(storage, BACKUP_PATH)
        if spare is None:
            raise failure or spare_failure or TableNotFound("there is no Hudi table at this path", path=storage.url)
        storage.put(PROPERTIES_PATH, _require(storage, BACKUP_PATH))
        whole = spare
    storage.delete(BACKUP_PATH)
    return whole


def _whole(storage: Storage, path: str) -> tuple[dict[str, str] | None, CorruptData | None]:
    try:
        return _read(storage, path), None
    except CorruptData as error:
        return None, error


def _require(storage: Storage, path: str) -> bytes:
    data = _get(storage, path)
    if data is None:
        raise FileMissing("a table's properties vanished while they were updated", file=path)
    return data


def _get(storage: Storage, path: str) -> bytes | None:
    try:
        return storage.get(path)
    except FileMissing:
        return None


def _has_meta_directory(storage: Storage) -> bool:
    directory = storage.list_directory(".hoodie")
    return bool(directory.files or directory.directories)

"""The archive of layout 1: log files of records, one an instant and state.

Start at `load_archive_logs`, `append_archive_log`.

Spec: format/timeline 3.11, 4.2.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import pyarrow as pa

from pyhudi.errors import CorruptData, FileMissing, PreconditionFailed, WriteConflict
from pyhudi.formats.avro import decode_record, encode_container, encode_record
from pyhudi.formats.avro_rows import decode_rows
from pyhudi.formats.log import BlockKind, HeaderKey, NewBlock, encode_blocks, join_rows, read_blocks, split_rows
from pyhudi.schema.json_text import parse_json
from pyhudi.state.model import TableState
from pyhudi.storage.api import FileStatus, PutMode
from pyhudi.timeline.clock import format_instant, zone_of
from pyhudi.timeline.codec.archive import ARCHIVED_FIELDS, archived_entry, archived_schema
from pyhudi.timeline.instant import Action, Instant, InstantTime, State, parse_name
from pyhudi.timeline.lsm import ARCHIVED, Hold

__all__ = ["append_archive_log", "archive_logs", "load_archive_logs", "read_archive_log"]

_NAME: Final = re.compile(r"\.commits_\.archive\.([0-9]{1,9})_.+")
_NEW_NAME: Final = ".commits_.archive.{}_1-0-1"
_HEAD: Final = ("commitTime", "actionType", "actionState", "stateTransitionTime")
_CONTENTS: Final = frozenset({"metadata", "plan"})
_NAMED: Final = frozenset({"record", "enum", "fixed"})
_SYNC: Final = bytes(16)
_Found = dict[tuple[InstantTime, Action], dict[str, Any]]


def archive_logs(state: TableState) -> list[str]:
    """Return the names of the archive's files, oldest first.   Cost: one listing."""
    return [name for _, name in sorted(_numbered(state.storage.list_names(state.layout.history_path)))]


def load_archive_logs(state: TableState) -> pa.Table:
    """Load all archived instants of a table in layout 1, sorted by requested time and action.

    What an instant says comes as the container file that layout 2 has for it. Older releases did not archive when an
    instant was completed: its completion time is null then.

    Shape:  `timeline.lsm.ARCHIVED`.
    Cost:   reads the whole archive.
    Raises: CorruptData naming the file.
    """
    found: _Found = {}
    for name in archive_logs(state):
        _add_file(found, state, f"{state.layout.history_path}/{name}", ARCHIVED.names, None)
    return _table(found)


def read_archive_log(
    state: TableState, path: str, names: Collection[str], actions: Collection[Action] | None = None
) -> pa.Table:
    """Read what one file of the archive says of some actions, or all; columns that are not asked for are null.

    Shape:  `timeline.lsm.ARCHIVED`.
    Cost:   reads the file; what instants say is decoded only where it is asked for.
    Raises: CorruptData naming the file.
    """
    found: _Found = {}
    _add_file(found, state, path, names, actions)
    return _table(found)


def append_archive_log(state: TableState, files: Iterable[FileStatus], hold: Hold) -> None:
    """Write files of the active timeline to the archive: one more file, whole.

    `files` are those of completed instants, all states of each; when they were written is kept.

    Cost:   a listing, a read of each file, a put.
    Locks:  the table lock is held; `hold` is called before the put.
    Raises: WriteConflict where another process archived meanwhile.
    Spec:   format/timeline 3.11, 4.2.
    """
    schema, zone = archived_schema(), zone_of(state.config.timeline_zone, state.env)
    entries = []
    for status in files:
        instant = parse_name(status.name)
        try:
            data = state.storage.get(status.path)
        except FileMissing:  # gone already, by an archiving that another process goes on with
            continue
        assert instant is not None, "files of instants are archived"
        written = format_instant(status.modified_ms, zone)
        entries.append(encode_record(schema.record, archived_entry(instant, written, data, status.name)))
    if not entries:
        return
    content = join_rows(pa.array(entries, pa.binary()))
    block = NewBlock(kind=BlockKind.AVRO, headers={HeaderKey.SCHEMA: schema.text}, content=content)
    directory = state.layout.history_path
    newest = max(_numbered(state.storage.list_names(directory)), default=(0, ""))[0]
    hold()
    try:
        state.storage.put(f"{directory}/{_NEW_NAME.format(newest + 1)}", encode_blocks([block]), PutMode.CREATE)
    except PreconditionFailed as error:
        raise WriteConflict("another process archives the timeline; try again", archive=directory) from error


def _numbered(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    return ((int(match[1]), name) for name in names if (match := _NAME.fullmatch(name)))


def _table(found: _Found) -> pa.Table:
    return pa.Table.from_pylist([row for _, row in sorted(found.items()) if row["action"]], ARCHIVED)


def _add_file(
    found: _Found, state: TableState, path: str, names: Collection[str], actions: Collection[Action] | None
) -> None:
    try:
        for head, read, schema in _entries(state.storage.get(path)):
            if actions is None or head["actionType"] in actions:
                _add(found, read() if _CONTENTS & set(names) else head, schema)
    except CorruptData as error:
        raise type(error)(error.message, **{**error.values, "path": path}) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptData("this is not an archive of instants", path=path) from error


def _entries(data: bytes) -> Iterator[tuple[dict[str, Any], Callable[[], dict[str, Any]], dict[str, Any]]]:
    """Read which instants a file is of; of each also what reads its record, and the schema that it was written by."""
    for block in read_blocks(lambda offset, length: data[offset : offset + length], len(data)):
        if block.kind is BlockKind.CORRUPT:
            raise CorruptData("a block of the archive is damaged", position=block.position)
        if block.kind is BlockKind.AVRO:
            schema = parse_json(block.schema)
            rows = split_rows(block.read_content())
            there = {field["name"] for field in schema["fields"]}
            heads = decode_rows(rows, block.schema, columns=[name for name in _HEAD if name in there])
            for head, row in zip(heads.to_pylist(), rows.to_pylist(), strict=True):
                yield head, partial(decode_record, row, schema), schema


def _add(found: _Found, entry: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Add what a record says of one state of its instant."""
    action, state = Action(entry["actionType"]), State((entry.get("actionState") or "completed").lower())
    instant = Instant(requested_time=InstantTime(entry["commitTime"]), action=action, state=state)
    empty = dict.fromkeys(ARCHIVED.names) | {"instantTime": instant.requested_time, "version": 1}
    row = found.setdefault((instant.requested_time, instant.comparable_action), empty)
    name = ARCHIVED_FIELDS.get((action, state), "")
    data = encode_container(_alone(schema, name), entry[name], _SYNC) if entry.get(name) is not None else None
    if instant.is_completed:
        row |= {"completionTime": entry.get("stateTransitionTime"), "action": action.value, "metadata": data}
    else:
        row["plan"] = data or row["plan"]


def _alone(schema: Mapping[str, Any], field_name: str) -> dict[str, Any]:
    """Return the schema of one field's record, which names no type that is defined elsewhere."""
    named: dict[str, dict[str, Any]] = {}
    _define(schema, named)
    kinds = next(field["type"] for field in schema["fields"] if field["name"] == field_name)
    record = next(kind for kind in kinds if kind != "null")
    alone = _expanded(record, named, set())
    return {**alone, "namespace": schema.get("namespace", "")}


def _define(kind: Any, named: dict[str, dict[str, Any]]) -> None:  # noqa: ANN401 - JSON
    """Collect the types that a schema defines, by their names."""
    for part in kind if isinstance(kind, list) else ():
        _define(part, named)
    if not isinstance(kind, dict):
        return
    if "name" in kind and kind["type"] in _NAMED:
        named[_short(kind["name"])] = kind
    for part in (kind.get("items"), kind.get("values"), *(field["type"] for field in kind.get("fields", ()))):
        _define(part, named)
    if not isinstance(kind["type"], str):
        _define(kind["type"], named)


def _expanded(kind: Any, named: Mapping[str, dict[str, Any]], seen: set[str]) -> Any:  # noqa: ANN401 - JSON
    """Put definitions in the place of names, the first time that each is met."""
    if isinstance(kind, list):
        return [_expanded(part, named, seen) for part in kind]
    name = _short(kind if isinstance(kind, str) else kind.get("name", ""))
    if name in named:
        if name in seen:
            return name
        seen.add(name)
        kind = named[name]
    if isinstance(kind, str):
        return kind
    made = {key: value for key, value in kind.items() if key not in {"namespace", "doc"}}
    made |= {key: _expanded(made[key], named, seen) for key in ("items", "values") if key in made}
    if name in named:
        made["name"] = name
    if "fields" in made:
        made["fields"] = [{**field, "type": _expanded(field["type"], named, seen)} for field in made["fields"]]
    elif not isinstance(made["type"], str):
        made["type"] = _expanded(made["type"], named, seen)
    return made


def _short(name: str) -> str:
    return name.rsplit(".", 1)[-1]

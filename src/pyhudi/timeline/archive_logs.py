"""The archive of layout 1: log files of records, one an instant and state. Read only.

Spec: format/timeline 3.11, 4.2.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from pyhudi.errors import CorruptData
from pyhudi.formats.avro import decode_record, encode_container
from pyhudi.formats.log import BlockKind, read_blocks, split_rows
from pyhudi.schema.json_text import parse_json
from pyhudi.state.model import TableState
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.lsm import ARCHIVED

__all__ = ["load_archive_logs"]

_NAME: Final = re.compile(r"\.commits_\.archive\.([0-9]{1,9})_.+")
_FIELDS: Final = {
    (Action.COMMIT, State.COMPLETED): "hoodieCommitMetadata",
    (Action.DELTACOMMIT, State.COMPLETED): "hoodieCommitMetadata",
    (Action.REPLACECOMMIT, State.COMPLETED): "hoodieReplaceCommitMetadata",
    (Action.REPLACECOMMIT, State.REQUESTED): "hoodieRequestedReplaceMetadata",
    (Action.REPLACECOMMIT, State.INFLIGHT): "HoodieInflightReplaceMetadata",
    (Action.CLEAN, State.COMPLETED): "hoodieCleanMetadata",
    (Action.CLEAN, State.REQUESTED): "hoodieCleanerPlan",
    (Action.ROLLBACK, State.COMPLETED): "hoodieRollbackMetadata",
    (Action.SAVEPOINT, State.COMPLETED): "hoodieSavePointMetadata",
    (Action.COMPACTION, State.REQUESTED): "hoodieCompactionPlan",
    (Action.LOGCOMPACTION, State.REQUESTED): "hoodieCompactionPlan",
    (Action.INDEXING, State.COMPLETED): "hoodieIndexCommitMetadata",
}
"""Where the record of an action and state is; other states say nothing that is kept."""
_NAMED: Final = frozenset({"record", "enum", "fixed"})
_SYNC: Final = bytes(16)


def load_archive_logs(state: TableState) -> pa.Table:
    """Load all archived instants of a table in layout 1, sorted by requested time and action.

    What an instant says comes as the container file that layout 2 has for it. Older releases did not archive when an
    instant was completed: its completion time is null then.

    Shape:  `timeline.lsm.ARCHIVED`.
    Cost:   reads the whole archive.
    Raises: CorruptData naming the file.
    """
    found: dict[tuple[InstantTime, Action], dict[str, Any]] = {}
    directory = state.layout.history_path
    for _, name in sorted(_numbered(state.storage.list_names(directory))):
        path = f"{directory}/{name}"
        try:
            for entry, schema in _entries(state.storage.get(path)):
                _add(found, entry, schema)
        except CorruptData as error:
            raise type(error)(error.message, **{**error.values, "path": path}) from error
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CorruptData("this is not an archive of instants", path=path) from error
    return pa.Table.from_pylist([row for _, row in sorted(found.items()) if row["action"]], ARCHIVED)


def _numbered(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    return ((int(match[1]), name) for name in names if (match := _NAME.fullmatch(name)))


def _entries(data: bytes) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Read the records of one file, each with the schema that it was written by."""
    for block in read_blocks(lambda offset, length: data[offset : offset + length], len(data)):
        if block.kind is BlockKind.CORRUPT:
            raise CorruptData("a block of the archive is damaged", position=block.position)
        if block.kind is BlockKind.AVRO:
            schema = parse_json(block.schema)
            for row in split_rows(block.read_content()).to_pylist():
                yield decode_record(row, schema), schema


def _add(
    found: dict[tuple[InstantTime, Action], dict[str, Any]], entry: Mapping[str, Any], schema: Mapping[str, Any]
) -> None:
    """Add what a record says of one state of its instant."""
    action, state = Action(entry["actionType"]), State((entry.get("actionState") or "completed").lower())
    instant = Instant(requested_time=InstantTime(entry["commitTime"]), action=action, state=state)
    empty = dict.fromkeys(ARCHIVED.names) | {"instantTime": instant.requested_time, "version": 1}
    row = found.setdefault((instant.requested_time, instant.comparable_action), empty)
    name = _FIELDS.get((action, state), "")
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

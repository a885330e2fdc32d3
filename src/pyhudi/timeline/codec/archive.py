"""What the archive of layout 1 keeps of an instant: one record for each of its files.

Start at `archived_entry`.

Spec: format/timeline 3.11, 4.2.
"""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pyhudi.timeline.codec.commit import decode_commit, encode_commit, read_record
from pyhudi.timeline.codec.schemas import ARCHIVED_ENTRY
from pyhudi.timeline.instant import Action, Instant, State

__all__ = ["ARCHIVED_FIELDS", "ArchivedSchema", "archived_entry", "archived_schema"]

ARCHIVED_FIELDS: Final = {
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
_COMMITS: Final = frozenset({"hoodieCommitMetadata", "hoodieReplaceCommitMetadata", "HoodieInflightReplaceMetadata"})
_NONCE: Final = bytes(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedSchema:
    """The schema of a record, as a value and as the text that a block's header has."""

    record: dict[str, Any]
    text: str


@cache
def archived_schema() -> ArchivedSchema:
    """Return the schema that records are written by."""
    return ArchivedSchema(record=ARCHIVED_ENTRY, text=json.dumps(ARCHIVED_ENTRY, separators=(",", ":")))


def archived_entry(instant: Instant, written: str, data: bytes, file_name: str) -> dict[str, Any]:
    """Return the record of one file of an instant that was written at a time, in the timeline's zone.

    Raises: CorruptData naming the file.
    """
    entry = {
        "commitTime": instant.requested_time,
        "actionType": instant.action.value,
        "actionState": instant.state.name,
        "stateTransitionTime": written,
    }
    field = ARCHIVED_FIELDS.get((instant.action, instant.state))
    if field is None or not data:
        return entry
    if field in _COMMITS:
        data = encode_commit(decode_commit(data, file_name), 2, _NONCE)
    return entry | {field: read_record(data, file_name)}

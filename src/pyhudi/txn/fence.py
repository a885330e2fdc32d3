"""The claim-slot fence: commits and rollbacks of a table claim numbered slots, one after the other.

A lock can end under a holder that stands still, and no lock can tell him. With the fence he is stopped where it counts:
a commit is decided by the create of its slot, which holds all that is needed to publish it, and the next writer
publishes what the last one left. Commit and rollback of one instant want the same slot, so one of them wins; and so do
two rollbacks of it. Only pyhudi's writers claim slots. Start at `fence_of`.

Bytes: slot = JSON {"publish": file name, "data": base64, "nonce": text}
            | {"rollback": instant, "by": instant, "nonce": text}
Spec:  reliability 1.7.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from pyhudi.errors import (
    CommitUnknown,
    CorruptData,
    FileMissing,
    OptionError,
    PreconditionFailed,
    PutUnknown,
    StorageUnavailable,
    Unsupported,
    WriteConflict,
)
from pyhudi.options import Settings, one_of, option
from pyhudi.schema.json_text import parse_json
from pyhudi.state.config import FENCE_KEY, TableConfig
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import update_properties
from pyhudi.storage.api import PutMode
from pyhudi.timeline.active import load_timeline, rollback_target
from pyhudi.timeline.instant import Action, InstantTime, parse_name
from pyhudi.timeline.view import Timeline, find_instant
from pyhudi.txn.locks import lock_for

__all__ = [
    "SLOTS",
    "Fence",
    "Verdict",
    "claim_restore",
    "decide_rollback",
    "decided_timeline",
    "fence_declaration",
    "fence_of",
    "remember_fence",
]

FENCE: Final = option(
    FENCE_KEY,
    "off",
    "on: commits are decided by numbered slots, also if a lock ends under its holder. Kept in the table's properties; "
    "protects pyhudi's writers from each other, and from no other program.",
    parse=one_of("on", "off"),
)

SLOTS: Final = ".hoodie/.fence"
_DIGITS: Final = 20
_SLOT: Final = re.compile(rf"[0-9]{{{_DIGITS}}}")


class Verdict(StrEnum):
    """What was decided of an instant that is to be rolled back."""

    OURS = "ours"
    """It is rolled back, by us."""
    ANOTHERS = "another's"
    """It is rolled back by another rollback, which the next write finishes if its writer does not."""
    COMMITTED = "committed"
    """Its commit was decided first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """The slot that was free when we looked; what is checked after that holds if we get it."""

    state: TableState
    number: int

    def claim_commit(self, path: str, data: bytes) -> None:
        """Decide our commit; these bytes will be published under this path, by us or by others.

        Raises: WriteConflict if another writer got the slot; CommitUnknown if storage did not say.
        """
        name = path.rsplit("/", 1)[-1]
        try:
            self._claim({"publish": name, "data": base64.b64encode(data).decode()})
        except PreconditionFailed as error:
            raise WriteConflict(
                "another writer decided a commit or a rollback while this one was checked; write again",
                slot=self.number,
            ) from error
        except (PutUnknown, StorageUnavailable) as error:
            raise CommitUnknown(
                "storage did not say whether the commit was decided; the next write settles it", file=name
            ) from error

    def claim_rollback(self, target: InstantTime, rollback: InstantTime) -> bool:
        """Decide that an instant is rolled back, and by which rollback; False if another writer got the slot."""
        try:
            self._claim({"rollback": target, "by": rollback})
        except PreconditionFailed:
            return False
        return True

    def _claim(self, said: dict[str, str]) -> None:
        data = json.dumps({**said, "nonce": str(self.state.env.uuid())}).encode()
        self.state.storage.put(_path(self.number), data, PutMode.CREATE)


def fence_of(state: TableState) -> Fence | None:
    """Publish what the last claim left unpublished, and give the next slot; None where the table has no fence.

    Call it before the timeline is read that a commit or rollback is checked against.

    Cost:   one listing and two reads.
    Raises: CorruptData for a slot that is none.
    """
    if not state.config.is_fenced:
        return None
    newest = max((_number(name) for name in state.storage.list_names(SLOTS)), default=-1)
    if newest >= 0:  # its claimer had published all before it
        _publish_slot(state, newest)
    return Fence(state=state, number=newest + 1)


def decided_timeline(state: TableState) -> Timeline:
    """Read the timeline with all that the fence has decided: a time is issued later than every time that was given.

    Locks:  the table lock is held.
    Cost:   what `fence_of` costs, and the timeline.
    Raises: as `fence_of`.
    """
    fence_of(state)
    return load_timeline(state, is_locked=True)


def decide_rollback(
    state: TableState, target: InstantTime, rollback: InstantTime, *, takes_completed: bool = False
) -> Verdict:
    """Claim that an instant is rolled back by this rollback, before anything of it is deleted.

    A target that is committed is left alone, unless it is to be taken back all the same, or was claimed for that. Where
    the table has no fence, what the timeline shows now decides, and nothing is claimed.

    Cost: what `fence_of` costs, a listing and a put; a read for each slot if others roll the same instant back. A
          listing where the table has no fence.
    """
    while (fence := fence_of(state)) is not None:
        timeline = load_timeline(state)
        is_committed = _is_completed(timeline, target)
        is_asked = is_committed or _has_rival(state, timeline, target, rollback)
        decided = _decided_by(state, fence, target) if is_asked else None
        if is_committed and decided != rollback and not takes_completed:
            return Verdict.COMMITTED
        if decided is not None:
            return Verdict.OURS if decided == rollback else Verdict.ANOTHERS
        if fence.claim_rollback(target, rollback):
            return Verdict.OURS
    is_kept = not takes_completed and _is_completed(load_timeline(state), target)
    return Verdict.COMMITTED if is_kept else Verdict.OURS


def _is_completed(timeline: Timeline, time: InstantTime) -> bool:
    found = find_instant(timeline, time)
    return found is not None and found.is_completed


def claim_restore(state: TableState, restore: InstantTime) -> None:
    """Claim a slot once a restore is requested: a commit that was checked before that gets none any more.

    Does nothing where the table has no fence.

    Cost: as `fence_of`, and a put.
    """
    while (fence := fence_of(state)) is not None and not fence.claim_rollback(restore, restore):
        pass


def _has_rival(state: TableState, timeline: Timeline, target: InstantTime, rollback: InstantTime) -> bool:
    """Return whether another rollback of the instant is on the timeline: it was there before it could claim."""
    others = [one for one in timeline.instants if one.action is Action.ROLLBACK and one.requested_time != rollback]
    return any(rollback_target(state, one) == target for one in others)


def _decided_by(state: TableState, fence: Fence, target: InstantTime) -> str | None:
    """Find the rollback that has claimed the instant, if one has since it was last committed.

    A service whose commit was taken back is run again by its plan, and has the same instant.
    """
    claims = (_read(state, _path(number)) for number in range(fence.number - 1, -1, -1))
    own = (said for said in claims if said.get("rollback") == target or _published(said) == target)
    return next((said.get("by", "") if "rollback" in said else None for said in own), None)


def _published(said: Mapping[str, str]) -> InstantTime | None:
    """Return which instant a slot commits; None for a rollback."""
    instant = parse_name(said.get("publish", ""))
    return None if instant is None else instant.requested_time


def fence_declaration(settings: Settings) -> dict[str, str]:
    """Return the property that puts a fence around a new table, if the options ask for one."""
    return {FENCE.key: "on"} if settings.get(FENCE) == "on" else {}


def remember_fence(state: TableState, settings: Settings) -> TableState:
    """Put a fence around a table that has none, if the options ask for one.

    Locks:  takes the table lock.
    Raises: OptionError for options that take a fence away: a writer that stands still may rely on it; Unsupported where
            a create may have two winners.
    """
    if not settings.has(FENCE) or (settings.get(FENCE) == "on") == state.config.is_fenced:
        return state
    if state.config.is_fenced:
        raise OptionError("a table's fence stays", key=FENCE.key, value="off", table="on")
    if not state.storage.traits.has_atomic_create:
        raise Unsupported("a fence needs a store whose creates have one winner", storage=state.storage.url)
    with lock_for(state, settings).hold():
        stored = update_properties(state.storage, state.env, {FENCE.key: "on"})
    return replace(state, config=TableConfig.of(stored))


def _publish_slot(state: TableState, number: int) -> None:
    """Create the completed instant that a slot holds, unless it is there."""
    path = _path(number)
    said = _read(state, path)
    if "rollback" in said:
        return
    try:
        name, data = said["publish"], base64.b64decode(said["data"], validate=True)
    except (KeyError, TypeError, binascii.Error) as error:
        raise CorruptData("a slot of the fence cannot be read", path=path) from error
    instant = parse_name(name)
    if instant is None or not instant.is_completed or "/" in name:
        raise CorruptData("a slot of the fence names no completed instant", path=path, name=name)
    target = f"{state.layout.timeline_path}/{name}"
    stored = _stored(state, target)
    if stored is None:
        with suppress(PreconditionFailed):
            state.storage.put(target, data, PutMode.CREATE)
            return
        stored = state.storage.get(target)  # another writer was first
    if stored != data:
        raise CorruptData("a completed instant is not what its slot of the fence says", path=target)


def _stored(state: TableState, path: str) -> bytes | None:
    try:
        return state.storage.get(path)
    except FileMissing:
        return None


def _read(state: TableState, path: str) -> dict[str, str]:
    try:
        said = parse_json(state.storage.get(path))
    except CorruptData as error:
        raise CorruptData("a slot of the fence cannot be read", path=path) from error
    if not isinstance(said, dict):
        raise CorruptData("a slot of the fence cannot be read", path=path)
    return said


def _number(name: str) -> int:
    """Read the number of a slot; nothing else is in their directory, and the last of all numbers is never reached."""
    if not _SLOT.fullmatch(name) or name == "9" * _DIGITS:
        raise CorruptData("this is no slot of the fence; remove it", path=f"{SLOTS}/{name}")
    return int(name)


def _path(number: int) -> str:
    return f"{SLOTS}/{number:0{_DIGITS}}"

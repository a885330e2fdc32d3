"""The claim-slot fence: commits and rollbacks of a table claim numbered slots, one after the other.

A lock can end under a holder that stands still, and no lock can tell him. With the fence he is stopped where it counts:
a commit is decided by the create of its slot, which holds all that is needed to publish it, and whoever comes next
publishes what the last one left. Commit and rollback of one instant want the same slot, so one of them wins. Only
pyhudi's writers claim slots. Start at `fence_of`.

Bytes: slot = JSON {"publish": file name, "data": base64, "nonce": text} | {"rollback": instant, "nonce": text}
Spec:  reliability 1.7.
"""

import base64
import binascii
import json
from dataclasses import dataclass, replace
from typing import Final

from pyhudi.errors import (
    CommitUnknown,
    CorruptData,
    OptionError,
    PreconditionFailed,
    PutUnknown,
    StorageUnavailable,
    Unsupported,
    WriteConflict,
)
from pyhudi.options import Settings, one_of, option
from pyhudi.state.config import FENCE_KEY, TableConfig
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import update_properties
from pyhudi.storage.api import PutMode
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import InstantTime, parse_name
from pyhudi.timeline.view import find_instant
from pyhudi.txn.locks import lock_for

__all__ = ["SLOTS", "Fence", "fence_declaration", "fence_of", "remember_fence", "wins_rollback"]

FENCE: Final = option(
    FENCE_KEY,
    "off",
    "on: commits are decided by numbered slots, also if a lock ends under its holder. Kept in the table's properties; "
    "protects pyhudi's writers from each other, and from nobody else.",
    parse=one_of("on", "off"),
)

SLOTS: Final = ".hoodie/.fence"
_DIGITS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """The slot that was free when we looked; what is checked after that holds if we get it."""

    state: TableState
    number: int

    def claim_commit(self, path: str, data: bytes) -> None:
        """Decide our commit; these bytes will be published under this path, by us or by others.

        Raises: WriteConflict if somebody else got the slot; CommitUnknown if storage did not say.
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

    def claim_rollback(self, target: InstantTime) -> bool:
        """Decide that an instant is rolled back; False if somebody else got the slot."""
        try:
            self._claim({"rollback": target})
        except PreconditionFailed:
            return False
        return True

    def _claim(self, said: dict[str, str]) -> None:
        data = json.dumps({**said, "nonce": str(self.state.env.uuid())}).encode()
        self.state.storage.put(_path(self.number), data, PutMode.CREATE)


def fence_of(state: TableState) -> Fence | None:
    """Publish what the last claim left unpublished, and give the next slot; None where the table has no fence.

    Call it before the timeline is read that a commit or rollback is checked against.

    Cost:   one listing, one read and one look.
    Raises: CorruptData for a slot that is none.
    """
    if not state.config.is_fenced:
        return None
    numbers = [int(one.name) for one in state.storage.list_directory(SLOTS).files if one.name.isdigit()]
    newest = max(numbers, default=-1)
    if newest >= 0:  # whoever claimed it had published all before it
        _publish(state, newest)
    return Fence(state=state, number=newest + 1)


def wins_rollback(state: TableState, target: InstantTime) -> bool:
    """Claim that an instant is rolled back, before anything of it is deleted; False if its commit was decided first.

    Always true where the table has no fence.
    """
    while (fence := fence_of(state)) is not None:
        found = find_instant(load_timeline(state), target)
        if found is not None and found.is_completed:
            return False
        if fence.claim_rollback(target):
            break
    return True


def fence_declaration(settings: Settings) -> dict[str, str]:
    """Give the property that puts a fence around a new table, if the options ask for one."""
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


def _publish(state: TableState, number: int) -> None:
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
    try:
        state.storage.put(target, data, PutMode.CREATE)
    except PreconditionFailed as error:
        if state.storage.get(target) != data:
            raise CorruptData("a completed instant is not what its slot of the fence says", path=target) from error


def _read(state: TableState, path: str) -> dict[str, str]:
    try:
        said = json.loads(state.storage.get(path))
    except ValueError as error:
        raise CorruptData("a slot of the fence cannot be read", path=path) from error
    if not isinstance(said, dict):
        raise CorruptData("a slot of the fence cannot be read", path=path)
    return said


def _path(number: int) -> str:
    return f"{SLOTS}/{number:0{_DIGITS}}"

"""Whether the table's properties have lost a line: what is stored then shows that it was there.

Their checksum covers the names of table and database only. Without its record key a table looks like one whose keys are
generated, and without its partition fields like one without partitions: a write would put a second row of a key there.
Start at `require_no_lost_line`.

Spec: format/timeline 1.4; format/files 8.1.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Final

from pyhudi.engine.api import KEY
from pyhudi.errors import CorruptData, FileMissing
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.queries.committed_files import committed_files
from pyhudi.queries.key_encoding import stored_key
from pyhudi.queries.snapshot import plan_snapshot, slice_reader
from pyhudi.state.config import TableConfig
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import PROPERTIES_PATH
from pyhudi.timeline.view import Timeline

__all__ = ["LostLine", "find_lost_lines", "require_no_lost_line"]

_RECORD_KEY: Final = "hoodie.table.recordkey.fields"
_PARTITION: Final = "hoodie.table.partition.fields"
_GENERATED: Final = re.compile(r"\d{14,17}_\d+_\d+")
"""Instant, task and row, as every writer generates keys."""
_FILES: Final = 8
"""How many files of either end are asked at most: cleans may have taken some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostLine:
    """A property that is not there, and what shows that it was."""

    key: str
    shown_by: str
    found: str


def require_no_lost_line(state: TableState, timeline: Timeline) -> None:
    """Check that nothing stored needs a property that is missing.

    Cost:   as `find_lost_lines`.
    Raises: CorruptData naming the line.
    """
    for lost in find_lost_lines(state, timeline):
        raise CorruptData(
            "the table's properties have lost a line, which its rows were written with; put it back as it was",
            file=PROPERTIES_PATH,
            missing=lost.key,
            shown_by=lost.shown_by,
            found=lost.found,
        )


def find_lost_lines(state: TableState, timeline: Timeline) -> list[LostLine]:
    """Find lines without which stored rows cannot have been written.

    Cost: nothing for a table with key and partition fields. Else a small read of each active commit, once a process,
          and two footers where keys are generated; where such a table has logs only, a file slice.
    """
    config = state.config
    is_unpartitioned = not config.partition_fields and config.key_generator is not KeyGenerator.USER_PROVIDED
    if config.record_key and not is_unpartitioned:
        return []
    found = []
    if not config.record_key and (lost := _lost_key(state, timeline)) is not None:
        found.append(lost)
    if is_unpartitioned:
        files = ((where, one.path) for (where, _), one in committed_files(state, timeline).bases.items() if where)
        found += [LostLine(key=_PARTITION, shown_by=path, found=where) for where, path in list(files)[:1]]
    return found


def _lost_key(state: TableState, timeline: Timeline) -> LostLine | None:
    """Find what shows that keys are made of fields: another property that needs them, or a stored key."""
    said = _needs_fields(state.config)
    if said:
        return LostLine(key=_RECORD_KEY, shown_by=PROPERTIES_PATH, found=said)
    if state.config.key_generator is KeyGenerator.USER_PROVIDED:
        return None
    for path, key in _some_keys(state, timeline):
        if key and not _GENERATED.fullmatch(key):
            return LostLine(key=_RECORD_KEY, shown_by=path, found=key)
    return None


def _needs_fields(config: TableConfig) -> str:
    """Return a property that no table of generated keys has, as text."""
    if not config.populates_meta_fields:
        return "hoodie.populate.meta.fields=false"
    return next((f"{name}={text}" for name, text in config.index.items() if "BUCKET" in text or "hash" in name), "")


def _some_keys(state: TableState, timeline: Timeline) -> Iterable[tuple[str, str]]:
    """Read a key of the newest base file and one of the oldest, else the first of a table that has logs only."""
    files = sorted(committed_files(state, timeline).bases.values(), key=lambda one: (one.instant, one.path))
    if not files:
        return _merged_key(state, timeline)
    ends = [one.path for one in files[: -_FILES - 1 : -1]], [one.path for one in files[:_FILES]]
    return chain.from_iterable(_first_key(state, paths) for paths in ends)


def _first_key(state: TableState, paths: Iterable[str]) -> Iterable[tuple[str, str]]:
    for path in paths:
        with suppress(FileMissing):  # cleaned, where its file group was replaced
            key = stored_key(state, path)
            if key is not None:
                return [(path, key)]
    return []


def _merged_key(state: TableState, timeline: Timeline) -> Iterable[tuple[str, str]]:
    if not timeline.completed:
        return []
    plan = plan_snapshot(state, timeline, columns=[KEY], predicate=None)
    for one in plan.slices:
        for batch in slice_reader(plan)(one):
            if batch.num_rows:
                return [(one.logs[-1].path, str(batch.column(0)[0].as_py()))]
    return []

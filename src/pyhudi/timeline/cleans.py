"""What cleans took away: files whose absence makes an older moment unreadable.

A clean takes what is superseded when it is planned, so one that was completed before a moment took nothing that its
readers need. A pending one may have begun, and names its files beforehand. Start at `cleaned_since`.

Spec: format/timeline 3.6, 4, 10.1.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from pyhudi.errors import CorruptData, FileMissing
from pyhudi.state.layout import Layout
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline, read_completed, read_plan, read_service_metadata
from pyhudi.timeline.cleaning import CleanMetadata
from pyhudi.timeline.codec import decode_clean_metadata, decode_plan
from pyhudi.timeline.history import Past, said_once
from pyhudi.timeline.instant import Action, Instant, InstantTime
from pyhudi.timeline.view import Timeline

__all__ = ["cleaned_since", "files_being_cleaned", "last_clean"]

_Files = dict[str, frozenset[str]]
"""Names of files by partition path."""
_LISTS = ("deletePathPatterns", "successDeleteFiles", "failedDeleteFiles")
"""A file that was gone already counts as failed."""


def cleaned_since(state: TableState, moment: Timeline) -> Mapping[str, frozenset[str]]:
    """Read what cleans took that were completed after a moment, by its cut timeline, or that are pending.

    Returns names of files by partition path; what was taken before the moment may be among them.

    Call it after the files were listed: the active timeline is listed again, so that no clean is missed which ran
    meanwhile.

    Cost:   a listing of the timeline, and once a process one read of each clean since; where no clean before the moment
            is active any more, also the history.
    Raises: CorruptData naming the file.
    """
    cleans = [one for one in load_timeline(state).instants if one.action is Action.CLEAN]
    until = moment.until or InstantTime("")
    found = [_taken_by(state, one) for one in cleans if _is_since(one, until, moment.layout)]
    has_earlier = any(one.is_completed and moment.point(one) <= until for one in cleans)
    if None in found or not has_earlier:
        found.extend(_archived_since(state, until, moment.layout))
    return _merged(one for one in found if one is not None)


def files_being_cleaned(state: TableState, timeline: Timeline) -> set[tuple[str, str]]:
    """Return partition path and name of the files that pending cleans may have deleted.   Cost: a read of each plan."""
    found: set[tuple[str, str]] = set()
    for one in timeline.instants:
        if one.action is Action.CLEAN and not one.is_completed:
            taken = _taken_by(state, one) or {}
            found.update((where, name) for where, names in taken.items() for name in names)
    return found


def last_clean(state: TableState, timeline: Timeline) -> CleanMetadata | None:
    """Read what the newest completed clean of the active timeline says; None where there is none.

    Cost:   a read, once a process.
    Raises: CorruptData naming the file.
    """
    done = [one for one in timeline.instants if one.action is Action.CLEAN and one.is_completed]
    for one in reversed(done):
        name = one.file_name
        try:
            return said_once(state, "clean", name, partial(_clean_metadata, state, one))
        except FileMissing:  # archived since the timeline was read
            continue
    return None


def _clean_metadata(state: TableState, clean: Instant) -> CleanMetadata:
    return decode_clean_metadata(read_completed(state, clean), clean.file_name)


def _is_since(clean: Instant, until: InstantTime, layout: Layout) -> bool:
    """Return whether a clean may have taken what was visible; the dates of layout 1 do not say for sure."""
    return not layout.has_completion_times or not clean.is_completed or (clean.completion_time or until) > until


def _taken_by(state: TableState, clean: Instant) -> _Files | None:
    """Read what one clean took, or plans to take; None if it was archived meanwhile."""
    try:
        name = clean.file_name
        if clean.is_completed:
            return said_once(state, "cleaned", name, lambda: _taken(read_service_metadata(state, clean), name))
        plan = read_plan(state, clean)
        return _planned(decode_plan(plan, name), name) if plan else {}  # no clean is run without its plan
    except FileMissing:
        return None


def _archived_since(state: TableState, until: InstantTime, layout: Layout) -> Iterable[_Files]:
    """Read what archived cleans took that were completed after a point; of layout 1 all."""
    past = Past(state, ())
    for path in past.files():
        for done, files in said_once(state, "cleaned", path, partial(_taken_in, past, path)):
            if not done or done > until or not layout.has_completion_times:
                yield files


def _taken_in(past: Past, path: str) -> list[tuple[str | None, _Files]]:
    """Read what the cleans of one history file took, each with its completion."""
    rows = [row for one in past.rows(path, (Action.CLEAN,), "completionTime", "metadata") for row in one.to_pylist()]
    return [
        (row["completionTime"], _taken(decode_plan(row["metadata"], path), path)) for row in rows if row["metadata"]
    ]


def _taken(metadata: Mapping[str, Any], path: str) -> _Files:
    try:
        return {
            partition: frozenset(_name(file) for kind in _LISTS for file in said.get(kind) or ())
            for partition, said in (metadata.get("partitionMetadata") or {}).items()
        }
    except (TypeError, AttributeError) as error:
        raise CorruptData("this is not clean metadata", file=path) from error


def _planned(plan: Mapping[str, Any], path: str) -> _Files:
    """Read a plan: version 2 has paths, earlier ones names."""
    try:
        names = plan.get("filesToBeDeletedPerPartition") or {}
        paths = plan.get("filePathsToBeDeletedPerPartition") or {}
        return _merged(
            (
                {where: frozenset(map(_name, files)) for where, files in names.items()},
                {where: frozenset(_name(one["filePath"]) for one in files) for where, files in paths.items()},
            )
        )
    except (TypeError, AttributeError, KeyError) as error:
        raise CorruptData("this is not a plan of a clean", file=path) from error


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _merged(many: Iterable[_Files]) -> _Files:
    merged: dict[str, set[str]] = {}
    for files in many:
        for partition, names in files.items():
            merged.setdefault(partition, set()).update(names)
    return {partition: frozenset(names) for partition, names in merged.items()}

"""Logs that are appended as if no other writer did, or as if only base files made a file group."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tests.simulation.mutants.mutant import COMMIT, Mutant, always

from pyhudi.filegroup.model import FileSlice
from pyhudi.txn.conflicts import Footprint


def appends_meet_nothing(meeting: Callable[..., Any]) -> Callable[..., Any]:
    """Take what is appended for something that no other writer's work stands in the way of."""

    def blind(time: str, ours: Footprint, *others: Any) -> Any:
        return meeting(time, replace(ours, groups=ours.groups - ours.appended, appended=frozenset()), *others)

    return blind


def base_files_only(stored_buckets: Callable[..., Any]) -> Callable[..., Any]:
    """Look for hash buckets among file groups with base files."""

    def seen(slices: Sequence[FileSlice], hashing: Any) -> Any:
        return stored_buckets([one for one in slices if one.base is not None], hashing)

    return seen


MUTANTS = (
    Mutant("appends that meet nothing", "delta-add", (("pyhudi.txn.conflicts._meeting", appends_meet_nothing),)),
    Mutant("logs of a first try that stay", "delta-add", ((f"{COMMIT}.reconcile", always([])),)),
    Mutant(
        "file groups of logs only that are not seen",
        "delta-bucket",
        (("pyhudi.commit.write_plan._stored_buckets", base_files_only),),
    ),
)

"""Rows, files and their statistics that are written wrong, at first or when a write is retried in place."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from tests.simulation.mutants.mutant import COMMIT, Mutant, always, off, off_under

from pyhudi.filegroup.write_task import WriteStatus
from pyhudi.timeline.metadata import WriteStat
from pyhudi.txn.conflicts import Overlap


def update_wins(_: object) -> Callable[..., Any]:
    """Take an updating row for the newer one, whatever its ordering value."""
    return lambda batch, rows, *_: np.ones(len(rows), dtype=bool)


def others_may_be_later(_: object) -> Callable[[str, Collection[Overlap]], bool]:
    """Retry in place also beside writers that began after us, on top of which readers would not see us."""
    return lambda time, overlaps: bool(overlaps) and not any(one.is_replaced or one.partitions for one in overlaps)


def first_revision(superseded: Callable[..., Any]) -> Callable[..., Any]:
    """Take every retry for the first write."""
    return lambda **said: superseded(**{**said, "revision": 0})


def one_token(_: object) -> Callable[..., str]:
    """Name every retry like the first write."""
    return lambda bucket, plan_revision: "0-0-0"


def forgetful(_: object) -> Callable[..., Any]:
    """Put no new key into a filter that is there."""
    return lambda bloom, keys: bloom


def narrow(key_values: Callable[..., Any]) -> Callable[..., Any]:
    """End a file's key range with its first key."""
    return lambda **said: key_values(**{**said, "max_key": said["min_key"]})


def larger(stat: Callable[[WriteStatus], WriteStat]) -> Callable[[WriteStatus], WriteStat]:
    """Record one byte more than a file has."""
    return lambda status: replace(stat(status), file_size_in_bytes=status.size_bytes + 1)


def nothing_written(stored_status: Callable[..., WriteStatus]) -> Callable[..., WriteStatus]:
    """Report no file."""
    return lambda *given: replace(stored_status(*given), path="")


def last_left_out(to_statuses: Callable[[pa.Table], list[WriteStatus]]) -> Callable[[pa.Table], list[WriteStatus]]:
    """Leave the last write status out."""
    return lambda table: to_statuses(table)[:-1]


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the later write wins whatever its ordering value",
        "update-order",
        (("pyhudi.kernels.merge._wins", update_wins),),
    ),
    Mutant("retried in place beside later ones", "in-place", ((f"{COMMIT}.can_retry_in_place", others_may_be_later),)),
    Mutant(
        "retried in place whatever keys have moved",
        "in-place-moved-key",
        (("pyhudi.commit.retry._has_moved_keys", always(False)),),
    ),
    Mutant(
        "retried in place whatever columns have changed",
        "in-place-widen",
        ((f"{COMMIT}.require_same_schema", off_under("_superseded")),),
    ),
    Mutant("retried in place under the old name", "in-place", ((f"{COMMIT}.Superseded", first_revision),)),
    Mutant("a write token that never changes", "in-place", (("pyhudi.commit.retry.write_token", one_token),)),
    Mutant("strays are not reconciled", "in-place", ((f"{COMMIT}.reconcile", off),)),
    Mutant("a filter forgets a key", "update-update", (("pyhudi.filegroup.key_filter.add", forgetful),)),
    Mutant("a key range is too narrow", "update-update", (("pyhudi.filegroup.writer.base_file_key_values", narrow),)),
    Mutant("a commit says another size", "update-update", (("pyhudi.tasks.write_stats.stat_of", larger),)),
    Mutant(
        "a task that runs again reports nothing",
        "lost-task",
        (("pyhudi.filegroup.writer._stored_status", nothing_written),),
    ),
    Mutant("a write status is left out", "update-update", (("pyhudi.commit.work.to_statuses", last_left_out),)),
)

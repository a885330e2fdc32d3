"""How large a table's records are, and so how many a file takes. Start at `sizing_of`."""

import math
from typing import Final

from pyhudi.commit.begin import WriteContext
from pyhudi.commit.call import WriteCall
from pyhudi.commit.write_plan import RECORD_SIZE, SMALL_FILE_LIMIT, SMALL_FILES_COUNT, Sizing
from pyhudi.options import between, option
from pyhudi.tasks.new_files import MAX_FILE_SIZE
from pyhudi.tasks.row_size import SAMPLE_ROWS, stored_row_bytes
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.instant import Action
from pyhudi.timeline.view import Timeline, completed_writes

__all__ = ["known_row_bytes", "sizing_of"]

THRESHOLD: Final = option(
    "hoodie.record.size.estimation.threshold",
    1.0,
    "What a record takes is learned from commits that wrote more than so many times"
    " hoodie.parquet.small.file.limit; of smaller ones the footers of files weigh too much.",
    parse=between(0.0, 1e9),
)
_FEWEST_ROWS: Final = 2
"""One row needs one file."""
_FEW_ROWS: Final = 16
_SAMPLE_BYTES: Final = 32 << 20
_HISTORY: Final = 5
_MOST_GROWTH: Final = 2.0
_TINY_BYTES: Final = 1 << 20


def sizing_of(write: WriteContext) -> Sizing:
    """Learn how large this table's records are: from its newest commits, else as the option says, else from the rows.

    Units: bytes.
    Cost:  of a table without a commit of some size some rows are encoded, where these could need more than one file.
    """
    settings = write.call.settings
    return Sizing(
        max_file_bytes=settings.get(MAX_FILE_SIZE),
        small_file_bytes=settings.get(SMALL_FILE_LIMIT),
        small_files_count=settings.get(SMALL_FILES_COUNT),
        record_bytes=known_row_bytes(write) or _sampled_bytes(write),
        growth=math.inf if settings.has(SMALL_FILES_COUNT) else _MOST_GROWTH,
        tiny_bytes=_TINY_BYTES,
    )


def known_row_bytes(write: WriteContext) -> float:
    """Return what a record takes by the table's commits, else by the option; 0 where neither says."""
    settings = write.call.settings
    said = float(settings.get(RECORD_SIZE)) if settings.has(RECORD_SIZE) else 0.0
    least_bytes = settings.get(THRESHOLD) * settings.get(SMALL_FILE_LIMIT)
    return _stored_bytes(write.call, write.snapshot, least_bytes) or said


def _sampled_bytes(write: WriteContext) -> float:
    """Return what some of the rows take; the option's default where they fit into a file anyway, or are keys only."""
    call, guess, most = write.call, float(RECORD_SIZE.default), max(write.rows_by_partition.values(), default=0)
    if most < _FEWEST_ROWS or not set(write.schema.names) <= set(call.engine.schema(write.rows.frame).names):
        return guess
    in_memory = _bytes_in_memory(write)
    if most * max(guess, in_memory) <= call.settings.get(MAX_FILE_SIZE):
        return guess
    count = min(SAMPLE_ROWS, max(_FEW_ROWS, int(_SAMPLE_BYTES / max(1.0, in_memory))))
    sample = call.engine.sample(write.rows.frame, count)
    return stored_row_bytes(sample, call.spec(write.time, write.schema)) or guess


def _bytes_in_memory(write: WriteContext) -> float:
    """Return what a row takes in this process, by a few; of rows that lie in tasks as it was measured with their count.

    To look at such rows is a job of Spark.

    Units: bytes of Arrow.
    """
    if write.call.engine.has_placed_rows:
        return write.rows.row_bytes
    few = write.call.engine.sample(write.rows.frame, _FEW_ROWS)
    return few.nbytes / few.num_rows if few.num_rows else 0.0


def _stored_bytes(call: WriteCall, timeline: Timeline, least_bytes: float) -> float:
    """Return what a row of base files takes, by a commit that wrote more than so many bytes of them; 0 where none is.

    Of a few rows the footer, with its bloom filter, takes far more than they do.

    Many delta commits write logs only, but a compaction, or the first commit, wrote what is below them.
    """
    newest = sorted(completed_writes(timeline), key=timeline.point, reverse=True)
    merged = [one for one in newest if one.action is Action.COMMIT]
    for instant in dict.fromkeys([*newest[:_HISTORY], *merged[:1], *newest[-1:]]):
        found = [stat for stats in read_commit_metadata(call.state, instant).stats.values() for stat in stats]
        stats = [stat for stat in found if not stat.is_log]
        rows = sum(stat.num_writes or 0 for stat in stats)
        size_bytes = sum(stat.file_size_in_bytes or 0 for stat in stats)
        if rows and size_bytes > least_bytes:
            return size_bytes / rows
    return 0.0

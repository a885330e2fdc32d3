"""Decide where a write of few rows runs: where its rows come from, or in this process. Start at `bring_few_rows`.

A job of Spark with Python workers takes half a second however little there is to do, and a write has several. This is
the one place that decides; what follows is the same on either engine.
"""

from collections.abc import Sequence
from dataclasses import replace

from pyhudi.commit.begin import WriteContext
from pyhudi.commit.call import DRIVER_WRITE_BYTES
from pyhudi.filegroup.model import FileSlice

__all__ = ["bring_few_rows", "with_few_files_here"]


def bring_few_rows(write: WriteContext, slices: Sequence[FileSlice] | None = None) -> WriteContext:
    """Return the write with its rows in this process, if they and the files that it may read and rewrite are few.

    `slices` are those that it may touch, where they are others than those of the rows' partitions.

    Cost: one job that collects the rows, which are computed already, unless they were brought here with their keys;
          none follows.
    """
    call, rows = write.call, write.rows
    if call.is_dry_run or rows.size_bytes is None:
        return write
    touched = write.slices if slices is None else slices
    if rows.size_bytes + _size_bytes(touched) > call.settings.get(DRIVER_WRITE_BYTES):
        return write
    with write.phases.step("bring rows"):
        engine, rows = call.engine.bring(rows)
    return replace(write, call=replace(call, engine=engine), rows=rows)


def with_few_files_here(write: WriteContext, slices: Sequence[FileSlice]) -> WriteContext:
    """Return a write without rows that is done in this process, if the files that it may read and rewrite are few."""
    call = write.call
    if call.is_dry_run or _size_bytes(slices) > call.settings.get(DRIVER_WRITE_BYTES):
        return write
    engine = call.engine.here()
    return write if engine is None else replace(write, call=replace(call, engine=engine))


def _size_bytes(slices: Sequence[FileSlice]) -> int:
    files = (file for one in slices for file in (one.base, *one.logs) if file is not None)
    return sum(file.size_bytes for file in files)

"""Write the batches of a streaming query exactly once: what `foreachBatch` is given.

Spark runs a batch again when the query died between the table's commit and the checkpoint's. So each commit says whose
batch it holds, and a batch that a commit says already is left out. Commits also carry the last batch of every query
forward, so that the answer does not leave with the archived part of the timeline. Start at `streaming_sink`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame

from pyhudi.arguments import as_count, as_mapping, as_text
from pyhudi.env import SystemEnv
from pyhudi.errors import CorruptData, HudiError, OptionError, TableNotFound
from pyhudi.schema.json_text import parse_json
from pyhudi.spark.session import is_connect
from pyhudi.spark.writing import write
from pyhudi.state.model import TableState
from pyhudi.storage.opening import open_storage
from pyhudi.table import open_table
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.view import completed_writes

__all__ = ["StreamingSink", "batch_metadata", "last_batches", "streaming_sink"]

QUERY_ID: Final = "pyhudi.stream.query_id"
BATCH_ID: Final = "pyhudi.stream.batch_id"
LAST_BATCHES: Final = "pyhudi.stream.last_batches"
"""Of every query, the last batch that the table holds: a JSON object."""
_METADATA: Final = "metadata"
"""What a checkpoint calls the file that says whose it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamingSink:
    """A function of (DataFrame, batch id) that writes a batch once; it pickles, as Spark Connect asks."""

    path: str
    operation: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    query_id: str | None = None
    checkpoint: str | None = None
    """Where the query's id is read, over Spark Connect."""
    partition_by: tuple[str, ...] = ()
    storage_options: Mapping[str, str] | None = None
    needs_name: bool = False
    """Whether a new table may be called after its path."""

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """Write one batch, unless the table holds it.

        Raises: OptionError where the query's id is not known; what `pyhudi.spark.write` raises.
        """
        batch_id = as_count("batch_id", batch_id)
        query = self.query_id or _query_of(df, self.checkpoint)
        last = self._last_batches(query)
        if batch_id <= last.get(query, -1):
            return
        write(
            df,
            self.path,
            self.operation,
            options=self.options,
            partition_by=self.partition_by or None,
            storage_options=self.storage_options,
            needs_name=self.needs_name,
            commit_metadata=batch_metadata(last, query, batch_id),
        )

    def _last_batches(self, query: str) -> dict[str, int]:
        try:
            state = open_table(self.path, storage_options=self.storage_options).state
        except TableNotFound:
            return {}
        return last_batches(state, query)


def streaming_sink(
    path: str,
    operation: str | None = None,
    options: Mapping[str, object] | None = None,
    *,
    query_id: str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> StreamingSink:
    """Make the function for `df.writeStream.foreachBatch(...)` that writes each batch exactly once.

    A batch is known by the query's id, which Spark keeps in the checkpoint, and its number. Spark Connect does not
    tell the id: give a `query_id` of your own there, one for each checkpoint. The other arguments are those of
    `pyhudi.spark.write`; without an operation it is upsert.
    """
    return StreamingSink(
        path=path,
        operation=None if operation is None else as_text("operation", operation),
        options=as_mapping("options", options),
        query_id=None if query_id is None else as_text("query_id", query_id),
        storage_options=storage_options,
    )


def batch_metadata(last: Mapping[str, int], query: str, batch_id: int) -> dict[str, str]:
    """Return what a commit says of the batch that it holds, and of every query's last one."""
    batches = json.dumps({**last, query: batch_id}, sort_keys=True)
    return {QUERY_ID: query, BATCH_ID: str(batch_id), LAST_BATCHES: batches}


def last_batches(state: TableState, query: str) -> dict[str, int]:
    """Find the last batch of every query that commits tell of, newest commit first.

    The search ends at the query's own newest commit: its batches are committed one after the other. What other
    queries' commits carry forward of it may be older, as they may have begun before that commit, never newer.

    Cost: the metadata of the commits since the query's own last one.
    """
    timeline = load_timeline(state)
    last: dict[str, int] = {}
    for instant in sorted(completed_writes(timeline), key=timeline.point, reverse=True):
        extra = read_commit_metadata(state, instant).extra
        told: dict[str, int] = _batches_of(extra.get(LAST_BATCHES) or "{}", instant.file_name)
        for other, batch_id in told.items():
            last[other] = max(batch_id, last.get(other, -1))
        if extra.get(QUERY_ID) == query:
            break
    return last


def _batches_of(text: str, file: str) -> dict[str, int]:
    """Read the last batches that a commit tells of.   Raises: CorruptData naming it."""
    try:
        told = parse_json(text)
    except CorruptData as error:
        raise CorruptData("a commit's last batches cannot be read", file=file) from error
    if not isinstance(told, dict) or not all(type(batch_id) is int for batch_id in told.values()):
        raise CorruptData("a commit's last batches cannot be read", file=file)
    return told


def _query_of(df: DataFrame, checkpoint: str | None) -> str:
    """Return which streaming query this batch belongs to.   Raises: OptionError where nothing tells."""
    spark = df.sparkSession
    found = None if is_connect(spark) else spark.sparkContext.getLocalProperty("sql.streaming.queryId")
    if not found and checkpoint is not None:
        return _query_in(checkpoint)
    if not found:
        raise OptionError("give query_id to streaming_sink: spark does not tell which query this batch is of")
    return str(found)


def _query_in(checkpoint: str) -> str:
    """Read the id that Spark gave a query when it began.   Raises: OptionError."""
    try:
        said = parse_json(open_storage(checkpoint, None, SystemEnv()).get(_METADATA).decode())
    except HudiError as error:
        raise OptionError(
            "the checkpoint cannot be read, which tells the query's id; use foreachBatch with"
            " pyhudi.spark.streaming_sink(path, query_id=...)",
            checkpoint=checkpoint,
        ) from error
    if not isinstance(said, dict) or not isinstance(said.get("id"), str):
        raise CorruptData("the checkpoint does not tell the query's id", checkpoint=checkpoint, file=_METADATA)
    return str(said["id"])

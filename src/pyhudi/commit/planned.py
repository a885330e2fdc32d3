"""What a dry run returns: one kind of plan for every verb that writes. Start at `planned`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from pyhudi.commit.begin import WriteContext
from pyhudi.commit.sizing import sizing_of
from pyhudi.commit.tag import tag
from pyhudi.commit.work import WriteWork
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.write_task import Sink
from pyhudi.kernels.merge import DELETE_COLUMNS, deleted_rows
from pyhudi.queries.display import facts_html
from pyhudi.state.merging import merge_spec

__all__ = ["PlannedWrite", "planned", "rows_to_store", "stored_keys_count"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWrite:
    """What a write would do, as far as it is known before it is done. Units: rows, bytes.

    Nulls: a count is None where only the write itself finds out, as what the clauses of a merge do, or which of rows
           that say they are deletes meet a stored one.
    """

    operation: str
    inserts: int | None
    """Rows of one key count once each; the write keeps one of them."""
    updates: int | None
    deletes: int | None
    rejected: int
    """Rows left out because their keys are stored."""
    not_stored: int
    """Keys given to a delete that no row has."""
    partitions: tuple[PartitionPath, ...]
    """Partitions that are written to, or of which something is replaced."""
    files_written: tuple[str, ...]
    """File groups of which a new base file or log may be written: `partition/file id`."""
    files_replaced: tuple[str, ...]
    """Base files that readers would no longer see, relative to the base path."""
    bytes_written: int
    """An estimate: the files that are rewritten, and rows that are new or go to logs at the table's average."""
    added: Mapping[str, str] = field(default_factory=dict)
    """Columns that only the rows have, which the write would add to the table, and their types."""

    def __str__(self) -> str:
        """Describe it in one line."""
        counts = (("inserts", self.inserts), ("updates", self.updates), ("deletes", self.deletes))
        rows = ", ".join(f"{'?' if count is None else count} {name}" for name, count in counts)
        files = f"{len(self.files_written)} files written, {len(self.files_replaced)} replaced"
        new = "".join(f"; {name} added: {kind}" for name, kind in self.added.items())
        return f"{self.operation} (dry run): {rows}; {files}, about {self.bytes_written} bytes{new}"

    def __repr__(self) -> str:
        """Show counts; the fields name partitions and files."""
        return f"PlannedWrite({self})"

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        counted = {name: len(getattr(self, name)) for name in ("partitions", "files_written", "files_replaced")}
        return facts_html(f"{self.operation} (dry run)", asdict(self) | counted)


def planned(
    write: WriteContext,
    work: WriteWork,
    *,
    inserts: int | None = None,
    updates: int | None = None,
    deletes: int | None = None,
) -> PlannedWrite:
    """Return what a write would do; the counts are those that the verb knows."""
    replaced = [one.base for one in work.replaced or () if one.base is not None]
    rewritten = [one.base for one in work.tasks if one.base is not None and one.sink is Sink.BASE]
    record_bytes = sizing_of(write).record_bytes
    return PlannedWrite(
        operation=work.verb or write.operation.lower(),
        inserts=inserts,
        updates=updates,
        deletes=deletes,
        rejected=work.rejected_count,
        not_stored=work.not_stored_count,
        partitions=tuple(sorted({one.partition for one in work.tasks} | {one.partition for one in replaced})),
        files_written=tuple(f"{one.partition}/{one.file_id}".lstrip("/") for one in work.tasks),
        files_replaced=tuple(sorted({one.path for one in (*rewritten, *replaced)})),
        bytes_written=int(sum(one.size_bytes for one in rewritten) + _rows_count(work) * record_bytes),
        added=write.added,
    )


def _rows_count(work: WriteWork) -> int:
    """Count the rows that are written beside those of files that are written anew."""
    if work.rows is None:
        return 0
    plan = work.rows.plan
    logged = sum(rows for bucket, rows in plan.update_rows.items() if plan.files[bucket].sink is Sink.LOG)
    return sum(plan.new_rows.values()) + logged


def stored_keys_count(write: WriteContext) -> int:
    """Return how many of the rows' keys are stored.   Cost: a look-up, also where the write itself needs none."""
    return sum(tag(write, looks_in_all=True, finds_hidden=False).rows_by_slice.values())


def rows_to_store(write: WriteContext) -> int | None:
    """Return how many rows a write is given; None where some of them say that they are deletes.

    Cost: a count of the rows by the columns that say so; nothing where they have none.
    """
    call, frame = write.call, write.rows.frame
    rules = merge_spec(call.state.config, call.settings)
    names = () if frame is None else call.engine.schema(frame).names
    flags = [name for name in dict.fromkeys((*DELETE_COLUMNS, rules.delete_field)) if name in names]
    if flags and frame is not None and deleted_rows(call.engine.count(frame, flags), rules).any():
        return None
    return sum(write.rows_by_partition.values())

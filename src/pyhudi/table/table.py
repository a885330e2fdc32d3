"""A Hudi table: every method is one call of a verb, and nothing is decided here.

`opening` makes and finds tables, `writes` has the verbs that change rows, `columns` those that change columns,
`recovery` those that take changes back, `services` those that keep a table in order, `unbuilt` what is not built. Start
at `Table`.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from pyhudi.actions.unfinished import resolve, writer_of
from pyhudi.arguments import as_choice, as_count, as_switch
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.progress import progress_for
from pyhudi.engine.registry import engine_on
from pyhudi.errors import InvalidInput, NotBuilt
from pyhudi.options import Settings
from pyhudi.predicate import to_expression
from pyhudi.queries.display import facts_html
from pyhudi.queries.earliest import earliest_readable
from pyhudi.queries.incremental import plan_changes
from pyhudi.queries.inspect import Inspect
from pyhudi.queries.lookup import plan_lookup, plan_lookup_by
from pyhudi.queries.pinning import pinned_moment
from pyhudi.queries.scan import Scan
from pyhudi.queries.slices import table_schema
from pyhudi.queries.snapshot import Moment, ReadPlan, pin, plan_snapshot
from pyhudi.state.config import TableConfig
from pyhudi.state.kept_options import settings_of
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import reopened
from pyhudi.table.columns import ColumnVerbs
from pyhudi.table.pinned import PinnedTable
from pyhudi.table.recovery import RecoveryVerbs
from pyhudi.table.services import ServiceVerbs
from pyhudi.table.types import Filter, Names, Options
from pyhudi.table.unbuilt import unbuilt_method
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.view import Timeline, latest_write

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table"]


class Table(ColumnVerbs, RecoveryVerbs, ServiceVerbs):
    """One Hudi table. It is live: each call sees what is committed by then; a scan is pinned when it is called."""

    def __init__(self, state: TableState) -> None:
        self._state = state

    def __repr__(self) -> str:
        """Show name and place."""
        return f"Table({self.name!r}, {self.path!r})"

    def _repr_html_(self) -> str:
        """Show what the table is, in a notebook; reads no more than the timeline."""
        config = self.config
        return facts_html(
            f"Table {self.name}",
            {
                "path": self.path,
                "type": f"{config.table_type}, version {config.table_version}",
                "record key": ", ".join(config.record_key),
                "partitioned by": ", ".join(config.partition_fields),
                "ordered by": ", ".join(config.ordering_fields),
                "latest instant": self.latest_instant or "",
                "columns": ", ".join(f"{field.name}: {field.type}" for field in self.schema),
            },
        )

    @property
    def state(self) -> TableState:
        """Return the opened table as the verbs take it."""
        return self._state

    @property
    def name(self) -> str:
        """Return the table's name."""
        return self._state.config.name

    @property
    def path(self) -> str:
        """Return the base path, as a URL without credentials."""
        return self._state.storage.url

    @property
    def config(self) -> TableConfig:
        """Return what the table is."""
        return self._state.config

    @property
    def schema(self) -> pa.Schema:
        """Return the table's columns, without Hudi's meta columns."""
        return table_schema(self._state, self.timeline)

    @property
    def timeline(self) -> Timeline:
        """Read the active timeline."""
        return load_timeline(self._state)

    @property
    def latest_instant(self) -> str | None:
        """Return the requested time of the commit that became visible last; None before the first."""
        newest = latest_write(self.timeline)
        return None if newest is None else newest.requested_time

    @property
    def earliest_readable_instant(self) -> str | None:
        """Return the earliest commit as of which, and of all later ones, the table can still be read.

        None before the first commit. Reads the listing of the whole table.
        """
        return earliest_readable(self._state)

    @property
    def inspect(self) -> Inspect:
        """Return what answers questions about files and commits, each as an Arrow table."""
        self._state = reopened(self._state)
        return Inspect(
            self._state, lambda instant: writer_of(self._state, instant, settings_of(self._state.config, None))
        )

    def history(self, limit: int | None = None) -> pa.Table:
        """Return the commits of the active timeline with what they did, newest first.

        Args:
            limit: how many at most.

        Example:
            >>> trips.history(limit=1).column_names[:4]
            ['instant', 'completion_time', 'action', 'operation']
        """
        return self.inspect.commits(limit)

    def count(self) -> int:
        """Count the rows.

        Example:
            >>> trips.count()
            2
        """
        return self.scan().count()

    def to_pandas(self) -> "pd.DataFrame":
        """Read the whole table into a pandas DataFrame, without meta columns.

        Example:
            >>> len(trips.to_pandas())
            2
        """
        return self.scan().to_pandas()

    def scan(
        self,
        columns: Names | None = None,
        filter: Filter = None,
        as_of: Moment | None = None,
        mode: Literal["snapshot", "read_optimized"] = "snapshot",
        *,
        limit: int | None = None,
        meta: bool = False,
        options: Options | None = None,
    ) -> Scan:
        """Describe a read and pin its snapshot; `to_*` runs it.

        Args:
            columns: which columns, in this order; all of the table's own, without it.
            filter: a predicate: SQL text, an expression of pyhudi or pyarrow, or tuples in disjunctive normal form. It
                leaves out partitions and row groups too.
            as_of: a moment in the past: an instant's text, which means that commit's completion, or a time as text,
                datetime or date in the timeline's zone, which means the latest commit completed by then. The text of an
                instant that was taken back is an error.
            mode: `snapshot`, or `read_optimized`, which reads base files and no logs.
            limit: how many rows at most; which ones is not said.
            meta: put Hudi's five `_hoodie_*` columns first. They also come where `columns` names them.
            options: settings of this read: `pyhudi.check.files`, `hoodie.enable.data.skipping` and
                `hoodie.metadata.enable`.

        Example:
            >>> trips.scan(["uuid", "fare"], filter="fare > 8 and city = 'oslo'").to_arrow().to_pylist()
            [{'uuid': 'a', 'fare': 12.5}]

        Raises: InvalidInput, ExpressionError, InstantNotFound, SnapshotExpired, NotBuilt.
        """
        timeline = self._pinned(as_of)
        return self._scan_at(timeline, columns, filter, mode, limit=limit, meta=meta, options=options)

    @contextmanager
    def pin(
        self, as_of: Moment | None = None, *, expires_in_s: int = 3_600, options: Options | None = None
    ) -> Iterator[PinnedTable]:
        """Keep a moment's files from pyhudi's cleaner while the context is open, at most until the pin expires.

        Its reads see this one moment, or are SnapshotExpired: where a commit of it is rolled back or restored away.

        Args:
            as_of: the moment, as in `scan`; without it the newest.
            expires_in_s: for how many seconds at most; a process that dies does not hold files for ever.
            options: options of Apache Hudi by their keys, for this call.

        Example:
            >>> with trips.pin() as pinned:
            ...     pinned.scan(["uuid"]).count()
            2

        Raises: InstantNotFound; SnapshotExpired where a clean took files of that moment.
        """
        settings = settings_of(self._state.config, options)
        with pinned_moment(self._state, as_of, expires_in_s, settings) as moment:
            self._state = reopened(self._state)  # as `_pinned` does
            yield PinnedTable(self._state, self._scan_at, moment)

    def unchanged_since(self, timeline: Timeline) -> "Table":
        """Return the table for one write of rows that were computed from it: it fails where a commit came between.

        Args:
            timeline: what the table was before it was read: its `timeline` then.

        Example:
            >>> seen = trips.timeline
            >>> rows = trips.scan().to_arrow()
            >>> trips.unchanged_since(seen).insert_overwrite_table(rows).operation
            'insert_overwrite_table'

        Raises: InvalidInput; from the write, ReadOutdated: read the rows again, and compute them anew.
        """
        if not isinstance(timeline, Timeline):
            raise InvalidInput("give the table's timeline of then: table.timeline", timeline=type(timeline).__name__)
        table = Table(self._state)
        table._seen = timeline
        return table

    def changes(
        self,
        after: Moment | None = None,
        until: Moment | None = None,
        format: Literal["latest_state", "cdc"] = "latest_state",
        *,
        columns: Names | None = None,
        filter: Filter = None,
        limit: int | None = None,
        meta: bool = False,
        images: Literal["json", "struct"] = "json",
        options: Options | None = None,
    ) -> Scan:
        """Describe the read of records that changed in (after, until], in their latest state.

        Args:
            after: the commit or time that was seen last, as `as_of` of `scan`; from the beginning, without it.
            until: the last commit or time to see; now, without it.
            format: `latest_state`. `cdc`, with images of each row before and after, is not built.
            columns: as in `scan`.
            filter: as in `scan`.
            limit: as in `scan`.
            meta: as in `scan`.
            images: how `cdc` shows a row before and after.
            options: options of Apache Hudi by their keys, for this call.

        Example:
            >>> trips.changes(after=first.instant).to_arrow()["uuid"].to_pylist()
            ['b', 'a']

        Raises: as `scan`; HistoryExpired at version 6 with `USE_TRANSITION_TIME` where commits may be archived.
        """
        if as_choice("format", format, ("latest_state", "cdc")) == "cdc":
            instead = "scan(as_of=...) reads the rows as they were"
            raise NotBuilt(f"pyhudi reads changes as latest_state, not as images yet; {instead}", format=format)
        self._state = reopened(self._state)
        plan = plan_changes(
            self._state,
            after=after,
            until=until,
            columns=columns,
            predicate=None if filter is None else to_expression(filter),
            settings=Settings.of(options),
        )
        return self._scan(plan.showing(columns, has_meta=as_switch("meta", meta)), limit)

    def lookup(
        self,
        keys: Iterable[Any],
        *,
        by: str | None = None,
        as_of: Moment | None = None,
        columns: Names | None = None,
        meta: bool = False,
    ) -> pa.Table:
        """Read the rows that have one of these record keys, or values of another column, in whatever partition.

        Args:
            keys: values of the key column, `(1, "a")` or `{"id": 1, "region": "a"}` where several columns make the
                key, or record keys as they are stored, such as `id:1,region:a`. With `by`, values of that column.
            by: a column, best one with a secondary index; the record key without it.
            as_of: as in `scan`.
            columns: as in `scan`.
            meta: as in `scan`.

        Example:
            >>> trips.lookup(["b"])["city"].to_pylist()
            ['lima']
            >>> trips.lookup(["b"], as_of=first.instant).num_rows
            0
            >>> trips.lookup([12.5], by="fare")["uuid"].to_pylist()
            ['a']

        Raises: InvalidInput, SchemaMismatch for a value of another type; what `scan` raises.
        """
        timeline = self._pinned(as_of)
        if by is None:
            plan = plan_lookup(self._state, timeline, keys, LocalEngine(self._state.storage), columns=columns)
        else:
            plan = plan_lookup_by(self._state, timeline, keys, by, columns=columns)
        return self._scan(plan.showing(columns, has_meta=as_switch("meta", meta)), None).to_arrow()

    def resolve(self, instant: str) -> Literal["committed", "not committed", "pending"]:
        """Return what became of an instant whose outcome was unknown.

        Args:
            instant: its requested time, as `CommitUnknown` names it.

        Example:
            >>> trips.resolve(first.instant)
            'committed'

        Raises: InvalidInput; HistoryExpired.
        """
        return resolve(self._state, instant)

    blame = unbuilt_method("blame")
    schema_history = unbuilt_method("schema_history")
    evolve = unbuilt_method("evolve")
    expire_partitions = unbuilt_method("expire_partitions")
    remove_orphans = unbuilt_method("remove_orphans")
    stage = unbuilt_method("stage")
    export = unbuilt_method("export")
    upgrade = unbuilt_method("upgrade")
    downgrade = unbuilt_method("downgrade")

    def _pinned(self, as_of: Moment | None) -> Timeline:
        """Pin a moment, and open the table as it is now.

        What commits may be like, as that records keep their partitions, is in the properties before they are completed.
        """
        layout, timeline = self._state.layout, pin(self._state, as_of)
        self._state = reopened(self._state)
        return timeline if self._state.layout == layout else pin(self._state, as_of)

    def _scan_at(
        self,
        timeline: Timeline,
        columns: Names | None,
        filter: Filter,
        mode: str,
        *,
        limit: int | None,
        meta: bool,
        options: Options | None = None,
    ) -> Scan:
        """Describe a read of what a timeline shows; see `scan`."""
        as_choice("mode", mode, ("snapshot", "read_optimized"))
        plan = plan_snapshot(
            self._state,
            timeline,
            columns=columns,
            predicate=to_expression(filter),
            is_read_optimized=mode == "read_optimized",
            settings=Settings.of(options),
        )
        return self._scan(plan.showing(columns, has_meta=as_switch("meta", meta)), limit)

    def _scan(self, plan: ReadPlan, limit: int | None) -> Scan:
        limit = None if limit is None else as_count("limit", limit)
        storage = self._state.storage
        engine = LocalEngine(storage, progress=progress_for(self._state.env))
        return Scan(plan=plan, engine=engine, engine_on=lambda spark: engine_on(spark, storage), limit=limit)

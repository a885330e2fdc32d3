"""A Hudi table: every method is one call of a verb, and nothing is decided here. `opening` makes and finds tables."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.actions.bulk_insert import bulk_insert
from pyhudi.actions.call import ISOLATION, WriteCall
from pyhudi.actions.merge import MergeBuilder
from pyhudi.actions.records import key_rows, keyed_rows, take_records
from pyhudi.actions.rewrite import delete_where, update_where
from pyhudi.actions.rollback import rollback_instant
from pyhudi.actions.unfinished import resolve, writer_of
from pyhudi.actions.write import delete_keys, delete_partitions, insert, insert_overwrite, upsert
from pyhudi.engine.api import Engine, engine_for, engine_on
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.progress import progress_for
from pyhudi.errors import InvalidInput, NotBuilt
from pyhudi.options import Settings
from pyhudi.predicate import Expression, literal, to_expression
from pyhudi.queries.incremental import plan_changes
from pyhudi.queries.inspect import Inspect
from pyhudi.queries.lookup import plan_lookup
from pyhudi.queries.scan import Scan
from pyhudi.queries.slices import table_schema
from pyhudi.queries.snapshot import Moment, ReadPlan, pin, plan_snapshot
from pyhudi.state.config import TableConfig
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.view import Timeline, latest_write

__all__ = ["Filter", "Isolation", "Names", "Options", "Records", "Table", "Written"]

Isolation = Literal["write_serializable", "serializable"]
Options = Mapping[str, object]
Names = Sequence[str]
Records = Any
"""Arrow data, a DataFrame of any library, a list of dicts; a Spark DataFrame makes Spark do the work."""
Filter = Any
"""A predicate: text, an expression of pyhudi or pyarrow, DNF tuples."""
Written = Any
"""A `WriteResult`; with `dry_run` the plan."""


class Table:
    """One Hudi table. It is live: each call sees what is committed by then; a scan is pinned when it is called."""

    def __init__(self, state: TableState) -> None:
        self._state = state

    def __repr__(self) -> str:
        """Show name and place."""
        return f"Table({self._state.config.name!r}, {self._state.storage.url!r})"

    @property
    def state(self) -> TableState:
        """Return the opened table as the verbs take it."""
        return self._state

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
    def inspect(self) -> Inspect:
        """Return the table's inspector: every answer is an Arrow table."""
        return Inspect(self._state, lambda instant: writer_of(self._state, instant, Settings()))

    def upsert(
        self,
        records: Records,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> Written:
        """Insert new keys and update existing ones."""
        call, rows = self._call_with(records, options, dry_run, commit_metadata)
        return upsert(call, rows)

    def insert(
        self,
        records: Records,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
        duplicates: Literal["none", "drop", "fail"] | None = None,
    ) -> Written:
        """Put rows in. Keys are not looked up, so a stored key may get a second row, unless `duplicates` says else."""
        given = dict(options or {})
        if duplicates is not None:
            given["hoodie.datasource.insert.dup.policy"] = duplicates
        call, rows = self._call_with(records, given, dry_run, commit_metadata)
        return insert(call, rows)

    def bulk_insert(
        self,
        records: Records,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> Written:
        """Write rows as new files at full speed: no look-up, no small files; a stored key gets a second row."""
        call, rows = self._call_with(records, options, dry_run, commit_metadata)
        return bulk_insert(call, rows)

    def delete(
        self,
        records: Records = None,
        *,
        keys: Sequence[str] | None = None,
        where: Filter = None,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
        isolation: Isolation | None = None,
    ) -> Written:
        """Delete rows: those of these records' keys, of these keys, or for which a predicate is true.

        Exactly one of the three; a text as the first argument is a predicate. With `serializable` isolation it fails
        where another commit changed what it has read, even if the two changed different rows.
        """
        if isinstance(records, str):
            records, where = None, records
        if sum(given is not None for given in (records, keys, where)) != 1:
            raise InvalidInput("delete takes exactly one of records, keys and where")
        if where is not None:
            call = self._call(options, dry_run, commit_metadata, isolation=isolation)
            return delete_where(call, _condition(where))
        if keys is not None:
            call = self._call(options, dry_run, commit_metadata, isolation=isolation)
            return delete_keys(call, key_rows(call, keys))
        call, rows = self._call_with(records, options, dry_run, commit_metadata, isolation=isolation)
        return delete_keys(call, keyed_rows(call, rows))

    def insert_overwrite(
        self,
        records: Records,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> Written:
        """Replace the partitions that the rows name by the rows."""
        call, rows = self._call_with(records, options, dry_run, commit_metadata)
        return insert_overwrite(call, rows)

    def insert_overwrite_table(
        self,
        records: Records,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> Written:
        """Replace the whole content by the rows."""
        call, rows = self._call_with(records, options, dry_run, commit_metadata)
        return insert_overwrite(call, rows, is_whole_table=True)

    def delete_partitions(
        self,
        partitions: Sequence[str],
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> Written:
        """Take whole partitions away: paths, or patterns with `*`."""
        call = self._call(options, dry_run, commit_metadata)
        return delete_partitions(call, partitions)

    def update(
        self,
        *,
        set: Mapping[str, Filter],
        where: Filter = None,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
        isolation: Isolation | None = None,
    ) -> Written:
        """Set columns to expressions in the rows for which a predicate is true; `isolation` as in `delete`."""
        call = self._call(options, dry_run, commit_metadata, isolation=isolation)
        changes = {name: _value(value) for name, value in set.items()}
        return update_where(call, changes, None if where is None else _condition(where))

    def merge(
        self,
        source: Records,
        on: str,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
        isolation: Isolation | None = None,
    ) -> MergeBuilder:
        """Begin a merge: target rows are `t`, source rows `s`; `execute()` runs it. `isolation` as in `delete`."""
        call, rows = self._call_with(source, options, dry_run, commit_metadata, is_as_it_is=True, isolation=isolation)
        return MergeBuilder(call, rows, on)

    def scan(
        self,
        columns: Names | None = None,
        filter: Filter = None,
        as_of: Moment | None = None,
        mode: Literal["snapshot", "read_optimized"] = "snapshot",
        *,
        meta: bool = False,
    ) -> Scan:
        """Describe a read and pin its snapshot; `to_*` runs it.

        Hudi's five `_hoodie_*` columns come first with `meta=True`, and where they are named.
        """
        if mode not in {"snapshot", "read_optimized"}:
            raise InvalidInput("mode is snapshot or read_optimized", mode=mode)
        predicate = None if filter is None else to_expression(filter)
        timeline = pin(self._state, as_of)
        plan = plan_snapshot(
            self._state, timeline, columns=columns, predicate=predicate, is_read_optimized=mode == "read_optimized"
        )
        return self._scan(plan, columns, meta)

    def changes(
        self,
        after: Moment | None = None,
        until: Moment | None = None,
        format: Literal["latest_state", "cdc"] = "latest_state",
        *,
        columns: Names | None = None,
        filter: Filter = None,
        meta: bool = False,
        options: Options | None = None,
    ) -> Scan:
        """Describe the read of records that changed in (after, until], in their latest state; `meta` as in `scan`."""
        if format == "cdc":
            raise NotBuilt("pyhudi reads changes as latest_state, not as before and after images yet", format=format)
        if format != "latest_state":
            raise InvalidInput("format is latest_state or cdc", format=format)
        plan = plan_changes(
            self._state,
            after=after,
            until=until,
            columns=columns,
            predicate=None if filter is None else to_expression(filter),
            settings=Settings.of(options or {}),
        )
        return self._scan(plan, columns, meta)

    def lookup(self, keys: Sequence[str], *, columns: Names | None = None, meta: bool = False) -> pa.Table:
        """Read the rows that have one of these record keys, in whatever partition; `meta` as in `scan`."""
        engine = LocalEngine(self._state.storage)
        plan = plan_lookup(self._state, self.timeline, keys, engine, columns=columns)
        return self._scan(plan, columns, meta).to_arrow()

    def rollback(self, instant: str, *, options: Options | None = None, dry_run: bool = False) -> Written:
        """Roll a pending instant back by name, whoever it belongs to."""
        return rollback_instant(self._state, InstantTime(instant), Settings.of(options or {}), is_dry_run=dry_run)

    def resolve(self, instant: str) -> Literal["committed", "not committed", "pending"]:
        """Return what became of an instant whose outcome was unknown."""
        return resolve(self._state, instant)

    def _scan(self, plan: ReadPlan, columns: Names | None, meta: bool) -> Scan:
        storage = self._state.storage
        engine = LocalEngine(storage, progress=progress_for(self._state.env))
        shown = plan.showing(columns, has_meta=meta)
        return Scan(plan=shown, engine=engine, engine_on=lambda spark: engine_on(spark, storage))

    def _call_with(
        self,
        records: Records,
        options: Options | None,
        dry_run: bool,
        commit_metadata: Mapping[str, str] | None,
        *,
        is_as_it_is: bool = False,
        isolation: Isolation | None = None,
    ) -> tuple[WriteCall, Any]:
        if records is None:
            raise InvalidInput("give rows: Arrow, a DataFrame of any library, or a list of dicts", records=records)
        call = self._call(options, dry_run, commit_metadata, isolation=isolation, records=records)
        return call, take_records(call, records, is_as_it_is=is_as_it_is)

    def _call(
        self,
        options: Options | None,
        dry_run: bool,
        commit_metadata: Mapping[str, str] | None,
        *,
        isolation: Isolation | None = None,
        records: Records = None,
    ) -> WriteCall:
        given = dict(options or {}) if isolation is None else {**(options or {}), ISOLATION.key: isolation}
        self._state = open_state(self._state.storage, self._state.env)
        engine: Engine = engine_for(records, self._state.storage, progress_for(self._state.env))
        settings = Settings.of(given, engine.session_options)
        return WriteCall(
            state=self._state,
            settings=settings,
            engine=engine,
            commit_metadata=commit_metadata or {},
            is_dry_run=dry_run,
            is_serializable=settings.get(ISOLATION) == "serializable",
        )


def _condition(where: Any) -> Expression:  # noqa: ANN401 - what scans take
    """Take a condition; one that excludes nothing is refused, because rows would go that nobody named."""
    condition = to_expression(where)
    if condition is None:
        raise InvalidInput("the condition is empty; say which rows are meant", where=where)
    return condition


def _value(given: Any) -> Expression:  # noqa: ANN401 - any value Arrow has a type for
    """Take what a column is set to: an expression, as text or built, or a value."""
    is_expression = isinstance(given, str | Expression | pc.Expression)
    found = to_expression(given) if is_expression else literal(given)
    assert found is not None, "an expression is there"
    return found

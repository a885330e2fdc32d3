"""The verbs of a `Table` that change rows: each is one call of an action. `Table` is the class to use.

They stand here so that either half of the class can be read at one sitting. Start at `WriteVerbs.upsert`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, Unpack, overload

from pyhudi.actions.bulk_insert import bulk_insert
from pyhudi.actions.merge import MergeBuilder
from pyhudi.actions.records import key_rows, keyed_rows, take_records
from pyhudi.actions.rewrite import delete_where, update_where
from pyhudi.actions.write import DUPLICATES, delete_keys, delete_partitions, insert, insert_overwrite, upsert
from pyhudi.arguments import as_mapping, as_switch, as_text, as_texts
from pyhudi.commit.call import ISOLATION, WriteCall, WriteResult, require_operation, with_argument
from pyhudi.commit.planned import PlannedWrite
from pyhudi.engine.api import Frame
from pyhudi.engine.progress import progress_for
from pyhudi.engine.registry import engine_for, engine_on
from pyhudi.errors import InvalidInput
from pyhudi.predicate import Expression, to_expression, to_value
from pyhudi.state.kept_options import settings_of
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import reopened
from pyhudi.table.types import Filter, Isolated, IsolatedPlan, Isolation, Options, Planned, Records, Written
from pyhudi.timeline.codec import NONCE_KEY
from pyhudi.timeline.view import Timeline

__all__ = ["WriteVerbs", "commit_entries"]

_RESERVED: Final = frozenset({"schema", NONCE_KEY})
"""Entries of a commit's metadata that say what the commit is."""


class WriteVerbs:
    """What a `Table` can be told to write."""

    _state: TableState
    _seen: Timeline | None = None

    @overload
    def upsert(self, records: Records, **how: Unpack[Written]) -> WriteResult: ...
    @overload
    def upsert(self, records: Records, **how: Unpack[Planned]) -> PlannedWrite: ...
    def upsert(
        self,
        records: Records,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> WriteResult | PlannedWrite:
        """Insert rows with new keys and update those whose key is stored.

        Of rows with one key the one with the greatest ordering value wins, among those written and against the stored
        one; without ordering columns the last one wins.

        Args:
            records: rows as Arrow data, a DataFrame of any library, a LazyFrame of polars, a dataset of pyarrow, a list
                or generator of batches or of dicts, or a Spark DataFrame, which makes Spark do the work. A reader, a
                dataset or a generator of batches may be larger than memory: `pyhudi.memory.bytes` is the bound, and
                rows that do not fit wait on a local disk. A column that only the rows have is added to the table, said
                in the log, and `result.added` names it. One that the rows lack is refused, unless
                `hoodie.write.set.null.for.missing.columns` stores nulls; dicts lack a column only if all of them do.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return the plan and write nothing.
            commit_metadata: entries of your own for the commit; `history()` shows them.

        Example:
            >>> result = trips.upsert([{"uuid": "c", "city": "oslo", "ts": 3, "fare": 9.0}])
            >>> result.inserted, result.updated
            (1, 0)

        Raises: SchemaMismatch also for types that do not fit the table's; KeyMissing, Conflict, CommitUnknown.
        """
        require_operation(options, "upsert")
        call, rows = self._call_with(records, options, dry_run, commit_metadata)
        return upsert(call, rows)

    @overload
    def insert(
        self,
        records: Records,
        *,
        duplicates: Literal["none", "drop", "fail"] | None = None,
        **how: Unpack[Written],
    ) -> WriteResult: ...
    @overload
    def insert(
        self,
        records: Records,
        *,
        duplicates: Literal["none", "drop", "fail"] | None = None,
        **how: Unpack[Planned],
    ) -> PlannedWrite: ...
    def insert(
        self,
        records: Records,
        *,
        duplicates: Literal["none", "drop", "fail"] | None = None,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> WriteResult | PlannedWrite:
        """Insert rows. Keys are not looked up, so a stored key may get a second row, unless `duplicates` says else.

        Args:
            records: rows of any kind that `upsert` takes.
            duplicates: what becomes of rows whose key is stored: `none` inserts them as well, `drop` leaves them out,
                `fail` raises DuplicateKeys.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return the plan and write nothing.
            commit_metadata: entries of your own for the commit.

        Example:
            >>> trips.insert([{"uuid": "b", "city": "lima", "ts": 3, "fare": 8.0}], duplicates="drop").inserted
            0

        Raises: as `upsert`; DuplicateKeys.
        """
        require_operation(options, "insert")
        given = with_argument(options, "duplicates", duplicates, DUPLICATES.key)
        call, rows = self._call_with(records, given, dry_run, commit_metadata)
        return insert(call, rows)

    @overload
    def bulk_insert(self, records: Records, **how: Unpack[Written]) -> WriteResult: ...
    @overload
    def bulk_insert(self, records: Records, **how: Unpack[Planned]) -> PlannedWrite: ...
    def bulk_insert(
        self,
        records: Records,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> WriteResult | PlannedWrite:
        """Write rows as new files at full speed: no look-up, no small files; a stored key gets a second row.

        Args:
            records: rows of any kind that `upsert` takes.
            options: options of Apache Hudi by their keys; `hoodie.bulkinsert.sort.mode` says how rows are sorted,
                which else stay in the order in which they come.
            dry_run: return the plan and write nothing.
            commit_metadata: entries of your own for the commit.

        Example:
            >>> trips.bulk_insert([{"uuid": "c", "city": "rome", "ts": 1, "fare": 9.0}]).inserted
            1

        Raises: as `upsert`.
        """
        require_operation(options, "bulk_insert")
        call, rows = self._call_with(records, options, dry_run, commit_metadata)
        return bulk_insert(call, rows)

    @overload
    def delete(
        self,
        records: Records | str | None = None,
        *,
        keys: Iterable[Any] | None = None,
        where: Filter = None,
        spark: object = None,
        **how: Unpack[Isolated],
    ) -> WriteResult: ...
    @overload
    def delete(
        self,
        records: Records | str | None = None,
        *,
        keys: Iterable[Any] | None = None,
        where: Filter = None,
        spark: object = None,
        **how: Unpack[IsolatedPlan],
    ) -> PlannedWrite: ...
    def delete(
        self,
        records: Records | str | None = None,
        *,
        keys: Iterable[Any] | None = None,
        where: Filter = None,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
        isolation: Isolation | None = None,
        spark: object = None,
    ) -> WriteResult | PlannedWrite:
        """Delete rows: those with these records' keys, those with these keys, or those for which a predicate is true.

        Args:
            records: rows of which only the key and partition columns matter; a text is taken as `where`.
            keys: values of the key column, `(1, "a")` or `{"id": 1, "region": "a"}` where several columns make the
                key, or record keys as they are stored, such as `id:1,region:a`. The result's `not_stored` says how
                many of them no row has.
            where: a predicate. Exactly one of the three is given.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return the plan and write nothing.
            commit_metadata: entries of your own for the commit.
            isolation: with `serializable` the delete begins again where another commit changed what it has read, even
                if the two changed different rows.
            spark: a session that does the work of `where` or `keys`; else it is done in this process. Rows of a Spark
                DataFrame bring theirs.

        Example:
            >>> trips.delete(where="fare < 8").deleted
            1
            >>> trips.delete(keys=["a"]).deleted
            1

        Raises: InvalidInput, ExpressionError, Conflict, CommitUnknown.
        """
        require_operation(options, "delete")
        if isinstance(records, str):
            records, where = None, records
        if sum(given is not None for given in (records, keys, where)) != 1:
            raise InvalidInput("delete takes exactly one of records, keys and where")
        if records is not None and spark is not None:
            raise InvalidInput(
                "a session does the work of where or keys; rows say themselves where they are", spark=spark
            )
        if where is not None:
            call = self._call(options, dry_run, commit_metadata, isolation=isolation, spark=spark)
            return delete_where(call, _condition(where))
        if keys is not None:
            call = self._call(options, dry_run, commit_metadata, isolation=isolation, spark=spark)
            return delete_keys(call, key_rows(call, keys), is_told=True)
        call, rows = self._call_with(records, options, dry_run, commit_metadata, isolation=isolation)
        return delete_keys(call, keyed_rows(call, rows))

    @overload
    def insert_overwrite(
        self, records: Records, *, partitions: Sequence[str] = (), **how: Unpack[Written]
    ) -> WriteResult: ...
    @overload
    def insert_overwrite(
        self, records: Records, *, partitions: Sequence[str] = (), **how: Unpack[Planned]
    ) -> PlannedWrite: ...
    def insert_overwrite(
        self,
        records: Records,
        *,
        partitions: Sequence[str] = (),
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> WriteResult | PlannedWrite:
        """Replace the partitions that the rows are in by the rows; other partitions stay.

        Args:
            records: rows of any kind that `upsert` takes.
            partitions: paths of partitions that are replaced as well, whether rows come for them or not.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return the plan and write nothing.
            commit_metadata: entries of your own for the commit.

        Example:
            >>> trips.insert_overwrite([{"uuid": "d", "city": "oslo", "ts": 1, "fare": 3.0}]).operation
            'insert_overwrite'

        Raises: as `upsert`.
        """
        require_operation(options, "insert_overwrite")
        call, rows = self._call_with(records, options, dry_run, commit_metadata)
        return insert_overwrite(call, rows, partitions=as_texts("partitions", partitions))

    @overload
    def insert_overwrite_table(self, records: Records, **how: Unpack[Written]) -> WriteResult: ...
    @overload
    def insert_overwrite_table(self, records: Records, **how: Unpack[Planned]) -> PlannedWrite: ...
    def insert_overwrite_table(
        self,
        records: Records,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> WriteResult | PlannedWrite:
        """Replace the whole content of the table by the rows.

        Args:
            records: rows of any kind that `upsert` takes.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return the plan and write nothing.
            commit_metadata: entries of your own for the commit.

        Example:
            >>> _ = trips.insert_overwrite_table([{"uuid": "e", "city": "lima", "ts": 1, "fare": 4.0}])
            >>> trips.count()
            1

        Raises: as `upsert`.
        """
        require_operation(options, "insert_overwrite_table")
        call, rows = self._call_with(records, options, dry_run, commit_metadata)
        return insert_overwrite(call, rows, is_whole_table=True)

    @overload
    def delete_partitions(self, partitions: Sequence[str], **how: Unpack[Written]) -> WriteResult: ...
    @overload
    def delete_partitions(self, partitions: Sequence[str], **how: Unpack[Planned]) -> PlannedWrite: ...
    def delete_partitions(
        self,
        partitions: Sequence[str],
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> WriteResult | PlannedWrite:
        """Delete whole partitions.

        Args:
            partitions: partition paths as `inspect.partitions()` lists them, or patterns with `*`.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return the plan and write nothing.
            commit_metadata: entries of your own for the commit.

        Example:
            >>> trips.delete_partitions(["li*"]).operation
            'delete_partition'

        Raises: InvalidInput where a path or pattern fits no partition.
        """
        require_operation(options, "delete_partition")
        call = self._call(options, dry_run, commit_metadata)
        return delete_partitions(call, partitions)

    @overload
    def update(
        self, *, set: Mapping[str, Any], where: Filter = None, spark: object = None, **how: Unpack[Isolated]
    ) -> WriteResult: ...
    @overload
    def update(
        self, *, set: Mapping[str, Any], where: Filter = None, spark: object = None, **how: Unpack[IsolatedPlan]
    ) -> PlannedWrite: ...
    def update(
        self,
        *,
        set: Mapping[str, Any],
        where: Filter = None,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
        isolation: Isolation | None = None,
        spark: object = None,
    ) -> WriteResult | PlannedWrite:
        """Set columns in the rows for which a predicate is true.

        Args:
            set: by column, an expression as text, or a value that is no text: `{"rider": "'bob'", "fare": 1.5}`.
            where: which rows; all, without it.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return the plan and write nothing.
            commit_metadata: entries of your own for the commit.
            isolation: as in `delete`.
            spark: a session that does the work; else it is done in this process.

        Example:
            >>> trips.update(set={"fare": "fare * 2", "ts": 3}, where="city = 'oslo'").updated
            1

        Raises: InvalidInput, ExpressionError, Conflict, CommitUnknown.
        """
        require_operation(options, "upsert")
        call = self._call(options, dry_run, commit_metadata, isolation=isolation, spark=spark)
        changes = {name: to_value(value) for name, value in as_mapping("set", set).items()}
        return update_where(call, changes, None if where is None else _condition(where))

    @overload
    def merge(self, source: Records, on: str | Expression, **how: Unpack[Isolated]) -> MergeBuilder[WriteResult]: ...
    @overload
    def merge(
        self, source: Records, on: str | Expression, **how: Unpack[IsolatedPlan]
    ) -> MergeBuilder[PlannedWrite]: ...
    def merge(
        self,
        source: Records,
        on: str | Expression,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
        isolation: Isolation | None = None,
    ) -> MergeBuilder[WriteResult] | MergeBuilder[PlannedWrite]:
        """Begin a merge: add clauses to it, and run it by `execute()`. Rows of the table are `t`, source rows `s`.

        Args:
            source: rows of any kind that `upsert` takes; they may have more columns than the table.
            on: which rows belong together, as text or as an expression; every record key field is equated.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: `execute()` returns the plan and writes nothing.
            commit_metadata: entries of your own for the commit.
            isolation: as in `delete`.

        Example:
            >>> source = [{"uuid": "a", "op": "d"}, {"uuid": "g", "op": "i"}]
            >>> merge = trips.merge(source, on="t.uuid = s.uuid").when_matched_delete(condition="s.op = 'd'")
            >>> merge.when_not_matched_insert({"uuid": "s.uuid", "city": "'oslo'", "ts": "1"}).execute().deleted
            1

        Raises: InvalidInput, ExpressionError; what `execute()` raises.
        """
        require_operation(options, "upsert")
        call, rows = self._call_with(source, options, dry_run, commit_metadata, is_as_it_is=True, isolation=isolation)
        return MergeBuilder(call, rows, on)

    def _call_with(
        self,
        records: Records | None,
        options: Options | None,
        dry_run: bool,
        commit_metadata: Mapping[str, str] | None,
        *,
        is_as_it_is: bool = False,
        isolation: Isolation | None = None,
    ) -> tuple[WriteCall, Frame]:
        if records is None:
            raise InvalidInput(
                "give rows: Arrow, a DataFrame of any library, or a list of batches or dicts", records=records
            )
        call = self._call(options, dry_run, commit_metadata, isolation=isolation, records=records)
        return call, take_records(call, records, is_as_it_is=is_as_it_is)

    def _call(
        self,
        options: Options | None,
        dry_run: bool,
        commit_metadata: Mapping[str, str] | None,
        *,
        isolation: Isolation | None = None,
        records: Records | None = None,
        spark: object = None,
    ) -> WriteCall:
        given = with_argument(options, "isolation", isolation, ISOLATION.key)
        self._state = reopened(self._state)
        said = commit_entries(commit_metadata)
        storage, hears = self._state.storage, progress_for(self._state.env)
        engine = engine_for(records, storage, hears) if spark is None else engine_on(spark, storage)
        settings = settings_of(self._state.config, given, engine.session_options)
        return WriteCall(
            state=self._state,
            settings=settings,
            engine=engine,
            commit_metadata=said,
            is_dry_run=as_switch("dry_run", dry_run),
            is_serializable=self._seen is not None or settings.get(ISOLATION) == "serializable",
            seen=self._seen,
        )


def _condition(where: Filter) -> Expression:
    """Take a condition; one that excludes nothing is refused, because rows would go that were not named."""
    condition = to_expression(where)
    if condition is None:
        raise InvalidInput("the condition is empty; say which rows are meant", where=where)
    return condition


def commit_entries(given: object) -> dict[str, str]:
    """Check the entries for the commit, which stores texts; those that a commit has of its own are not for users."""
    entries = as_mapping("commit_metadata", given)
    for name, value in entries.items():
        if not isinstance(value, str):
            raise InvalidInput("a value of commit_metadata is a text; give str() of it", entry=name, value=value)
        as_text(f"commit_metadata[{name!r}]", value)
        if name in _RESERVED:
            raise InvalidInput("commits have this entry of their own; give it another name", entry=name)
    return entries

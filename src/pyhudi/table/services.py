"""The verbs of a `Table` that keep it in order. `Table` is the class to use.

Each is one call of an action. Start at `ServiceVerbs.clean`.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from pyhudi.actions.indexes import IndexRequest, IndexResult, create_index, drop_index, run_indexing
from pyhudi.actions.repair import RepairResult, repair_table
from pyhudi.actions.set_options import set_options
from pyhudi.actions.unfinished import writer_of
from pyhudi.arguments import as_mapping, as_switch, as_text, as_texts
from pyhudi.commit.call import with_argument
from pyhudi.engine.registry import engine_on
from pyhudi.queries.check import CheckReport, check_table
from pyhudi.queries.options import options_in_force
from pyhudi.services.archive import ArchiveResult, archive_table
from pyhudi.services.clean.clean import CleanResult, clean_table
from pyhudi.services.cluster.cluster import ClusteringResult, cluster_table
from pyhudi.services.cluster.strategy import LAYOUT, SORT_COLUMNS
from pyhudi.services.compact.compact import compact_table
from pyhudi.services.compact.compacted import CompactionResult
from pyhudi.services.compact.log_compact import compact_logs_of_table
from pyhudi.services.due import run_due_services
from pyhudi.services.service import ServiceCall, service_call
from pyhudi.state.kept_options import settings_of
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import reopened
from pyhudi.table.types import Options

__all__ = ["ServiceVerbs"]


class ServiceVerbs:
    """What a `Table` can be told to do for its own sake."""

    _state: TableState

    def clean(self, *, options: Options | None = None, dry_run: bool = False, schedule: bool = False) -> CleanResult:
        """Delete older file slices that the policy of `hoodie.clean.policy` does not keep.

        What another process planned and did not finish is finished first. Writes do this by themselves when it is due,
        unless `hoodie.clean.automatic` is false.

        Args:
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return which files would go and how many bytes they have, and change nothing.
            schedule: only store the plan; the next clean of any process runs it.

        Example:
            >>> trips.clean(dry_run=True).files
            ()

        Raises: NotBuilt for a table that pyhudi does not write; LockNotAcquired; StorageUnavailable.
        """
        call = self._call_on(None, options)
        return clean_table(
            call, is_dry_run=as_switch("dry_run", dry_run), is_only_planned=as_switch("schedule", schedule)
        )

    def compact(
        self, *, options: Options | None = None, dry_run: bool = False, schedule: bool = False, spark: object = None
    ) -> CompactionResult:
        """Merge log files into base files: each file group that has logs gets its next base file.

        What is planned already, also by Apache Hudi, is run first; then what `hoodie.compaction.strategy` chooses.
        Writes do this by themselves when it is due, if `hoodie.compact.inline` is true. Copy-on-write tables have no
        logs.

        Args:
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return which log files would be merged and how many bytes they have, and change nothing.
            schedule: only store the plan; the next compaction of any process runs it.
            spark: a session that does the work; else it is done in this process.

        Example:
            >>> trips.compact(dry_run=True).files
            ()

        Raises: NotBuilt for a table that pyhudi does not write; LockNotAcquired; CorruptData where a file that was
                planned is gone; StorageUnavailable.
        """
        return compact_table(
            self._call_on(spark, options),
            is_dry_run=as_switch("dry_run", dry_run),
            is_only_planned=as_switch("schedule", schedule),
        )

    def log_compact(
        self, *, options: Options | None = None, dry_run: bool = False, schedule: bool = False, spark: object = None
    ) -> CompactionResult:
        """Make one log file of those of each file group whose logs have many blocks.

        Cheaper than to compact where base files are large. What is planned already is run first. Writes do this by
        themselves when it is due, if `hoodie.log.compaction.enable` and `hoodie.log.compaction.inline` are true.

        Args:
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return which log files would be put together, and change nothing.
            schedule: only store the plan; the next log compaction of any process runs it.
            spark: a session that does the work; else it is done in this process.

        Example:
            >>> trips.log_compact(dry_run=True).files
            ()

        Raises: as `compact`.
        """
        return compact_logs_of_table(
            self._call_on(spark, options),
            is_dry_run=as_switch("dry_run", dry_run),
            is_only_planned=as_switch("schedule", schedule),
        )

    def cluster(
        self,
        order_by: Sequence[str] | None = None,
        layout: str | None = None,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        schedule: bool = False,
        spark: object = None,
    ) -> ClusteringResult:
        """Write rows anew into files of a good size, in an order that lets queries leave files out.

        Small base files of a partition are put together, `hoodie.clustering.plan.strategy.*` says which. Without an
        order rows stay as they come. What is planned already, also by Apache Hudi, is run first. Writes do this by
        themselves when it is due, if `hoodie.clustering.inline` is true. Rows keep their commits: `changes` shows
        nothing. Under the bucket index each file group is sorted for itself.

        Args:
            order_by: columns by which rows are ordered, or `hoodie.clustering.plan.strategy.sort.columns`.
            layout: `linear` (by the first column, then the next), `zorder` or `hilbert` (all columns have a say), or
                `hoodie.layout.optimize.strategy`.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return which files would be written anew and how many bytes they have, and change nothing.
            schedule: only store the plan; the next clustering of any process runs it.
            spark: a session that does the work; else it is done in this process.

        Example:
            >>> trips.cluster(order_by=["city", "ts"], layout="hilbert", dry_run=True).file_groups
            2

        Raises: NotBuilt for a table that pyhudi does not write; InvalidInput for a column that the table does not have;
                WriteConflict where others have changed all that was planned; LockNotAcquired; StorageUnavailable.
        """
        columns = None if order_by is None else ",".join(as_texts("order_by", order_by))
        chosen = with_argument(options, "order_by", columns, SORT_COLUMNS.key)
        chosen = with_argument(chosen, "layout", layout, LAYOUT.key)
        return cluster_table(
            self._call_on(spark, chosen),
            is_dry_run=as_switch("dry_run", dry_run),
            is_only_planned=as_switch("schedule", schedule),
        )

    def create_index(
        self,
        index: str,
        column: str | None = None,
        *,
        name: str | None = None,
        expr: str | None = None,
        kind: str = "column_stats",
        options: Options | None = None,
        dry_run: bool = False,
        schedule: bool = False,
        spark: object = None,
    ) -> IndexResult:
        """Make an index in the metadata table, while writers go on; every write keeps it up to date from then on.

        An index by an expression leaves out files whose values of a function of a column cannot match a filter that
        names the function, a secondary index those that do not have a value of a column. Functions of time are in UTC.

        Args:
            index: `column_stats`, `partition_stats` or another index of which a table has one; `expression`; or
                `secondary`, which rests on a record index.
            column: of an expression or secondary index.
            name: of an expression or secondary index; else it is named after function and column.
            expr: the function, such as `lower`, `year`, `substring`, `date_format` or `from_unixtime`.
            kind: what an expression index keeps: `column_stats`, bounds of each file, or `bloom_filters`.
            options: arguments of the function, such as `{"format": "yyyy-MM-dd"}`, as Apache Hudi names them; and its
                options by their keys, for this call.
            dry_run: return which partition of the metadata table would be built, and change nothing.
            schedule: only store the plan; `index()` of any process runs it, or Apache Hudi's indexer.
            spark: a session that reads the files; else it is done in this process.

        Example:
            >>> trips.create_index("expression", "city", expr="upper").partitions
            ('expr_index_upper_city',)

        Raises: InvalidInput for an index that there is already, or that this table cannot have; NotBuilt for a table
                without a metadata table; LockNotAcquired; StorageUnavailable: `index()` goes on.
        """
        said = {} if options is None else as_mapping("options", options)
        own = {key: value for key, value in said.items() if "." in key}
        request = IndexRequest(
            kind=as_text("index", index).lower(),
            column="" if column is None else as_text("column", column),
            name="" if name is None else as_text("name", name),
            expr="" if expr is None else as_text("expr", expr),
            type=as_text("kind", kind).lower(),
            options={key: str(value) for key, value in said.items() if key not in own},
        )
        done = create_index(
            self._call_on(spark, own),
            request,
            is_dry_run=as_switch("dry_run", dry_run),
            is_only_planned=as_switch("schedule", schedule),
        )
        self._state = reopened(self._state)
        return done

    def drop_index(self, name: str, *, options: Options | None = None, dry_run: bool = False) -> IndexResult:
        """Take an index away, or its plan; reads and writes go on without it.

        Args:
            name: as it was created, or its partition of the metadata table.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return what would go, and change nothing.

        Example:
            >>> trips.drop_index("column_stats", dry_run=True).partitions
            ('column_stats', 'partition_stats')

        Raises: InvalidInput for an index that there is not, or that others rest on; LockNotAcquired.
        """
        call = self._call_on(None, options)
        done = drop_index(call, as_text("name", name), is_dry_run=as_switch("dry_run", dry_run))
        self._state = reopened(self._state)
        return done

    def index(self, *, options: Options | None = None, spark: object = None) -> IndexResult:
        """Build the indexes that are planned, also by Apache Hudi, and left by the process that planned them.

        Args:
            options: options of Apache Hudi by their keys, for this call.
            spark: a session that reads the files; else it is done in this process.

        Example:
            >>> trips.index().partitions
            ()

        Raises: as `create_index`.
        """
        done = run_indexing(self._call_on(spark, options))
        self._state = reopened(self._state)
        return done

    def archive(self, *, options: Options | None = None, dry_run: bool = False) -> ArchiveResult:
        """Move the oldest instants from the active timeline to the history, as far as none is needed there.

        Writes do this by themselves when it is due, unless `hoodie.archive.automatic` is false.

        Args:
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return which instants would go, and change nothing.

        Example:
            >>> trips.archive(dry_run=True).instants
            ()

        Raises: NotBuilt for a table of version 6, and one that pyhudi does not write; LockNotAcquired;
                StorageUnavailable.
        """
        return archive_table(self._call_on(None, options), is_dry_run=as_switch("dry_run", dry_run))

    def run_due_services(self, *, options: Options | None = None) -> dict[str, tuple[str, ...]]:
        """Run the table services that are due, in this process; returns by name the instants that were completed.

        Of archiving they are those that were archived. For a process of its own, where writes leave services to it:
        compactions always but with `hoodie.compact.inline`, cleans and archiving with `hoodie.clean.async.enabled` and
        `hoodie.archive.async`.

        Args:
            options: options of Apache Hudi by their keys, for this call.

        Example:
            >>> trips.run_due_services()
            {}

        Raises: as `clean`.
        """
        return run_due_services(self._call_on(None, options))

    def check(self, *, all_keys: bool = False) -> CheckReport:
        """Compare what timeline, storage and metadata table say of each other, and statistics with footers.

        Changes nothing: `report.ok`, and `report.problems` says of each what is expected, what was found and what to
        do. Reads every active commit, every listing and, where statistics are kept, the footer of each base file.

        Args:
            all_keys: look for keys with several rows in all file groups, and not in a few of the newest; only where
                upserts alone wrote them, as inserts may put a key in twice. And compare secondary and expression
                indexes with all rows.

        Example:
            >>> trips.check().ok
            True
        """
        self._state = reopened(self._state)
        return check_table(
            self._state,
            lambda instant: writer_of(self._state, instant, settings_of(self._state.config, None)),
            all_keys=as_switch("all_keys", all_keys),
        )

    def repair(
        self, partition: str | None = None, *, options: Options | None = None, dry_run: bool = False
    ) -> RepairResult:
        """Build a partition of the metadata table anew from what is stored, beside writers at work.

        What no rebuild settles, `check()` says what to do about.

        Args:
            partition: `files`, `column_stats` or another that `inspect.indexes()` has, such as `expr_index_days`;
                those that `check()` names, without it. One that the table does not have yet is added.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return what would be built, and change nothing.

        Example:
            >>> trips.repair("column_stats", dry_run=True).partitions
            ('column_stats',)

        Raises: InvalidInput for a partition that the table cannot have; WriteConflict; LockNotAcquired.
        """
        call = self._call_on(None, options)
        named = "" if partition is None else as_text("partition", partition)
        return repair_table(call, named, is_dry_run=as_switch("dry_run", dry_run))

    def options(self) -> pa.Table:
        """List the options that hold where a write or a service says nothing itself, those that the table keeps first.

        Columns: key, value, and where_from: `table`, or `default`.

        Example:
            >>> trips.options().slice(0, 1).column_names
            ['key', 'value', 'where_from']
        """
        self._state = reopened(self._state)
        return options_in_force(self._state.config)

    def set_options(self, kept: Mapping[str, object], *, options: Options | None = None) -> None:
        """Keep options of Apache Hudi for all writes and services of the table, of whichever process.

        A write's own options and a session's win. Apache Hudi does not read what is kept, nor does it mind.

        Args:
            kept: by key, values, or None for what the table is to keep no longer. What is not named stays.
            options: options of Apache Hudi by their keys, for this call: those of its lock.

        Example:
            >>> trips.set_options({"hoodie.clean.commits.retained": 20})
            >>> trips.options()["value"][0].as_py()
            '20'

        Raises: OptionError for a value that cannot be, and for an option that no table keeps; LockNotAcquired.
        """
        state = self._state = reopened(self._state)
        self._state = set_options(state, as_mapping("kept", kept), settings_of(state.config, options))

    def _call_on(self, spark: object, options: Options | None) -> ServiceCall:
        """Return the call of a service whose work a session does, or this process without one."""
        state = self._state = reopened(self._state)
        engine = None if spark is None else engine_on(spark, state.storage)
        return service_call(state, settings_of(state.config, options), engine)

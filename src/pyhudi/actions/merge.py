"""Merge a source into the table by conditions: update, delete, insert, and clauses for rows the source has not.

`MergeBuilder` collects the clauses; `execute` checks them, finds the target rows by record key and lets tasks apply
the clauses to one file group after the other. Start at `MergeBuilder`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, NoReturn, TypeVar, cast, get_args

import pyarrow as pa

from pyhudi.actions.write import plan_for, recheck_of
from pyhudi.arguments import as_mapping
from pyhudi.commit.begin import WriteContext, begin_write
from pyhudi.commit.call import WriteCall, WriteResult
from pyhudi.commit.few_rows import bring_few_rows
from pyhudi.commit.finish import finish
from pyhudi.commit.planned import PlannedWrite, planned
from pyhudi.commit.restart import restarting
from pyhudi.commit.sinks import stored_slices, stored_task
from pyhudi.commit.tag import key_search, tag
from pyhudi.commit.work import FilesWork, RowsWork, WriteWork, run_work, start_write
from pyhudi.engine.api import KEY, ORDER, PARTITION, Frame
from pyhudi.errors import DuplicateKeys, InvalidInput, SchemaMismatch
from pyhudi.filegroup.model import PartitionPath
from pyhudi.filegroup.view import as_file_slices
from pyhudi.filegroup.write_task import WriteSpec
from pyhudi.index.choice import index_of
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.predicate import (
    Expression,
    Filter,
    all_of,
    check,
    conjuncts,
    equalities,
    literal,
    parse,
    to_expression,
    to_value,
)
from pyhudi.predicate.model import Binary, Column, Operator
from pyhudi.queries.choosing import choose_slices
from pyhudi.queries.slices import table_schema, visible_slices
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.schema.types import to_table_schema
from pyhudi.state.config import TableConfig
from pyhudi.tasks.clauses import Clause, ClauseKind, MergeClauses, Sides, found_name, over_source, source_name
from pyhudi.tasks.merge import merge_bucket, merge_buckets
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import WriteOperation
from pyhudi.txn.conflicts import ReadSet

__all__ = ["MergeBuilder"]

Outcome = TypeVar("Outcome", WriteResult, PlannedWrite)


class MergeBuilder(Generic[Outcome]):
    """Clauses of one merge, in the order they are tried; the first whose condition is true acts on a row.

    `t` is the table, `s` the source. Every record key field must be equated in `on`: Hudi finds rows by key. Where `on`
    equates every partition field too, only those partitions are looked at. Clauses act whatever the ordering fields
    say. An assignment is an expression as text, or a value that is no text. In a table whose keys are generated, `on`
    equates `t._hoodie_record_key` with the key that was read with a row; a source row without one matches none.

    Nulls: a condition that is unknown is not true; key and partition fields that are null on both sides are equal.
    """

    def __init__(self, call: WriteCall, source: Frame, on: str | Expression) -> None:
        self._call, self._source, self._on = call, source, on
        self._clauses: tuple[Clause, ...] = ()

    def __repr__(self) -> str:
        """Show the table, `on` and the clauses; nothing runs before `execute()`."""
        clauses = ", ".join(one.kind.value for one in self._clauses) or "no clauses"
        return f"MergeBuilder({self._call.state.config.name!r}, on={self._on!r}: {clauses}; not executed)"

    def when_matched_update_all(self, condition: Filter = None) -> "MergeBuilder[Outcome]":
        """Take all columns from the source."""
        return self._with(ClauseKind.UPDATE, None, condition)

    def when_matched_update(self, set: Mapping[str, Any], condition: Filter = None) -> "MergeBuilder[Outcome]":
        """Set columns to expressions over `t` and `s`."""
        return self._with(ClauseKind.UPDATE, set, condition)

    def when_matched_delete(self, condition: Filter = None) -> "MergeBuilder[Outcome]":
        """Delete the target row."""
        return self._with(ClauseKind.DELETE, None, condition)

    def when_not_matched_insert_all(self, condition: Filter = None) -> "MergeBuilder[Outcome]":
        """Insert the source row."""
        return self._with(ClauseKind.INSERT, None, condition)

    def when_not_matched_insert(self, values: Mapping[str, Any], condition: Filter = None) -> "MergeBuilder[Outcome]":
        """Insert a row of expressions over `s`; columns that are not named are null."""
        return self._with(ClauseKind.INSERT, values, condition)

    def when_not_matched_by_source_update(
        self,
        set: Mapping[str, Any],
        condition: Filter = None,
    ) -> "MergeBuilder[Outcome]":
        """Set columns of target rows that no source row matches, to expressions over `t`."""
        return self._with(ClauseKind.UPDATE_BY_SOURCE, set, condition)

    def when_not_matched_by_source_delete(self, condition: Filter = None) -> "MergeBuilder[Outcome]":
        """Delete target rows that no source row matches."""
        return self._with(ClauseKind.DELETE_BY_SOURCE, None, condition)

    def execute(self) -> Outcome:
        """Run the merge as one commit.

        A dry run gives the plan instead.

        Raises: InvalidInput, ExpressionError, SchemaMismatch where `on` or a clause cannot be used, before anything is
                written; DuplicateKeys where two source rows act on one row, or an insert would make a key twice.
        """
        return cast("Outcome", _execute(self._call, self._source, self._on, self._clauses))

    def _with(self, kind: ClauseKind, values: Mapping[str, Any] | None, condition: Filter) -> "MergeBuilder[Outcome]":
        given = None if values is None else as_mapping("set", values)
        assignments = None if given is None else {name: to_value(value) for name, value in given.items()}
        clause = Clause(kind=kind, assignments=assignments, condition=to_expression(condition))
        longer: MergeBuilder[Outcome] = MergeBuilder(self._call, self._source, self._on)
        longer._clauses = (*self._clauses, clause)
        return longer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Join:
    """What `on` says."""

    keys: Mapping[str, Expression]
    """Record key fields, and partition fields where all are given, as expressions over bare source columns."""
    residual: Expression | None
    knows_partition: bool
    """Every partition field is equated, so a row is looked for in its own partition only."""

    @staticmethod
    def of(on: str | Expression, config: TableConfig, sides: Sides, *, is_global: bool) -> "_Join":
        """Take the terms apart that find rows by key; a global index looks in all partitions whatever `on` says."""
        partitions, record_key = _partition_columns(config), config.record_key or (KEY,)
        wanted = {*record_key, *partitions}
        equal: dict[str, Expression] = {}
        terms: dict[str, Expression] = {}
        others: list[Expression] = []
        for term in conjuncts(on if isinstance(on, get_args(Expression)) else parse(cast("str", on))):
            given, value = next(((pair[0].name, pair[1]) for pair in equalities(term).pairs), ("", term))
            name = found_name(sides.target, given) or given
            if name in wanted and name not in equal:
                equal[name], terms[name] = value, term
            else:
                others.append(term)
        missing = [name for name in record_key if name not in equal]
        if missing and not config.record_key:
            raise InvalidInput(
                "this table's keys are generated; equate t._hoodie_record_key with a key that was read", on=on
            )
        if missing:
            raise InvalidInput(
                "a merge finds rows by key: equate every record key field in `on`", missing=missing, on=on
            )
        knows_partition = not is_global and all(name in equal for name in partitions)
        asked = [name for name in partitions if name in equal and name not in record_key]
        if not knows_partition and (unread := [name for name in asked if name in sides.dropped]):
            _refuse_unread(unread, on, is_global=is_global)
        # Two values may share a path (the hours of a day, null and its text), so that they are compared in any case.
        others += [_null_safe(terms[name]) for name in asked if not (knows_partition and name in sides.dropped)]
        keys = [*record_key, *(asked if knows_partition else ())]
        for name in keys:
            _require_same_type(sides, name, equal[name])
        return _Join(
            keys={name: equal[name] for name in keys},
            residual=all_of(*others) if others else None,
            knows_partition=knows_partition,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merge:
    """A merge whose clauses fit the table and the source."""

    clauses: MergeClauses
    target: pa.Schema
    """The table's columns."""
    source: pa.Schema
    """The source's columns as a table would store them."""
    keys: Mapping[str, Expression]
    """Record key and partition fields of a source row, as expressions over its prefixed columns."""
    knows_partition: bool

    @staticmethod
    def of(
        call: WriteCall, target: pa.Schema, given: pa.Schema, on: str | Expression, clauses: tuple[Clause, ...]
    ) -> "_Merge":
        """Check everything that can be wrong before a row is looked at."""
        config = call.state.config
        if not clauses:
            raise InvalidInput("a merge needs at least one clause")
        if not config.record_key and config.key_generator is KeyGenerator.USER_PROVIDED:
            raise InvalidInput("a merge finds rows by key fields, and a function makes this table's keys; use upsert")
        partitions = _partition_columns(config)
        sides = Sides(
            target=target,
            source=_as_stored(given, target),
            fixed=tuple(dict.fromkeys([*config.record_key, *partitions])),
            dropped=config.columns_in_paths,
        )
        is_global = index_of(call.settings, config).is_global
        join = _Join.of(on, config, sides, is_global=is_global)
        checked = MergeClauses.of(clauses, join.residual, sides)
        if sides.dropped and not join.knows_partition and checked.same_place is not None:
            _refuse_place(on, is_global=is_global)
        keys = {name: over_source(expression) for name, expression in join.keys.items()}
        for name in partitions:
            # Without an insert it does not matter where an unmatched row would go.
            nowhere = literal(None, sides.target.field(name).type)
            keys.setdefault(name, checked.inserted(name) or nowhere)
        return _Merge(
            clauses=checked,
            target=sides.target,
            source=sides.source,
            keys=keys,
            knows_partition=join.knows_partition,
        )


@restarting
def _execute(
    call: WriteCall, source: Frame, on: str | Expression, clauses: tuple[Clause, ...]
) -> WriteResult | PlannedWrite:
    timeline = load_timeline(call.state)
    merge = _Merge.of(call, table_schema(call.state, timeline), call.engine.schema(source), on, clauses)
    keyed = _keyed(call, source, merge)
    with begin_write(call, keyed, WriteOperation.UPSERT, has_only_keys=True, timeline=timeline) as begun:
        is_anywhere = merge.clauses.has_by_source or not merge.knows_partition
        write = bring_few_rows(begun, visible_slices(begun.files) if is_anywhere else None)
        call = write.call
        if merge.clauses.has_inserts and write.index.is_global:
            _require_one_row_a_key(call, write)
        looking = write if merge.knows_partition else _in_all_partitions(write)
        work = _work(write, looking, merge)
        if call.is_dry_run:
            routed = {(one.partition, one.file_id) for one in work.tasks}
            rest = _unreached(write, work, routed, merge.clauses) if merge.clauses.has_by_source else work.files
            return planned(write, replace(work, files=rest))
        start_write(write, work)
        statuses = run_work(write, work)
        if merge.clauses.has_by_source:
            reached = {(one.partition, one.file_id) for one in statuses}
            rest = _unreached(write, work, reached, merge.clauses)
            statuses += run_work(write, WriteWork(files=rest))
            work = replace(work, files=rest)
        return finish(looking, work, statuses)


def _work(write: WriteContext, looking: WriteContext, merge: _Merge) -> WriteWork:
    tagged = tag(looking, asks_metadata=True)
    plan = plan_for(write, tagged, has_inserts=merge.clauses.has_inserts, is_anywhere=not merge.knows_partition)
    task = partial(merge_buckets, storage=write.call.state.storage, spec=_spec(write), clauses=merge.clauses)
    recheck = recheck_of(looking, tagged)
    rows = RowsWork(tagged=tagged, plan=plan, task=task, recheck=recheck, reads=stored_slices(write))
    work = WriteWork(rows=rows, find_keys=key_search(looking, tagged))
    reads = ReadSet(groups=work.groups, covers=_everything if merge.clauses.has_by_source else None)
    return replace(work, read_set=reads if write.call.is_serializable else None)


def _spec(write: WriteContext) -> WriteSpec:
    return write.call.spec(write.time, write.schema)


def _everything(_: PartitionPath) -> bool:
    return True


def _in_all_partitions(write: WriteContext) -> WriteContext:
    """Look for the rows wherever they are: `on` does not say in which partition."""
    return replace(write, has_unknown_partitions=True, slices=visible_slices(write.files))


def _keyed(call: WriteCall, source: Frame, merge: _Merge) -> Frame:
    """Return the source its keys; its own columns get names that cannot meet the table's."""
    engine = call.engine
    columns: dict[str, Expression] = {source_name(name): Column(parts=(name,)) for name in merge.source.names}
    renamed = engine.select(engine.conform(source, merge.source), columns)
    everything = {name: Column(parts=(name,)) for name in columns}
    fields = engine.select(renamed, {**everything, **merge.keys})
    return engine.with_keys(fields, call.keys(None if call.state.config.record_key else _key_prefix(call)))


def _key_prefix(call: WriteCall) -> InstantTime:
    """Return what the keys of new rows start with: they are made before there is an instant, so a number like one."""
    return InstantTime(f"{int.from_bytes(call.state.env.nonce()) % 10**17:017}")


def _unreached(
    write: WriteContext, work: WriteWork, reached: Collection[tuple[str, str]], clauses: MergeClauses
) -> FilesWork:
    """Apply the clauses for rows without a source row to the file groups that no source row reached.

    Those are left out of which paths and statistics say that no clause changes a row.
    """
    first = len(work.tasks)
    chosen = choose_slices(write.files, with_meta_fields(write.schema), clauses.where_by_source)
    files = tuple(
        stored_task(write, one, first + number)
        for number, one in enumerate(as_file_slices(chosen.slices))
        if (one.group.partition, one.group.file_id) not in reached
    )
    storage = write.call.state.storage
    task = partial(merge_bucket, storage=storage, spec=_spec(write), rows=None, clauses=clauses)
    return FilesWork(files=files, task=task, reads=stored_slices(write))


def _partition_columns(config: TableConfig) -> tuple[str, ...]:
    return tuple(name.split(":")[0] for name in config.partition_fields)


def _refuse_unread(fields: Sequence[str], on: str | Expression, *, is_global: bool) -> NoReturn:
    """Refuse to compare partition fields that no file has, where rows are looked for in all partitions."""
    way = "leave them out of `on`" if is_global else "equate all of them in `on`, or none"
    why = ", and a global index looks in all partitions" if is_global else ""
    raise InvalidInput(f"this table's files lack the partition fields{why}; {way}", fields=list(fields), on=on)


def _refuse_place(on: str | Expression, *, is_global: bool) -> NoReturn:
    """Refuse an update of all columns that cannot see whether a row stays where it is."""
    way = "update the other columns by name: when_matched_update({...})" if is_global else "equate them in `on`"
    raise InvalidInput(f"this table's files lack the partition fields; {way}", on=on)


def _null_safe(term: Expression) -> Expression:
    return replace(term, operator=Operator.SAME) if isinstance(term, Binary) else term


def _as_stored(schema: pa.Schema, target: pa.Schema) -> pa.Schema:
    """Return the source's columns the types that tables have; one of nulls alone has that of the target's column."""
    known = {field.name: field.type for field in target}
    typed = [
        field.with_type(known.get(field.name, field.type)) if pa.types.is_null(field.type) else field
        for field in schema
    ]
    schema = pa.schema(typed)
    fields = [field for field in schema if not pa.types.is_null(field.type)]
    stored = to_table_schema(pa.schema(fields))
    return pa.schema([field if pa.types.is_null(field.type) else stored.field(field.name) for field in schema])


def _require_same_type(sides: Sides, name: str, value: Expression) -> None:
    """Keys meet as texts, so two types would never meet, or meet by chance."""
    if name not in sides.target.names:
        return
    stored, given = sides.target.field(name).type, check(value, sides.source)
    if stored != given and not (pa.types.is_integer(stored) and pa.types.is_integer(given)):
        raise SchemaMismatch(
            "`on` compares a key or partition field with another type; cast the source's side",
            column=name,
            table=str(stored),
            source=str(given),
        )


def _require_one_row_a_key(call: WriteCall, write: WriteContext) -> None:
    """Global indexes: two rows of one key and different partitions meet in no task, so they are refused here."""
    spec = call.spec(write.time, write.schema).merge
    bare = call.engine.select(write.rows.frame, {name: Column(parts=(name,)) for name in (KEY, PARTITION, ORDER)})
    newest = call.engine.newest(bare, replace(spec, ordering=(), delete_field="", delete_marker=""))
    if _rows_count(call, newest) != _rows_count(call, bare):
        raise DuplicateKeys("with a global index a merge that inserts needs a source of one row a key")


def _rows_count(call: WriteCall, frame: Frame) -> int:
    return int(call.engine.count(frame, []).column("rows")[0].as_py())

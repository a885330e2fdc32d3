"""Run MERGE INTO, by the merge of the table.

The names of a statement get their sides, `t` and `s`. An expression that the grammar of `pyhudi.predicate` lacks
becomes a column of the source which the surface computes: by the source alone, or, where the expression names the
table's columns, by joining the table. A table whose keys are generated is always joined: ON finds the key of the row
that is stored, and the merge goes by that. Start at `merge`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pyhudi.errors import StatementError
from pyhudi.index.choice import index_of
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.options import Settings
from pyhudi.predicate import Case, Column, Expression, IsNull, Not, all_of, any_of, conjuncts, equalities
from pyhudi.predicate.model import Binary, Operator, literal, rewrite, walk
from pyhudi.schema.meta_fields import RECORD_KEY
from pyhudi.statements.api import Runner
from pyhudi.statements.conditions import terms_of_and
from pyhudi.statements.cursor import text_of
from pyhudi.statements.model import Assignment, Merge, MergeClause, Piece
from pyhudi.statements.outdated import begun_again, reading_for, unchanged_if_read
from pyhudi.statements.reader import TokenReader
from pyhudi.statements.scopes import Scope, Side, qualifiers_of_table
from pyhudi.statements.targets import Target, options_of_writes, require_distinct, target_of
from pyhudi.statements.tokens import SqlToken, tokenize_statement

if TYPE_CHECKING:
    from pyhudi.table import WriteResult

__all__ = ["merge"]

_COMPUTED: Final = "_computed_"
_FOUND_KEY: Final = "_found_key"
"""The column of the source with the key of the row that ON finds, in a table whose keys are generated."""
_FOUND_PARTITION: Final = "_found_partition_"
"""In front of a partition column: its value in the row that ON finds."""
_IS_FOUND: Final = "_is_found"
"""Whether ON finds a row for one of the source: a key is never null."""
_SOURCE: Final = "_source"
"""The alias of a source that has neither alias nor name, or the name of the table."""


@begun_again
def merge(statement: Merge, runner: Runner) -> "WriteResult":
    """Run a MERGE INTO.

    Raises: StatementError for what is not understood, with its place; what `Table.merge` raises.
    """
    target = target_of(runner, statement.table)
    alias = statement.source_alias or _own_name(statement)
    source = require_distinct(runner.schema(_read(statement, alias, [], runner)), statement.source.place)
    target = _with_new_columns(statement, target, source, runner)
    plan = _Plan.of(statement, target, source, runner)
    options = options_of_writes(runner, target.entry)
    options.pop("hoodie.datasource.write.operation", None)
    on = plan.on()
    clauses = [plan.clause(clause, on) for clause in statement.clauses]
    if not target.table.config.record_key:
        on = plan.on_found_key()
    elif plan.joins and target.table.config.drops_partition_columns:
        on = plan.on_found_path(on, clauses, options)
    elif plan.joins:
        on, clauses = plan.on_found_partition(on), [plan.where_none_is_found(one) for one in clauses]
    with reading_for(target):
        rows = _read(statement, alias, plan.source_columns(alias), runner, plan.joined_on if plan.joins else None)
    reads = f"SELECT * FROM {statement.source.text}"  # noqa: S608 - the user's own
    table = target.unchanged if plan.joins else unchanged_if_read(target, reads, runner)
    builder: Any = table.merge(rows, on=on, options=options, isolation="serializable")
    for clause in clauses:
        builder = clause.added_to(builder)
    result: WriteResult = builder.execute()
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clause:
    """A clause whose expressions have their sides."""

    kind: str
    action: str
    values: dict[str, Expression] | None
    """None: all columns of the source, or a delete."""
    condition: Expression | None

    def added_to(self, builder: Any) -> Any:  # noqa: ANN401 - a builder of either outcome
        """Return the builder with this clause."""
        match self.kind, self.action, self.values:
            case "matched", "delete", _:
                return builder.when_matched_delete(condition=self.condition)
            case "matched", _, None:
                return builder.when_matched_update_all(condition=self.condition)
            case "matched", _, values:
                return builder.when_matched_update(values, condition=self.condition)
            case "not matched", _, None:
                return builder.when_not_matched_insert_all(condition=self.condition)
            case "not matched", _, values:
                return builder.when_not_matched_insert(values, condition=self.condition)
            case _, "delete", _:
                return builder.when_not_matched_by_source_delete(condition=self.condition)
            case _, _, values:
                return builder.when_not_matched_by_source_update(values, condition=self.condition)


@dataclass(slots=True, kw_only=True)
class _Plan:
    """The sides of one merge, and the expressions that the surface is to compute."""

    statement: Merge
    target: Target
    runner: Runner
    table_side: Side
    source_side: Side
    computed: list[str] = field(default_factory=list)
    joins: bool = False
    """Whether the source is read beside the rows of the table: a computed expression or ON needs them."""
    is_by_path: bool = False
    """Whether files lack the partition columns, and a row of the source says by them which row it was read beside."""

    @staticmethod
    def of(statement: Merge, target: Target, source: pa.Schema, runner: Runner) -> "_Plan":
        alias = statement.source_alias
        qualifiers = frozenset({alias.lower()}) if alias is not None else _qualifiers_of(statement.source)
        return _Plan(
            statement=statement,
            target=target,
            runner=runner,
            table_side=Side(
                qualifiers=qualifiers_of_table(statement.table, statement.alias), schema=target.schema, prefix="t"
            ),
            source_side=Side(qualifiers=qualifiers, schema=source, prefix="s"),
        )

    def on(self) -> Expression:
        """Return the join condition.   Raises: StatementError for one that the grammar lacks."""
        piece = self.statement.on
        expression = self._scope(self.table_side, self.source_side).resolve(piece)
        if expression is None and not self.target.table.config.record_key:
            return literal(True)  # the surface joins by it, whatever it is
        if expression is None:
            raise StatementError(
                "ON compares columns of both sides; compute what else there is in the source, or put it into a clause",
                near=piece.text[:60],
                position=piece.place,
            )
        return expression

    @property
    def joined_on(self) -> str:
        """Return the text of ON by which the surface joins: partition columns that are null on both sides are equal.

        So they are to a merge of a table that has record keys; where keys are generated, ON means what it says.
        """
        if not self.target.table.config.record_key:
            return self.statement.on.text
        tokens = tokenize_statement(self.statement.on.text, self.runner.dialect)[:-1]
        return " AND ".join(self._joined_terms(tokens))

    def _joined_terms(self, tokens: tuple[SqlToken, ...]) -> Iterator[str]:
        for term in terms_of_and(tokens):
            if term[0].is_mark("(") and all(token.depth > term[0].depth for token in term[1:-1]):
                yield f"({' AND '.join(self._joined_terms(term[1:-1]))})"
            else:
                yield self._joined_term(term)

    def _joined_term(self, term: tuple[SqlToken, ...]) -> str:
        piece = text_of(term, 0, len(term))
        equals = [at for at, token in enumerate(term) if token.is_mark("=", "==")]
        expression = self._scope(self.table_side, self.source_side).resolve(piece)
        pairs = () if expression is None else equalities(expression).pairs
        if len(equals) != 1 or not any(stored.name in self.target.partition_columns for stored, _ in pairs):
            return piece.text
        left, right = text_of(term, 0, equals[0]), text_of(term, equals[0] + 1, len(term))
        return f"{left.text} IS NOT DISTINCT FROM {right.text}"

    def on_found_key(self) -> Expression:
        """Return the join condition of a table whose keys are generated: the key of the row that ON finds."""
        self.joins = True
        left, right = Column(parts=("t", RECORD_KEY)), Column(parts=("s", _FOUND_KEY))
        return Binary(operator=Operator.EQUAL, left=left, right=right)

    def on_found_partition(self, on: Expression) -> Expression:
        """Return the join condition where the source is read beside the rows of the table: a row meets its own.

        A key may be in several partitions, and a row of the source then comes once for each of them. That is no
        equality by which the merge finds the partition of a row: of what is inserted the source says it.
        """
        sides = ((Column(parts=("t", one)), Column(parts=("s", _FOUND_PARTITION + one))) for one in self._partitions)
        return all_of(on, *(_is_same(stored, found) for stored, found in sides))

    def on_found_path(self, on: Expression, clauses: Sequence[_Clause], options: Mapping[str, str]) -> Expression:
        """Return the join condition where files lack the partition columns: they are where the row that ON finds is.

        A row for which ON finds none is looked for where the inserts put it. Under a global index a key is in one
        partition. ON may name the partition itself, and UPDATE SET * compares the source's.
        """
        config = self.target.table.config
        named = {pair[0].name for term in conjuncts(on) for pair in equalities(term).pairs}
        is_all = any(one.kind == "matched" and one.action != "delete" and one.values is None for one in clauses)
        is_global = index_of(Settings.of(options), config).is_global
        is_spelled = config.key_generator not in {KeyGenerator.SIMPLE, KeyGenerator.COMPLEX}  # a path tells no value
        if is_global or is_all or is_spelled or named & {*self.target.partition_columns}:
            return on
        self.is_by_path = True
        inserts = [one for one in clauses if one.kind == "not matched"]
        return all_of(on, *(self._found_path(name, inserts) for name in self.target.partition_columns))

    def _found_path(self, name: str, inserts: Sequence[_Clause]) -> Expression:
        nothing = literal(None, self.target.schema.field(name).type)
        is_found, found = Column(parts=("s", _IS_FOUND)), Column(parts=("s", _FOUND_PARTITION + name))
        own = Column(parts=("s", name))
        values = [own if one.values is None else one.values.get(name, nothing) for one in inserts]
        conditions = [literal(True) if one.condition is None else one.condition for one in inserts]
        placed = zip(conditions, values, strict=True)
        return Binary(
            operator=Operator.EQUAL, left=Column(parts=("t", name)), right=Case(whens=((is_found, found), *placed))
        )

    def where_none_is_found(self, clause: _Clause) -> _Clause:
        """Return a clause that inserts as one for rows for which ON finds none, in whatever partition."""
        if clause.kind != "not matched" or not self._partitions:
            return clause
        is_new = Not(value=Column(parts=("s", _IS_FOUND)))
        return replace(clause, condition=is_new if clause.condition is None else all_of(is_new, clause.condition))

    @property
    def _partitions(self) -> list[str]:
        """Return the partition columns; none where files lack them, or one of these or of the key is in a struct."""
        is_plain = all(one in self.target.schema.names for one in self.target.fixed_columns)
        is_stored = not self.target.table.config.drops_partition_columns
        return [*self.target.partition_columns] if is_plain and is_stored else []

    def clause(self, clause: MergeClause, on: Expression) -> _Clause:
        """Return a clause whose expressions have their sides."""
        sides = self._sides_of(clause)
        condition = None if clause.condition is None else self._resolved(clause.condition, sides)
        values = None
        if not clause.is_star and clause.action != "delete":
            values = self._values(clause, sides, on)
        return _Clause(kind=clause.kind, action=clause.action, values=values, condition=condition)

    def source_columns(self, alias: str) -> list[str]:
        """Return the columns of the source as the merge reads them: its own, in the table's spelling, and computed."""
        own = []
        for name in self.source_side.schema.names:
            spelled = self.table_side.spelled.get(name.lower(), name)
            column = self.runner.quoted(alias, name)
            own.append(column if spelled == name else f"{column} AS {self.runner.quoted(spelled)}")
        extra = [
            f"{text} AS {self.runner.quoted(_COMPUTED + str(number))}" for number, text in enumerate(self.computed)
        ]
        if not self.target.table.config.record_key:
            name = self.statement.alias or self.statement.table.parts[-1]
            extra.append(f"{self.runner.quoted(name, RECORD_KEY)} AS {self.runner.quoted(_FOUND_KEY)}")
        elif found := [*self.target.partition_columns] if self.is_by_path else self._partitions if self.joins else []:
            name = self.statement.alias or self.statement.table.parts[-1]
            extra += [
                f"{self.runner.quoted(name, one)} AS {self.runner.quoted(_FOUND_PARTITION + one)}" for one in found
            ]
            key = self.runner.quoted(name, self.target.table.config.record_key[0])
            extra.append(f"{key} IS NOT NULL AS {self.runner.quoted(_IS_FOUND)}")
        return [*own, *extra]

    def _sides_of(self, clause: MergeClause) -> tuple[Side, ...]:
        """Return the sides that a clause's expressions may name."""
        match clause.kind:
            case "not matched":
                return (self.source_side,)
            case "not matched by source":
                return (self.table_side,)
            case _:
                return (self.table_side, self.source_side)

    def _scope(self, *sides: Side) -> Scope:
        return Scope(sides=sides, dialect=self.runner.dialect)

    def _resolved(self, piece: Piece, sides: tuple[Side, ...], kind: pa.DataType | None = None) -> Expression:
        """Return an expression; one that the grammar lacks becomes a column which the source has computed."""
        scope = self._scope(*sides)
        expression = scope.resolve(piece)
        is_in_path = expression is not None and self._is_in_path(expression)
        if expression is not None and not is_in_path:
            return _in_source_spelling(expression, self.table_side)
        if is_in_path and self.source_side not in sides:
            raise StatementError(
                "this table's files lack its partition columns, so that a clause BY SOURCE cannot read them; "
                "write it as an UPDATE or DELETE of its own",
                near=piece.text[:60],
                position=piece.place,
            )
        if self.source_side not in sides:
            raise StatementError(
                "a clause BY SOURCE takes plain conditions and values, without queries and functions of the engine",
                near=piece.text[:60],
                position=piece.place,
            )
        self.joins = self.joins or (self.table_side in sides and scope.names(piece, self.table_side))
        self.computed.append(piece.text if kind is None else self.runner.cast(piece.text, kind))
        return Column(parts=("s", f"{_COMPUTED}{len(self.computed) - 1}"))

    def _is_in_path(self, expression: Expression) -> bool:
        """Return whether an expression reads what only the paths of files have: the surface reads it, no task does."""
        names = {name.lower() for name in self.target.table.config.columns_in_paths}
        columns = [node.parts for node in walk(expression) if isinstance(node, Column)]
        return any(parts[0] == "t" and parts[1].lower() in names for parts in columns)

    def _values(self, clause: MergeClause, sides: tuple[Side, ...], on: Expression) -> dict[str, Expression]:
        values: dict[str, Expression] = {}
        for one in clause.assignments:
            column = self.target.column(one.column, one.place)
            if column in values:
                raise StatementError("set each column once", column=one.column, position=one.place)
            kind = self.target.schema.field(column).type
            if clause.action == "update" and column in self.target.fixed_columns:
                self._require_unchanged(one, column, self._scope(*sides).resolve(one.value), on)
            elif one.value.text.lower() == "default":
                values[column] = literal(None, kind)
            else:
                values[column] = self._resolved(one.value, sides, kind)
        if not values:
            raise StatementError("the clause sets no column that can change", position=clause.place)
        return values

    def _require_unchanged(self, one: Assignment, column: str, found: Expression | None, on: Expression) -> None:
        """Check that an assignment to a key or partition column repeats what ON says: it is left out then."""
        value = None if found is None else _in_source_spelling(found, self.table_side)
        same = {pair[0].name: pair[1] for term in conjuncts(on) for pair in equalities(term).pairs}
        bare = Column(parts=value.parts[1:]) if isinstance(value, Column) else None
        if value != Column(parts=("t", column)) and (bare is None or same.get(column) != bare):
            raise StatementError(
                "key and partition columns of a row stay; delete the row and insert it anew",
                column=one.column,
                position=one.place,
            )


def _is_same(left: Expression, right: Expression) -> Expression:
    """Return whether two values are equal, or both are null."""
    is_equal = Binary(operator=Operator.EQUAL, left=left, right=right)
    return any_of(is_equal, all_of(IsNull(value=left), IsNull(value=right)))


def _in_source_spelling(expression: Expression, table: Side) -> Expression:
    """Return an expression over the source's columns as they are read: spelled as the table spells them."""

    def renamed(node: Expression) -> Expression:
        if not isinstance(node, Column) or node.parts[0] != "s":
            return node
        return Column(parts=("s", table.spelled.get(node.parts[1].lower(), node.parts[1]), *node.parts[2:]))

    return rewrite(expression, renamed)


def _read(statement: Merge, alias: str, columns: list[str], runner: Runner, on: str | None = None) -> Any:  # noqa: ANN401
    """Return rows of the source; with the text of ON, each beside the row of the table that this finds for it."""
    selected = ", ".join(columns) or f"{runner.quoted(alias)}.*"
    query = f"SELECT {selected} FROM {statement.source.text} AS {runner.quoted(alias)}"  # noqa: S608 - the user's own
    if on is not None:
        table = runner.quoted(*statement.table.parts)
        name = runner.quoted(statement.alias or statement.table.parts[-1])
        query += f" LEFT JOIN {table} AS {name} ON {on}\n"
    return runner.rows(query, statement.source.place)


def _own_name(statement: Merge) -> str:
    """Return what a source without an alias is called where the surface computes: expressions may name it."""
    if statement.source.text.startswith("("):
        return _SOURCE
    name = TokenReader(statement.source.text).table().parts[-1]
    table = statement.alias or statement.table.parts[-1]
    return _SOURCE if name.lower() == table.lower() else name


def _qualifiers_of(source: Piece) -> frozenset[str]:
    if source.text.startswith("("):
        return frozenset()
    return qualifiers_of_table(TokenReader(source.text).table(), None)


def _with_new_columns(statement: Merge, target: Target, source: pa.Schema, runner: Runner) -> Target:
    """Add the source's further columns to the table, where WITH SCHEMA EVOLUTION asks for it and a clause takes all."""
    if not (statement.is_schema_evolution and any(clause.is_star for clause in statement.clauses)):
        return target
    known = {name.lower() for name in target.schema.names}
    new = pa.schema([one for one in source if one.name.lower() not in known and not one.name.startswith("_hoodie_")])
    if not new.names:
        return target
    target.table.add_columns(new)
    runner.catalog.set_schema(target.entry.name, target.table.schema)
    return target_of(runner, statement.table)

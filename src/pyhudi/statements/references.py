"""The tables that a query reads, wherever they stand in it.

Pure. A query is not understood as a whole: only its blocks, their lists of relations and their clauses are followed,
and everything else is passed over. Where that is not certain no table is found at all, and the query is left to the
engine as it is. Start at `is_query` and `references`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from itertools import islice

from pyhudi.statements.cursor import is_any_word, is_name
from pyhudi.statements.relation_reader import (
    BEHIND_RELATIONS,
    ENDS_OF_WHERE,
    JOINS,
    NO_NAMES,
    SET_OPERATORS,
    NotUnderstoodError,
    RelationReader,
)
from pyhudi.statements.relations import Block, Reference, Span
from pyhudi.statements.tokens import SqlKind, SqlToken

__all__ = ["is_query", "references"]

_FIRST = re.compile(
    r"(?:\s++|\(|--[^\n]*+|/\*.*?\*/)*+(?:select|with|from|table|values|insert|create|explain)\b",
    re.IGNORECASE | re.DOTALL,
)
_NAMES_TABLES = re.compile(r"\b(?:from|join|table)\b", re.IGNORECASE)
_DEEPEST = 150
"""Parentheses in each other; deeper ones would end the recursion that reads them."""

_BEFORE_A_QUERY = frozenset(
    {"in", "exists", "as", "from", "join", "lateral", "all", "any", "some", "by"} | SET_OPERATORS
)
_BEFORE_AN_OPERAND = frozenset(
    {"and", "or", "not", "where", "like", "ilike", "rlike", "regexp", "in", "is", "between", "distinct", "escape"}
    | {"div", "when", "then", "else", "case", "on", "having"}
)
_QUERY = frozenset({"select", "with", "from", "table", "values"})
_SURE_QUERY = frozenset({"select", "with", "values"})
"""Words that a query in parentheses begins with, and a list of columns does not."""
_OPERATORS = frozenset({".", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "+", "-", "*", "/", "%", "::", "||"})
_BEHIND_SET_OPERATOR = frozenset({"all", "distinct", "by", "name"})


def is_query(text: str) -> bool:
    """Return whether a statement may read tables by a query; a cheap look before it is cut into tokens."""
    return _FIRST.match(text) is not None and _NAMES_TABLES.search(text) is not None


@lru_cache(maxsize=64)
def references(tokens: tuple[SqlToken, ...]) -> tuple[Reference, ...]:
    """Return every table and table function that a query reads, in the order of the text.

    Queries of INSERT, CREATE TABLE and EXPLAIN count; what a view is made of does not, as it is kept by names. A name
    of one part that any WITH of the statement defines is left out. Nothing is found in what is not understood.
    """
    scanner = _Scanner(tokens)
    try:
        scanner.statement()
    except NotUnderstoodError:
        return ()
    return scanner.references()


class _Clause(Enum):
    """Which part of a block is being read."""

    START = auto()
    SELECT = auto()
    FROM = auto()
    WHERE = auto()
    REST = auto()
    PIPE = auto()


@dataclass(slots=True, eq=False)
class _OpenBlock:
    """A block as far as it is read."""

    first: int
    last: int = 0
    where: Span | None = None
    names: list[str] = field(default_factory=list)
    selects_count: int = 0
    is_simple: bool = True

    def closed(self) -> Block:
        is_simple = self.is_simple and self.selects_count == 1
        return Block(tokens=Span(self.first, self.last), where=self.where, names=tuple(self.names), is_simple=is_simple)


@dataclass(slots=True, eq=False)
class _Frame:
    """What is between two parentheses, as far as it is read."""

    is_start: bool
    """Whether a query may begin here."""
    clause: _Clause = _Clause.START
    block: _OpenBlock | None = None
    where: int | None = None
    """Where the condition begins that is being read."""


class _Scanner(RelationReader):
    """Reads a statement from its first token to its last."""

    __slots__ = ("_ctes", "_found")

    def __init__(self, tokens: tuple[SqlToken, ...]) -> None:
        super().__init__(tokens)
        self._ctes: set[str] = set()
        self._found: list[tuple[_OpenBlock, Callable[..., Reference]]] = []

    def references(self) -> tuple[Reference, ...]:
        """Return what was found, without the names that WITH defines."""
        blocks = {id(block): block.closed() for block, _ in self._found}
        found = [make(block=blocks[id(block)]) for block, make in self._found]
        return tuple(one for one in found if not self._is_cte(one))

    def statement(self) -> None:
        """Read the statement.   Raises: NotUnderstoodError."""
        if max(token.depth for token in self.tokens) > _DEEPEST:
            raise NotUnderstoodError
        if self.takes("explain"):
            self.takes_any("extended", "codegen", "cost", "formatted", "logical", "analyze")
        if self.next.is_word("insert"):
            self._go_behind_target()
        elif self.next.is_word("create"):
            self._go_behind_created()
        elif not (self.next.is_mark("(") or is_any_word(self.next, _QUERY)):
            raise NotUnderstoodError
        self._query(is_start=True)
        self.takes_mark(";")
        if self.next.kind is not SqlKind.END:
            raise NotUnderstoodError

    def _is_cte(self, one: Reference) -> bool:
        is_plain = len(one.name.parts) == 1 and one.arguments is None
        return is_plain and one.name.parts[0].lower() in self._ctes

    # --- statements that have a query

    def _go_behind_target(self) -> None:
        self.take()
        if not self.takes_any("into", "overwrite"):
            raise NotUnderstoodError
        self.takes("table")
        self._go_to_query()

    def _go_behind_created(self) -> None:
        self.take()
        while self.takes_any("or", "replace", "external", "temp", "temporary"):
            pass
        if not self.takes("table"):
            raise NotUnderstoodError
        self.takes("if", "not", "exists")
        self._go_to_query()

    def _go_to_query(self) -> None:
        """Go past the name of a table, and what describes it, to the first word of the query."""
        self.takes_dotted()
        while self.next.kind is not SqlKind.END:
            is_serde = self.next.is_word("with") and self.ahead(1).is_word("serdeproperties")
            if is_any_word(self.next, _QUERY) and not is_serde:
                return
            if not self.next.is_mark("("):
                self.take()
            elif is_any_word(self._first_inside(), _SURE_QUERY):
                return
            else:
                self.skip_group()

    def _first_inside(self) -> SqlToken:
        """Return the first token behind the parentheses that open here."""
        count = 0
        while self.ahead(count).is_mark("("):
            count += 1
        return self.ahead(count)

    # --- a query, or anything else between parentheses

    def _query(self, *, is_start: bool) -> None:
        frame = _Frame(is_start)
        depth = self.next.depth
        if self.next.is_mark(")", "]", "}"):  # nothing between
            return
        while not (self.is_closed(depth) or self.next.is_mark(";")):
            self._step(frame)
        self._close(frame)

    def _close(self, frame: _Frame) -> None:
        self._end_where(frame)
        if frame.block is not None:
            frame.block.last = self.at

    def _step(self, frame: _Frame) -> None:
        token = self.next
        if token.kind is not SqlKind.MARK:
            is_keyword = token.kind is SqlKind.WORD and token.value in _WORDS
            if is_keyword and not (self.at and self.previous.is_mark(".")):
                _WORDS[token.value](self, frame)
            else:
                self._pass_on(frame)
        elif token.is_mark("(", "[", "{"):
            self._group(frame)
        elif token.is_mark(",") and frame.clause is _Clause.FROM:
            self._next_relation(frame)
        elif self.is_at_pipe:
            self._pipe(frame)
        else:
            self._pass_on(frame)

    def _pass(self, frame: _Frame) -> None:
        self.take()
        frame.is_start = False

    def _pass_on(self, frame: _Frame) -> None:
        """Go past a token, and past those behind it that begin and end nothing."""
        frame.is_start = False
        place = self.at + 1
        for token in islice(self.tokens, place, None):
            is_mark = token.kind is SqlKind.MARK
            if token.kind is SqlKind.END or (token.value not in _OPERATORS if is_mark else token.value in _WORDS):
                break
            place += 1
        self.at = min(place, len(self.tokens) - 1)

    def _group(self, frame: _Frame) -> None:
        before = self.previous if self.at else None
        is_start = frame.is_start or self._may_begin_query(before)
        self.take()
        self._query(is_start=is_start)
        self.take_closing()
        frame.is_start = False

    def _may_begin_query(self, before: SqlToken | None) -> bool:
        """Return whether what opens here may be a query that begins without SELECT: no argument of a function."""
        if before is None or is_any_word(self.ahead(1), _SURE_QUERY) or is_any_word(before, _BEFORE_A_QUERY):
            return True
        return before.kind is SqlKind.MARK and not before.is_mark(")", "]")

    def _pipe(self, frame: _Frame) -> None:
        self._end_where(frame)
        self.at += 2
        frame.clause = _Clause.PIPE
        frame.is_start = False
        if frame.block is not None:
            frame.block.is_simple = False
        if is_any_word(self.next, SET_OPERATORS):
            self._combine(frame)
        elif not is_any_word(self.next, JOINS):
            self.take()  # its own word begins no clause of the block

    # --- words

    def _with(self, frame: _Frame) -> None:
        if not frame.is_start:
            self._pass(frame)
            return
        self.take()
        self.takes("recursive")
        self._cte()
        while self.takes_mark(","):
            self._cte()

    def _cte(self) -> None:
        if not is_name(self.next):
            raise NotUnderstoodError
        self._ctes.add(self.take().value.lower())
        while not (self.next.is_mark("(") and self._is_body()):
            if self.next.is_mark("("):
                self.skip_group()
            elif self.next.kind in (SqlKind.WORD, SqlKind.NUMBER):
                self.take()
            else:
                raise NotUnderstoodError
        self.take()
        self._query(is_start=True)
        self.take_closing()

    def _is_body(self) -> bool:
        """Return whether the parentheses that open here have the query of a WITH, and not its columns."""
        return self.previous.is_word("as", "materialized") or is_any_word(self._first_inside(), _SURE_QUERY)

    def _select(self, frame: _Frame) -> None:
        if frame.clause is _Clause.PIPE:
            self._pass(frame)
            return
        self._end_where(frame)
        is_behind_from = frame.block is not None
        block = self._block(frame)
        block.selects_count += 1
        frame.clause = _Clause.REST if is_behind_from else _Clause.SELECT
        self._pass(frame)

    def _from(self, frame: _Frame) -> None:
        is_distinct = self.previous.is_word("distinct") and self.tokens[self.at - 2].is_word("is", "not")
        if is_distinct or not (frame.is_start or frame.clause is _Clause.SELECT):
            self._pass(frame)
            return
        self._block(frame)
        frame.clause = _Clause.FROM
        self._next_relation(frame)

    def _table(self, frame: _Frame) -> None:
        if not (frame.is_start and is_name(self.ahead(1))):
            self._pass(frame)
            return
        block = self._block(frame)
        block.is_simple = False
        self._found.append((block, self.whole_table()))
        frame.clause, frame.is_start = _Clause.REST, False

    def _join(self, frame: _Frame) -> None:
        if frame.clause in (_Clause.FROM, _Clause.PIPE) and frame.block is not None:
            self._next_relation(frame)
        else:
            self._pass(frame)

    def _lateral(self, frame: _Frame) -> None:
        self._pass(frame)
        if frame.block is None or not self.takes("view"):
            return
        self.takes("outer")
        self.takes_dotted()
        if self.next.is_mark("("):
            self._group_with_queries()
        frame.block.is_simple = False
        if is_name(self.next) and not is_any_word(self.next, NO_NAMES):
            frame.block.names.append(self.take().value.lower())
        if self.takes("as"):
            self.take()
            while self.takes_mark(","):
                self.take()
        frame.clause = _Clause.REST

    def _group_with_queries(self) -> None:
        """Go on behind the parentheses that open here, and find what queries in them read."""
        self.take()
        self._query(is_start=False)
        self.take_closing()

    def _pivot(self, frame: _Frame) -> None:
        if frame.block is not None:
            frame.block.is_simple = False
        self._pass(frame)

    def _where(self, frame: _Frame) -> None:
        self._pass(frame)
        block = frame.block
        if block is None or frame.clause not in (_Clause.FROM, _Clause.REST):
            return
        block.is_simple = block.is_simple and block.where is None
        frame.clause, frame.where = _Clause.WHERE, self.at

    def _rest(self, frame: _Frame) -> None:
        """Read a word that ends FROM and WHERE, unless it is a column's name."""
        if frame.clause in (_Clause.FROM, _Clause.WHERE) and frame.block is not None:
            if self._is_operand():
                frame.block.is_simple = False
            elif not self.next.is_word("using") or frame.clause is _Clause.WHERE:
                self._end_where(frame)
                frame.clause = _Clause.REST
        self._pass(frame)

    def _is_operand(self) -> bool:
        """Return whether an operator stands before the next word, so that it is a column's name and no keyword."""
        is_mark = self.previous.kind is SqlKind.MARK and not self.previous.is_mark(")", "]", "}", "?", "*")
        return is_mark or is_any_word(self.previous, _BEFORE_AN_OPERAND)

    def _insert(self, frame: _Frame) -> None:
        """Read the INSERT of `FROM t INSERT ... SELECT ...`, of which there may be several."""
        if frame.clause is _Clause.START and frame.is_start:
            self._go_behind_target()
            return
        if frame.block is not None:
            frame.block.is_simple = False
        self._pass(frame)

    def _change(self, frame: _Frame) -> None:
        if frame.clause is _Clause.START and frame.is_start:
            raise NotUnderstoodError  # WITH ... UPDATE, DELETE, MERGE
        self._pass(frame)

    def _set_operator(self, frame: _Frame) -> None:
        is_list = frame.clause is _Clause.SELECT and self.previous.is_mark("*", ",")  # * EXCEPT (a, b)
        if is_list or self.previous.is_word("select") or self._is_operand():
            self._pass(frame)
        else:
            self._combine(frame)

    def _combine(self, frame: _Frame) -> None:
        self._close(frame)
        frame.block, frame.clause = None, _Clause.START
        self.take()
        while self.takes_any(*_BEHIND_SET_OPERATOR):
            pass
        frame.is_start = True

    def _end_where(self, frame: _Frame) -> None:
        if frame.where is not None and frame.block is not None:
            frame.block.where = Span(frame.where, self.at)
        frame.where = None

    def _block(self, frame: _Frame) -> _OpenBlock:
        if frame.block is None:
            frame.block = _OpenBlock(self.at)
        return frame.block

    # --- relations

    def _next_relation(self, frame: _Frame) -> None:
        """Read a relation behind FROM, JOIN or a comma."""
        assert frame.block is not None, "relations stand in a block"
        self.take()
        frame.is_start = False
        self._relation(frame.block)
        follows = self.next
        is_known = follows.kind is SqlKind.END or follows.is_mark(",", ")", ";", "|")
        if not (is_known or is_any_word(follows, BEHIND_RELATIONS)):
            raise NotUnderstoodError

    def _relation(self, block: _OpenBlock) -> None:
        self.takes("lateral")
        token = self.next
        if token.is_mark("("):
            self._parenthesised(block)
        elif token.is_mark("{"):
            self.skip_group()
        elif token.is_word("values"):
            self._inline_table()
        elif token.kind is SqlKind.STRING:
            self.take()
        elif token.is_word("table", "identifier", "stream") and self.ahead(1).is_mark("("):
            self.take()
            self._group_with_queries()
        elif token.is_word("stream") and is_name(self.ahead(1)) and not is_any_word(self.ahead(1), NO_NAMES):
            self.take()
            self.takes_dotted()
        elif is_name(token) and not is_any_word(token, NO_NAMES):
            found = self.named_relation()
            block.is_simple = block.is_simple and not found.is_sampled
            block.names.append(found.visible_name)
            self._found.append((block, found.reference))
            return
        else:
            raise NotUnderstoodError
        block.is_simple = False
        block.names.append((self.tail().alias or "").lower())

    def _parenthesised(self, block: _OpenBlock) -> None:
        """Read a query, or relations, in parentheses."""
        self.take()
        token = self.next
        is_relation = token.is_word("values") or (token.is_word("table") and self.ahead(1).is_mark("("))
        if is_any_word(token, _QUERY) and not is_relation:
            self._query(is_start=True)
        else:
            depth = token.depth
            frame = _Frame(is_start=False, clause=_Clause.FROM, block=block)
            block.is_simple = False
            self._relation(block)
            while not self.is_closed(depth):
                self._step(frame)
        self.take_closing()

    def _inline_table(self) -> None:
        self.take()
        self.skip_value()
        while self.takes_mark(","):
            self.skip_value()


_WORDS: dict[str, Callable[[_Scanner, _Frame], None]] = {
    "with": _Scanner._with,
    "select": _Scanner._select,
    "from": _Scanner._from,
    "table": _Scanner._table,
    "join": _Scanner._join,
    "lateral": _Scanner._lateral,
    "pivot": _Scanner._pivot,
    "unpivot": _Scanner._pivot,
    "sample": _Scanner._pivot,
    "tablesample": _Scanner._pivot,
    "where": _Scanner._where,
    "insert": _Scanner._insert,
    "update": _Scanner._change,
    "delete": _Scanner._change,
    "merge": _Scanner._change,
    **dict.fromkeys(SET_OPERATORS, _Scanner._set_operator),
    **dict.fromkeys(ENDS_OF_WHERE, _Scanner._rest),
}

"""Queries by chance: valid ones over four tables, written so that their tables are hard to find.

A maker knows which columns stand in scope, so that nearly all queries run; the same seed and size make the same query.
Rows come out in any order unless all columns are sorted by, and sums are of quarters, so that they are exact.
"""

import datetime
import random
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa
from hypothesis import strategies as st

__all__ = ["DATABASE", "TABLES", "VIEW", "MadeQuery", "made_queries", "query_of", "rows_of"]

DATABASE = "judged"
TABLES: dict[str, dict[str, str]] = {
    "trips": {"id": "number", "city": "text", "fare": "number", "day": "date", "driver": "number"},
    "drivers": {"id": "number", "name": "text", "city": "text", "is_active": "truth"},
    "cities": {"city": "text", "country": "text", "people": "number"},
    "order": {"id": "number", "from": "text", "price": "number"},
}
"""The tables of the database: kinds of columns by name."""
VIEW = "cities"
"""A temporary view has this name as well, with other rows; its columns are those of the table."""

_ARROW = {"number": pa.float64(), "text": pa.string(), "date": pa.date32(), "truth": pa.bool_()}
_VALUES = {
    "number": [1.0, 2.0, 3.25, None, 0.0, -1.0, 2.0],
    "text": ["oslo", "rome", None, "o%", "{h0}", "it's", "oslo"],
    "date": [datetime.date(2024, 1, 1), None, datetime.date(2024, 1, 3), *[datetime.date(2023, 12, 31)] * 4],
    "truth": [True, False, None, True, False, True, None],
}

Column: TypeAlias = tuple[str, str]
"""How a column is written, and its kind."""
_SPACES = (
    " ",
    " ",
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\t",
    " /* from drivers */ ",
    " -- join trips t\n",
    " /* a /* b */ ' */ ",
)
_TEXTS = ("'oslo'", "'rome'", "'select * from trips'", "'{h0}'", "'it''s'", "'-- from cities'", '"lima"', "'o%'", "''")
_TIMES = (
    "timestamp as of '2024-01-01 00:00:00'",
    "version as of 20240101000000000",
    "for system_time as of current_timestamp() - interval 1 day",
    "for version as of '20240101000000000'",
    "timestamp as of cast('2024-01-01' as date)",
)
_NAMES_OF_WITH = ("trips", "drivers", "cities", "c1", "`c 2`")


@dataclass(frozen=True)
class MadeQuery:
    """A query, and every table that it reads, in the order of the text."""

    text: str
    tables: tuple[tuple[str, ...], ...]
    functions: tuple[str, ...]


@dataclass
class _Scope:
    """Columns that may be named, by kind."""

    columns: list[Column] = field(default_factory=list)

    def of(self, kind: str) -> list[str]:
        return [text for text, known in self.columns if known == kind]


class _Maker:
    """Writes one query; its methods return text, and `size` says how much deeper they may go."""

    def __init__(self, seed: int, *, is_timed: bool) -> None:
        self.random = random.Random(seed)
        self.is_timed = is_timed
        self.tables: list[tuple[str, ...]] = []
        self.functions: list[str] = []
        self.ctes: dict[str, dict[str, str]] = {}
        self.used: set[str] = set()
        self.aliases = 0

    # --- choice and spelling

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def keyword(self, text: str) -> str:
        return text.upper() if self.chance(30) else text

    def join(self, *parts: str) -> str:
        text = ""
        for part in parts:
            if part:
                text += (self.random.choice(_SPACES) if text else "") + part
        return text

    def name(self, name: str) -> str:
        if not name.isidentifier() or self.chance(10) or name in ("from", "order"):
            return f"`{name}`"
        return name.upper() if self.chance(10) else name

    def alias(self) -> str:
        self.aliases += 1
        return self.random.choice(("t", "x", "version", "trips", "s")) + f"_{self.aliases}"

    # --- queries

    def query(self, size: int, outer: _Scope | None = None) -> tuple[str, list[str]]:
        """Return a query and the kinds of its columns, which are called c0, c1 and so on."""
        if size > 0 and self.chance(25):
            return self.with_query(size)
        return self.body(size, outer)

    def body(self, size: int, outer: _Scope | None = None) -> tuple[str, list[str]]:
        """Return a query without WITH."""
        text, kinds = self.block(size, outer)
        while self.chance(15) and size > 0:
            other, _ = self.block(size - 1, outer, kinds)
            operator = self.random.choice(("union", "union all", "intersect", "except", "minus", "union distinct"))
            is_apart = self.chance(40)
            text = self.join(text, self.keyword(operator), f"({other})" if is_apart else other)
        if self.chance(20):
            places = ", ".join(str(place + 1) for place in range(len(kinds)))
            text = self.join(text, self.keyword("order by"), places, f"limit {self.random.randrange(1, 9)}")
        return text, kinds

    def with_query(self, size: int) -> tuple[str, list[str]]:
        before = dict(self.ctes)
        parts = []
        for _ in range(self.random.randrange(1, 3)):
            name = self.random.choice(_NAMES_OF_WITH)
            if any(name.strip("`") == known for known, _ in parts):
                continue
            inner, kinds = self.query(size - 1)
            columns = {f"c{place}": kind for place, kind in enumerate(kinds)}
            listed = ""
            if self.chance(30):
                columns = {f"w{place}": kind for place, kind in enumerate(kinds)}
                listed = "(" + ", ".join(columns) + ")"
            parts.append((name.strip("`"), self.join(name + listed, self.keyword("as"), f"({inner})")))
            self.ctes[name.strip("`")] = columns
            self.used.add(name.strip("`"))
        text, kinds = self.body(size - 1)
        self.ctes = before
        return self.join(self.keyword("with"), ", ".join(part for _, part in parts), text), kinds

    def block(self, size: int, outer: _Scope | None = None, kinds: list[str] | None = None) -> tuple[str, list[str]]:
        """Return one SELECT."""
        kinds = kinds or [
            self.random.choice(("number", "text", "number", "date")) for _ in range(self.random.randrange(1, 4))
        ]
        place = len(self.tables)
        relations, scope = self.relations(size)
        found, self.tables = self.tables[place:], self.tables[:place]
        is_grouped = self.chance(20)
        items, keys = [], []
        for number, kind in enumerate(kinds):
            if is_grouped:
                keys.append(self.column(kind, scope))
                value = self.aggregate(kind, scope) if self.chance(60) else keys[-1]
            else:
                value = self.window(scope) if self.chance(8) and kind == "number" else self.value(kind, scope, size)
            items.append(f"{value} {self.keyword('as')} c{number}")
        # The select list is written before FROM: so are its tables.
        is_first = self.chance(10)
        select = self.join(
            self.keyword("select"), "distinct" if self.chance(10) and not is_grouped else "", ", ".join(items)
        )
        inner, self.tables = self.tables[place:], self.tables[:place]
        self.tables += [*found, *inner] if is_first else [*inner, *found]
        source = self.join(self.keyword("from"), relations)
        text = self.join(source, select) if is_first else self.join(select, source)
        if self.chance(60):
            text = self.join(text, self.keyword("where"), self.condition(scope, size, outer))
        if is_grouped:
            text = self.join(text, self.keyword("group by"), ", ".join(dict.fromkeys(keys)))
            if self.chance(40):
                text = self.join(text, self.keyword("having"), "count(*) > 0")
        return text, kinds

    # --- relations

    def relations(self, size: int) -> tuple[str, _Scope]:
        scope = _Scope()
        text = self.relation(size, scope, is_alone=True)
        if not self.chance(35):
            return self.extended(text, scope), scope
        shared = len(scope.columns)
        kind = self.random.choice(
            (",", "join", "left join", "inner join", "cross join", "semi join", "full outer join")
        )
        right = _Scope()
        # Both sides have columns of one name, so none is named without its relation.
        scope.columns = [one for one in scope.columns if "." in one[0]]
        other = self.relation(size, right)
        right.columns = [one for one in right.columns if "." in one[0]]
        both = _Scope([*scope.columns, *right.columns])
        if kind == ",":
            text = f"{text}, {other}"
        elif kind == "cross join":
            text = self.join(text, self.keyword(kind), other)
        else:
            text = self.join(text, self.keyword(kind), other, self.keyword("on"), self.equality(both, size))
        if kind != "semi join":
            scope.columns = both.columns
        assert shared
        return (f"({text})" if self.chance(10) and kind != "," else text), scope

    def extended(self, text: str, scope: _Scope) -> str:
        if self.chance(4):
            view = self.alias()
            scope.columns += [(f"{view}.n", "number"), ("n", "number")]
            return self.join(text, "lateral view explode(array(1, 2))", view, "as n")
        return text

    def relation(self, size: int, scope: _Scope, *, is_alone: bool = False) -> str:
        choice = self.random.randrange(100)
        if choice < 25 and size > 0:
            return self.subquery(size, scope)
        if choice < 29:
            return self.inline(scope)
        if choice < 34:
            return self.whole(size, scope)
        if choice < 37:
            self.functions.append("range")
            alias = self.alias()
            scope.columns = [(f"{alias}.id", "number")]
            self.fill(scope)
            return self.join(f"{self.keyword('range')}(3)", alias)
        if choice < 50 and self.ctes:
            return self.cte(scope)
        return self.table(scope, is_alone=is_alone)

    def table(self, scope: _Scope, *, is_alone: bool) -> str:
        table = self.random.choice(list(TABLES))
        parts = self.random.choice(
            ((table,), (table,), (DATABASE, table), (DATABASE, table), ("spark_catalog", DATABASE, table))
        )
        columns = TABLES[table]
        if len(parts) == 1 and table in self.ctes:
            columns = self.ctes[table]
        self.tables.append(parts)
        text = ".".join(self.name(part) for part in parts)
        if self.is_timed and self.chance(40):
            text = self.join(text, self.random.choice(_TIMES))
        if self.chance(5):
            text = self.join(text, "tablesample (100 percent)")
        return self.named(text, parts, columns, scope, is_alone=is_alone)

    def named(
        self, text: str, parts: tuple[str, ...], columns: dict[str, str], scope: _Scope, *, is_alone: bool
    ) -> str:
        if self.chance(40) and is_alone:
            fronts = [parts[-1:], parts[-1:], *([parts[-2:], parts] if len(parts) > 1 else [])]
            for name, kind in columns.items():
                front = ".".join(self.name(part) for part in self.random.choice(fronts))
                scope.columns.append((f"{front}.{self.name(name)}", kind))
        else:
            alias = self.alias()
            text = self.join(text, self.keyword("as") if self.chance(50) else "", alias)
            if self.chance(10):
                columns = {f"r{place}": kind for place, kind in enumerate(columns.values())}
                text += "(" + ", ".join(columns) + ")"
            scope.columns += [(f"{alias}.{self.name(name)}", kind) for name, kind in columns.items()]
        scope.columns += [(self.name(name), kind) for name, kind in columns.items()]
        self.fill(scope)
        return text

    def cte(self, scope: _Scope) -> str:
        name = self.random.choice(list(self.ctes))
        self.tables.append((name,))
        return self.named(self.name(name), (name,), self.ctes[name], scope, is_alone=False)

    def subquery(self, size: int, scope: _Scope) -> str:
        inner, kinds = self.query(size - 1)
        alias = self.alias()
        columns = {f"c{place}": kind for place, kind in enumerate(kinds)}
        scope.columns = [(f"{alias}.{name}", kind) for name, kind in columns.items()]
        self.fill(scope)
        return self.join(f"({inner})", self.keyword("as") if self.chance(50) else "", alias)

    def whole(self, size: int, scope: _Scope) -> str:
        """Return TABLE, or a pipe, in parentheses."""
        table = self.random.choice(list(TABLES))
        if table in self.ctes or self.chance(50):
            parts = (DATABASE, table)
            self.tables.append(parts)
            text = self.join(self.keyword("table"), ".".join(self.name(part) for part in parts))
            alias = self.alias()
            scope.columns = [(f"{alias}.{self.name(name)}", kind) for name, kind in TABLES[table].items()]
        else:
            piped = _Scope()
            text = self.join(self.keyword("from"), self.table(piped, is_alone=True))
            text = self.join(text, "|>", self.keyword("where"), self.condition(piped, size))
            text = self.join(text, "|>", self.keyword("select"), f"{self.column('number', piped)} as c0")
            alias = self.alias()
            scope.columns = [(f"{alias}.c0", "number")]
        self.fill(scope)
        return self.join(f"({text})", alias)

    def inline(self, scope: _Scope) -> str:
        alias = self.alias()
        scope.columns = [(f"{alias}.a", "number"), (f"{alias}.b", "text")]
        self.fill(scope)
        return self.join(self.keyword("values"), "(1, 'oslo'), (2, 'from trips')", f"as {alias}(a, b)")

    def fill(self, scope: _Scope) -> None:
        """Add constants to a scope for the kinds that it has no column of."""
        constants = {"number": "1.25", "text": "'oslo'", "date": "date '2024-01-02'", "truth": "true"}
        scope.columns += [(f"({text})", kind) for kind, text in constants.items() if not scope.of(kind)]

    # --- expressions

    def column(self, kind: str, scope: _Scope) -> str:
        return self.random.choice(scope.of(kind) or [self.constant(kind)])

    def constant(self, kind: str) -> str:
        match kind:
            case "number":
                return self.random.choice(("1", "2", "3.25", "-1", "0"))
            case "text":
                return self.random.choice(_TEXTS)
            case "date":
                return self.random.choice(("date '2024-01-01'", "date'2024-01-03'"))
            case _:
                return self.random.choice(("true", "false"))

    def value(self, kind: str, scope: _Scope, size: int) -> str:
        if size > 0 and kind == "number" and self.chance(8):
            inner, _ = self.block(size - 1, None, ["number"])
            return f"(select max(c0) from ({inner}) q)"
        if not self.chance(30):
            return self.column(kind, scope)
        text, number, day = self.column("text", scope), self.column("number", scope), self.column("date", scope)
        match kind:
            case "number":
                return self.random.choice(
                    (f"extract(year from {day})", f"length({text})", f"{number} * 2", f"({number} + {number})")
                )
            case "text":
                return self.random.choice(
                    (
                        f"trim(both 'o' from {text})",
                        f"substring({text} from 2 for 2)",
                        f"case when {number} > 1 then {text} else 'from drivers' end",
                    )
                )
            case _:
                return self.column(kind, scope)

    def aggregate(self, kind: str, scope: _Scope) -> str:
        column = self.column(kind, scope)
        if kind == "number":
            return self.random.choice((f"sum({column})", "count(*)", f"max({column})", f"count(distinct {column})"))
        return f"{self.random.choice(('min', 'max'))}({column})"

    def window(self, scope: _Scope) -> str:
        over = f"(partition by {self.column('text', scope)} order by {self.column('number', scope)})"
        return f"{self.random.choice(('rank()', 'dense_rank()', 'count(*)'))} over {over}"

    def condition(self, scope: _Scope, size: int, outer: _Scope | None = None) -> str:
        terms = [self.term(scope, size, outer) for _ in range(self.random.choice((1, 1, 2, 2, 3)))]
        text = terms[0]
        for term in terms[1:]:
            text = self.join(text, self.keyword(self.random.choice(("and", "and", "and", "or"))), term)
        return text

    def equality(self, scope: _Scope, size: int) -> str:
        kind = self.random.choice(("number", "text"))
        first = f"{self.column(kind, scope)} = {self.column(kind, scope)}"
        return self.join(first, "and", self.term(scope, 0, None)) if self.chance(30) else first

    def term(self, scope: _Scope, size: int, outer: _Scope | None) -> str:
        kind = self.random.choice(("number", "text", "number", "text", "date"))
        column = self.column(kind, scope)
        choice = self.random.randrange(100)
        if size > 0 and choice < 12:
            inner, _ = self.block(size - 1, scope, [kind])
            return f"{column} {self.random.choice(('in', 'in', 'not in'))} ({inner})"
        if size > 0 and choice < 20:
            inner, _ = self.block(size - 1, scope, [kind])
            return f"{self.random.choice(('exists', 'not exists'))} ({inner})"
        if outer is not None and choice < 35:
            qualified = [text for text in outer.of(kind) if "." in text and text.split(".")[0].split("_")[-1].isdigit()]
            if qualified:
                return f"{column} = {self.random.choice(qualified)}"
        return self.simple_term(kind, column, scope)

    def simple_term(self, kind: str, column: str, scope: _Scope) -> str:
        constant, other = self.constant(kind), self.constant(kind)
        operator = self.random.choice(("=", "<>", "<", "<=", ">", ">=", "!=", "==", "<=>"))
        return self.random.choice(
            (
                f"{column} {operator} {constant}",
                f"{column} {operator} {constant}",
                f"{constant} {operator} {column}",
                f"{column} in ({constant}, {other})",
                f"{column} not in ({constant}, {other})",
                f"{column} between {constant} and {other}",
                f"not ({column} = {constant} or {column} = {other})",
                f"({column} = {constant} or {self.column('number', scope)} > 1)",
                f"{column} is not null",
                f"{column} is distinct from {constant}",
                f"{column} = {self.column(kind, scope)}",
                f"{self.column('text', scope)} like {self.random.choice(_TEXTS[:1] + _TEXTS[7:])}",
                f"case when {column} = {constant} and true then true else false end",
            )
        )


def rows_of(kinds: dict[str, str], offset: int) -> pa.Table:
    """Return seven rows; each column is turned by another count."""
    columns = {}
    for place, (name, kind) in enumerate(kinds.items()):
        turn = (place + offset) % 7
        columns[name] = pa.array([*_VALUES[kind][turn:], *_VALUES[kind][:turn]], _ARROW[kind])
    if "id" in columns:
        columns["id"] = pa.array(range(offset, offset + 7), pa.int64())
    return pa.table(columns)


def query_of(seed: int, size: int, *, is_timed: bool = False) -> MadeQuery:
    """Return the query of a seed; a larger size nests deeper, and a timed one reads tables of the past."""
    maker = _Maker(seed, is_timed=is_timed)
    text, _ = maker.query(size)
    tables = tuple(one for one in maker.tables if len(one) > 1 or one[0] not in maker.used)
    return MadeQuery(text, tables, tuple(maker.functions))


def made_queries(*, is_timed: bool = False) -> st.SearchStrategy[MadeQuery]:
    """Return queries; smaller ones are tried where one fails."""
    return st.builds(query_of, st.integers(0, 2**40), st.integers(0, 3), is_timed=st.just(is_timed))

"""The rows that a table lives with, and conditions on them, which are SQL for the table and Python for the model.

Few keys, few partitions and few ordering values, so that everything meets everything soon. Start at `draw_rows`.
"""

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any, Final

import pyarrow as pa

Row = dict[str, Any]

SCHEMA: Final = pa.schema(
    [
        ("k", pa.string()),
        ("n", pa.int64()),
        ("p", pa.string()),
        ("q", pa.int64()),
        ("ts", pa.int64()),
        ("v", pa.float64()),
        ("s", pa.string()),
        ("d", pa.decimal128(38, 18)),
    ]
)
"""`k` and `n` can be keys, `p` and `q` partitions, `ts` orders; `v`, `s` and `d` are what is kept."""
ADDED: Final = pa.field("x", pa.int32())
"""A column that a life may add."""
WIDENED: Final[dict[pa.DataType, tuple[int | float | None, ...]]] = {
    pa.int32(): (None, -3, 0, 7),
    pa.int64(): (-3, 7, 2**40),
    pa.float64(): (0.5, 7.0, -(2.0**60)),
}
"""What it may be widened to, one after the other, and what may be in it."""
_EVERY: Final = pa.schema(
    [
        *SCHEMA,
        ("b", pa.binary()),
        ("Op", pa.string()),
        ("_change_operation_type", pa.string()),
        ("_event_lsn", pa.int64()),
        ("_event_seq", pa.string()),
        ("_event_bin_file", pa.string()),
        ("_event_pos", pa.int64()),
        ADDED,
    ]
)
"""All columns that tables of lives may have."""
COLUMNS: Final = tuple(_EVERY.names)
UNAVAILABLE: Final = "__debezium_unavailable_value"
"""What a change log says of a text that it does not know."""
KEYS: Final = "abcdefgh"
FLOATS: Final = (math.nan, -0.0, 0.0, 1.0, 2.5, math.inf, -math.inf)
"""What orders rows where `v` does."""
TEXTS: Final = ("", "a", "u", "\u00e9", "\uff5e", "\U0001f600")
"""What orders rows where `s` does."""
BYTES: Final = (b"", b"\x00", b"a", b"a\x80", b"a\x7f", b"\x7f", b"\x80", b"\xff")
"""What orders rows where `b` does: of signed bytes 0x80 is the smallest."""
DECIMALS: Final = (Decimal("12345678901234567890.123456789012345678"), Decimal("-0.000000000000000001"), Decimal(7))
"""The first has more digits than Python rounds to, by default."""


@dataclass(frozen=True, slots=True)
class Fields:
    """Which columns a table is made of, and which of them may be null."""

    key: tuple[str, ...]
    partition: tuple[str, ...]
    has_null_partitions: bool
    ordering: tuple[str, ...] = ()
    texts: tuple[str | None, ...] = ()
    """What may be in `s`, where that is not what is in other tables."""
    more: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    """Columns that other tables do not have, and what may be in them."""


def draw_rows(chance: Random, fields: Fields, count: int, *, is_one_a_key: bool = True) -> tuple[Row, ...]:
    """Draw rows; with `is_one_a_key` no two have the same key, wherever they are."""
    found: dict[object, Row] = {}
    for number in range(count):
        row = draw_row(chance, fields)
        found[tuple(row[name] for name in fields.key) if is_one_a_key else number] = row
    return tuple(found.values())


def draw_row(chance: Random, fields: Fields) -> Row:
    """Draw one row."""
    places: list[str | None] = ["x", "y", "z"]
    if fields.has_null_partitions:
        places.append(None)
    texts = fields.texts or (TEXTS if "s" in fields.ordering else (None, "", "u", "w"))
    row = {
        "k": chance.choice(KEYS),
        "n": chance.choice((1, 2)) if "n" in fields.key else 1,
        "p": chance.choice(places),
        "q": chance.choice((1, 2)),
        "ts": chance.randrange(30),
        "v": chance.choice(FLOATS) if "v" in fields.ordering else float(chance.randrange(6)),
        "s": chance.choice(texts),
        "d": chance.choice((*DECIMALS, None)),
    }
    return row | {name: chance.choice(values) for name, values in fields.more}


@dataclass(frozen=True, slots=True)
class Computed:
    """What a function makes of a column, in SQL and in Python; null makes null."""

    sql: str
    column: str
    compute: Callable[[Any], Any]


COMPUTED: Final[dict[str, Computed]] = {
    "upper(p)": Computed("upper({})", "p", str.upper),
    "lower(s)": Computed("lower({})", "s", str.lower),
    "length(s)": Computed("length({})", "s", len),
    "substring(s)": Computed("substring({}, 1, 1)", "s", lambda text: text[:1]),
}
"""What expression indexes are of; a condition names one in the place of its column."""


def in_sql(value: Any) -> Any:
    """Return a value as SQL compares it: NaN equals itself, and is above all others."""
    return (math.isnan(value), 0.0 if math.isnan(value) else value) if isinstance(value, float) else value


def in_java(value: Any) -> Any:
    """Return a value as ordering values compare: -0.0 is below 0.0, NaN above all others, and bytes have signs."""
    if isinstance(value, bytes):
        return struct.unpack(f"{len(value)}b", value)
    return (*in_sql(value), math.copysign(1.0, value)) if isinstance(value, float) else value


OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "=": lambda value, given: bool(in_sql(value) == in_sql(given)),
    "<>": lambda value, given: bool(in_sql(value) != in_sql(given)),
    "<": lambda value, given: bool(in_sql(value) < in_sql(given)),
    ">=": lambda value, given: bool(in_sql(value) >= in_sql(given)),
}


@dataclass(frozen=True, slots=True)
class Where:
    """A condition that compares one column, or one of `COMPUTED`, or is true of nulls where `operator` is `is null`."""

    column: str
    operator: str
    value: Any = None

    @property
    def of(self) -> str:
        """Return the column of the table that it looks at."""
        return COMPUTED[self.column].column if self.column in COMPUTED else self.column

    def sql(self, prefix: str = "") -> str:
        """Spell it for the table."""
        made = COMPUTED.get(self.column)
        left = f"{prefix}{self.column}" if made is None else made.sql.format(f"{prefix}{made.column}")
        if self.operator in {"is null", "is not null"}:
            return f"{left} {self.operator}"
        if self.operator == "in":
            return f"{left} in ({', '.join(literal(one) for one in self.value)})"
        return f"{left} {self.operator} {literal(self.value)}"

    def holds(self, row: Row) -> bool:
        """Return whether it is true of a row; what compares with null is not."""
        made = COMPUTED.get(self.column)
        value = row.get(self.column if made is None else made.column)
        value = made.compute(value) if made is not None and value is not None else value
        if self.operator in {"is null", "is not null"}:
            return (value is None) is (self.operator == "is null")
        if value is None:
            return False
        if self.operator == "in":
            return value in self.value
        return OPERATORS[self.operator](comparable(self.column, value), comparable(self.column, self.value))


def comparable(column: str, value: Any) -> Any:
    """Return a value of a column whose type may have been narrower when it was written."""
    return float(value) if column == ADDED.name and value is not None else value


NOWHERE: Final = Where("k", "=", "")
"""True of no row."""


def draw_where(chance: Random, *, is_indexed: bool = False, has_added: bool = False) -> Where:
    """Draw a condition; where the table may have indexes, often one that they serve."""
    if has_added and chance.random() < 0.2:
        values = [one for some in WIDENED.values() for one in some if one is not None]
        return Where(ADDED.name, chance.choice(("=", "<", ">=", "is null")), chance.choice(values))
    if is_indexed and chance.random() < 0.6:
        return draw_indexed(chance)
    match chance.randrange(7):
        case 0:
            return Where("k", "in", tuple(sorted(chance.sample(KEYS, 3))))
        case 1:
            return Where("p", chance.choice(("=", "<>")), chance.choice("xyz"))
        case 2:
            return Where(chance.choice("ps"), chance.choice(("is null", "is not null")))
        case 3:
            return Where("d", chance.choice(("=", "<", ">=")), chance.choice(DECIMALS))
        case 4:
            return Where("ts", chance.choice(("<", ">=")), chance.randrange(30))
        case 5:
            return Where("q", "=", chance.choice((1, 2)))
    return Where("v", chance.choice(("=", "<", ">=")), float(chance.randrange(6)))


def draw_indexed(chance: Random) -> Where:
    """Draw a condition that an index serves, or that asks one for nulls."""
    match chance.randrange(8):
        case 0:
            return Where("k", "=", chance.choice(KEYS))
        case 1:
            return Where("s", "in", tuple(chance.sample(("", "u", "w", None), chance.choice((1, 2)))))
        case 2:
            return Where("ts", "in", tuple(sorted(chance.sample(range(30), 6))))
        case 3:
            return Where("upper(p)", chance.choice(("=", "<", ">=", "is null")), chance.choice("XYZ"))
        case 4:
            return Where("lower(s)", chance.choice(("=", "is null", ">=")), chance.choice(("", "u", "w")))
        case 5:
            return Where("length(s)", chance.choice(("=", "is not null", "<")), chance.choice((0, 1)))
        case 6:
            return Where("s", chance.choice(("is null", "is not null", "=")))
    return Where("substring(s)", chance.choice(("=", "<", ">=", "is null")), chance.choice(("", "u", "w")))


def literal(value: object) -> str:
    """Spell a value in SQL."""
    match value:
        case None:
            return "null"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case Decimal():
            return f"cast('{value:f}' as decimal(38,18))"
    return repr(value)


def table_of(rows: Sequence[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Make an Arrow table of rows, with these columns of all that there may be."""
    return pa.Table.from_pylist(list(rows), schema=schema)


def schema_of(names: Sequence[str]) -> pa.Schema:
    """Return these columns with their types."""
    return pa.schema([_EVERY.field(name) for name in names])

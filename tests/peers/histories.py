"""Histories of one table in which its writers take turns, and what must be in it after each step.

A history is made of a seed: the same every time. The expected rows are kept row by row in a dict, in the plainest way.
Start at `history` and `Expected`.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from tests.peers.kinds import COLUMNS, Kind

__all__ = [
    "COMPACTIONS",
    "FILLS_LOGS",
    "SAVEPOINTS",
    "Expected",
    "Row",
    "Step",
    "Turn",
    "alternating",
    "can_do",
    "history",
    "verbs_of",
]

Row = dict[str, Any]
Turn = tuple[str, str]
"""Which writer does what."""
SAVEPOINTS = frozenset({"save", "restore", "release"})
"""Turns that commit nothing: the newest commit is saved, the saved one gone back to, or let go."""
COMPACTIONS = frozenset({"compact", "log_compact"})
"""Turns that change no row, but where rows lie."""
FILLS_LOGS = frozenset({"upsert", "delete", "evolve", "move"})
"""Turns after which there is something to compact."""
_IDS = ("k", "a:b", "c,d", "e/f", "g%h", "i j", "ключ", "l=m", "__null__", "Z")
_DAY = 86_400_000
_SPOT = pa.struct([("x", pa.float64()), ("tags", pa.list_(pa.string()))])
_GROWTH = (("size", pa.int32()), ("size", pa.int64()), ("spot", _SPOT), ("size", pa.float64()))
"""What tables come to: each column is added, or made wider."""


@dataclass(frozen=True)
class Step:
    """One commit, a savepoint, or a compaction: which writer does what with which rows of which columns."""

    actor: str
    verb: str
    rows: list[Row] = field(default_factory=list)
    columns: pa.Schema = COLUMNS

    @property
    def operation(self) -> str:
        """Return the operation's name: rows that move or have more columns are upserted."""
        return "upsert" if self.verb in {"move", "evolve"} else self.verb

    @property
    def table(self) -> pa.Table:
        """Return the rows."""
        return pa.Table.from_pylist(self.rows, schema=self.columns)


class Expected:
    """The rows that a table must have, and which step brought each."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.rows: dict[tuple[Any, ...], Row] = {}
        self.brought: dict[tuple[Any, ...], int] = {}
        self.steps = 0
        self._saved = self.rows, self.brought

    def place(self, row: Row) -> tuple[Any, ...]:
        """Return what tells partitions apart."""
        names = [name.partition(":")[0] for name in self.kind.partition_by]
        return tuple(row[name] // _DAY if name == "at" else row[name] for name in names)

    def key(self, row: Row) -> tuple[Any, ...]:
        """Return what tells rows apart: record key, and place unless keys are global."""
        return (() if self.kind.is_global else self.place(row), *(row[name] for name in self.kind.key))

    def apply(self, step: Step) -> None:
        """Do a step."""
        self.steps += 1
        match step.operation:
            case "insert" | "bulk_insert":
                self._put(step.rows)
            case "upsert":
                self._put(row for row in step.rows if self._wins(row))
            case "delete":
                for row in step.rows:
                    self.rows.pop(self.key(row), None)
            case "insert_overwrite":
                self._drop({self.place(row) for row in step.rows})
                self._put(step.rows)
            case "insert_overwrite_table":
                self.rows = {}
                self._put(step.rows)
            case "delete_partition":
                self._drop({self.place(row) for row in step.rows})
            case "save":
                self._saved = dict(self.rows), dict(self.brought)
            case "restore":
                self.rows, self.brought = map(dict, self._saved)

    def since(self, step: int) -> list[Row]:
        """Return the rows that later steps brought."""
        return [row for key, row in self.rows.items() if self.brought[key] > step]

    def _wins(self, row: Row) -> bool:
        stored = self.rows.get(self.key(row))
        return stored is None or not self.kind.heeds_order or row["ts"] >= stored["ts"]

    def _put(self, rows: Iterable[Row]) -> None:
        new = {self.key(row): row for row in rows}
        self.rows |= new
        self.brought |= dict.fromkeys(new, self.steps)

    def _drop(self, places: set[tuple[Any, ...]]) -> None:
        self.rows = {key: row for key, row in self.rows.items() if self.place(row) not in places}


def verbs_of(kind: Kind) -> tuple[str, ...]:
    """Name what can be done to such a table."""
    anywhere: tuple[str, ...] = (
        "insert",
        "upsert",
        "delete",
        "bulk_insert",
        "insert_overwrite",
        "insert_overwrite_table",
        "evolve",
    )
    anywhere += ("compact", "log_compact") if kind.has_logs else ()
    return (*anywhere, "delete_partition", "move") if kind.partition_by else anywhere


def can_do(actor: str, verb: str, kind: Kind) -> bool:
    """Return whether a writer can do this to such a table."""
    beyond_hudi = {*kind.beyond_hudi, "log_compact"}  # only a write does that there, not a call
    return verb in verbs_of(kind) and not (actor == "hudi" and verb in beyond_hudi)


def alternating(kind: Kind, actors: list[str], seed: int) -> list[Turn]:
    """Return each actor something to do in turn; upserts come up most."""
    luck = random.Random(f"{kind.name}/{seed}")
    verbs = [verb for verb in verbs_of(kind) if verb not in {"evolve", "move", *COMPACTIONS}] + ["upsert", "upsert"]
    luck.shuffle(verbs)
    turns = [(actor, verbs[number % len(verbs)]) for number, actor in enumerate(actors)]
    return [(actor, verb if can_do(actor, verb, kind) else "insert") for actor, verb in turns]


def history(kind: Kind, turns: list[Turn], seed: int) -> Iterator[Step]:
    """Make a step of each turn; the first fills the table, whatever it was to be."""
    luck = random.Random(f"{kind.name}/{seed}")
    expected = Expected(kind)
    columns, growth, serial = COLUMNS, iter(_GROWTH), 0
    for number, (actor, verb) in enumerate(turns):
        if verb == "evolve":
            columns = _grown(columns, next(growth, None))
        fresh = [_fresh(kind, columns, luck, serial + one, number) for one in range(12 if number == 0 else 4)]
        serial += len(fresh)
        stored = list(expected.rows.values())
        verb = verb if number and (stored or verb not in {"delete", "delete_partition"}) else "insert"
        rows = [] if verb in SAVEPOINTS | COMPACTIONS else _rows(verb, stored, fresh, luck, number)
        step = Step(actor, verb, rows, columns)
        expected.apply(step)
        yield step


def _grown(columns: pa.Schema, more: tuple[str, pa.DataType] | None) -> pa.Schema:
    if more is None:
        return columns
    if more[0] in columns.names:
        return columns.set(columns.get_field_index(more[0]), pa.field(*more))
    return columns.append(pa.field(*more))


def _rows(verb: str, stored: list[Row], fresh: list[Row], luck: random.Random, number: int) -> list[Row]:
    some = luck.sample(stored, min(5, len(stored)))
    match verb:
        case "upsert" | "evolve":
            filled = {name: fresh[-1][name] for name in ("size", "spot") if name in fresh[-1]}
            said = {"note": f"{verb} {number}"} | filled
            return [row | said | {"ts": row["ts"] + luck.choice((-1, 0, 1))} for row in some] + fresh[:2]
        case "move":
            there = {name: fresh[-1][name] for name in ("city", "day", "at")}
            return [row | there | {"ts": row["ts"] + 1, "note": f"move {number}"} for row in some[:3]] + fresh[:1]
        case "delete":
            return some[:3]
        case "delete_partition":
            return stored[:1]
    return fresh


def _fresh(kind: Kind, columns: pa.Schema, luck: random.Random, serial: int, number: int) -> Row:
    row = {
        "id": f"{_IDS[serial % len(_IDS)]}{serial}",
        "line": serial,
        "ts": luck.randrange(100),
        "city": luck.choice(kind.cities),
        "day": luck.choice(("2024-01-01", "2024-01-02")),
        "at": 1_700_000_000_000 + luck.randrange(2) * _DAY,
        "note": luck.choice((f"made {number}", None)),
        "fare": luck.choice((1.5, -0.0, None)),
    }
    is_fraction = "size" in columns.names and pa.types.is_floating(columns.field("size").type)
    more = {"size": serial - (7.5 if is_fraction else 7), "spot": luck.choice(({"x": 0.5, "tags": ["a", "ü"]}, None))}
    return row | {name: more[name] for name in columns.names if name in more}

"""Histories of one table in which pyhudi and Apache Hudi take turns, and what must be in it after each step.

A history is made of a seed: the same every time. The expected rows are kept row by row in a dict, in the plainest way.
Start at `history` and `Expected`.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.peers.kinds import Kind

__all__ = ["Expected", "Step", "history"]

Row = dict[str, Any]
_IDS = ("k", "a:b", "c,d", "e/f", "g%h", "i j", "ключ", "l=m", "__null__", "Z")
_DAY = 86_400_000


@dataclass(frozen=True)
class Step:
    """One commit: who does what with which rows."""

    actor: str
    verb: str
    rows: list[Row] = field(default_factory=list)


class Expected:
    """The rows that a table must have."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.rows: dict[tuple[Any, ...], Row] = {}

    def place(self, row: Row) -> tuple[Any, ...]:
        """Give what tells partitions apart."""
        names = [name.partition(":")[0] for name in self.kind.partition_by]
        return tuple(row[name] // _DAY if name == "at" else row[name] for name in names)

    def key(self, row: Row) -> tuple[Any, ...]:
        """Give what tells rows apart: place and record key."""
        return (self.place(row), *(row[name] for name in self.kind.key))

    def apply(self, step: Step) -> None:
        """Do a step."""
        match step.verb:
            case "insert" | "bulk_insert":
                self.rows |= {self.key(row): row for row in step.rows}
            case "upsert":
                for row in step.rows:
                    self._upsert(row)
            case "delete":
                for row in step.rows:
                    self.rows.pop(self.key(row), None)
            case "insert_overwrite":
                places = {self.place(row) for row in step.rows}
                self._drop(places)
                self.rows |= {self.key(row): row for row in step.rows}
            case "insert_overwrite_table":
                self.rows = {self.key(row): row for row in step.rows}
            case "delete_partition":
                self._drop({self.place(row) for row in step.rows})

    def _upsert(self, row: Row) -> None:
        stored = self.rows.get(self.key(row))
        if stored is None or not self.kind.ordering or row["ts"] >= stored["ts"]:
            self.rows[self.key(row)] = row

    def _drop(self, places: set[tuple[Any, ...]]) -> None:
        self.rows = {key: row for key, row in self.rows.items() if key[0] not in places}


def history(kind: Kind, actors: list[str], seed: int) -> Iterator[Step]:
    """Make one step an actor; the first step fills the table."""
    luck = random.Random(f"{kind.name}/{seed}")
    expected = Expected(kind)
    verbs = ["upsert", "delete", "insert", "upsert", "bulk_insert", "insert_overwrite", "upsert"]
    if kind.partition_by:
        verbs += ["delete_partition", "upsert"]
    luck.shuffle(verbs)
    serial = 0
    for number, actor in enumerate(actors):
        verb = "insert" if number == 0 else verbs[number % len(verbs)]
        if actor == "hudi" and verb in kind.beyond_hudi:
            verb = "insert"
        stored = list(expected.rows.values())
        fresh = [_fresh(kind, luck, serial + one, number) for one in range(12 if number == 0 else 4)]
        serial += len(fresh)
        step = Step(actor, verb, _rows(verb, stored, fresh, luck, number))
        expected.apply(step)
        yield step


def _rows(verb: str, stored: list[Row], fresh: list[Row], luck: random.Random, number: int) -> list[Row]:
    some = luck.sample(stored, min(5, len(stored)))
    match verb:
        case "upsert":
            later = [row | {"note": f"upsert {number}", "ts": row["ts"] + luck.choice((-1, 0, 1))} for row in some]
            return later + fresh[:2]
        case "delete":
            return some[:3]
        case "delete_partition":
            return stored[:1]
    return fresh


def _fresh(kind: Kind, luck: random.Random, serial: int, number: int) -> Row:
    return {
        "id": f"{_IDS[serial % len(_IDS)]}{serial}",
        "line": serial,
        "ts": luck.randrange(100),
        "city": luck.choice(kind.cities),
        "day": luck.choice(("2024-01-01", "2024-01-02")),
        "at": 1_700_000_000_000 + luck.randrange(2) * _DAY,
        "note": luck.choice((f"made {number}", None)),
        "fare": luck.choice((1.5, -0.0, None)),
    }

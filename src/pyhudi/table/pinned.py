"""A table as of a pinned moment, to be read. Start at `PinnedTable`."""

from collections.abc import Callable
from typing import Literal

import pyarrow as pa

from pyhudi.queries.pinning import PinnedMoment
from pyhudi.queries.scan import Scan
from pyhudi.queries.slices import table_schema
from pyhudi.state.model import TableState
from pyhudi.table.types import Filter, Names

__all__ = ["PinnedTable"]


class PinnedTable:
    """What `Table.pin` gives: reads of one moment."""

    def __init__(self, state: TableState, scan_at: Callable[..., Scan], moment: PinnedMoment) -> None:
        self._state, self._scan_at, self._moment = state, scan_at, moment

    def __repr__(self) -> str:
        """Show which table and when."""
        return f"PinnedTable({self._state.config.name!r}, as_of={str(self.instant)!r})"

    @property
    def instant(self) -> str:
        """Return the commit that the moment ends with."""
        return self._moment.instant

    @property
    def schema(self) -> pa.Schema:
        """Return the table's columns as of the moment."""
        return table_schema(self._state, self._moment.timeline(self._state))

    def scan(
        self,
        columns: Names | None = None,
        filter: Filter = None,
        mode: Literal["snapshot", "read_optimized"] = "snapshot",
        *,
        limit: int | None = None,
        meta: bool = False,
    ) -> Scan:
        """Describe a read, as `Table.scan` does, as of the pinned moment.

        Raises: as `Table.scan`; SnapshotExpired where a commit of the moment was rolled back or restored away.
        """
        return self._scan_at(self._moment.timeline(self._state), columns, filter, mode, limit=limit, meta=meta)

    def count(self) -> int:
        """Count the rows."""
        return self.scan().count()

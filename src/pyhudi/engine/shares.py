"""Places of keys that do not fit into memory together: rows are looked up share by share, what is found waits on disk.

Only the local engine looks in here. Start at `locate_shares`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pyhudi.engine.api import KEY, LOCATED, ORDER, PARTITION
from pyhudi.engine.frames import LocalFrame
from pyhudi.engine.spool import Share, SpooledFrame
from pyhudi.storage.spill import SpilledBatch, SpilledBatches

__all__ = ["LocatedShares", "locate_shares"]

_NARROW = (KEY, PARTITION, ORDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What was found of the keys of one share."""

    share: Share
    batches: SpilledBatches
    places: Sequence[SpilledBatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedShares:
    """Where the keys of rows are: LOCATED and what else a look-up gives, a table a share."""

    schema: pa.Schema
    found: tuple[_Found, ...]

    def tables(self) -> Iterator[tuple[Share, pa.Table]]:
        """Yield each share with what was found of it; a column that was found of others only is null."""
        for one in self.found:
            batches = [one.batches.read(place) for place in one.places]
            table = pa.Table.from_batches(batches, schema=one.batches.schema)
            yield one.share, pa.concat_tables([self.schema.empty_table(), table], promote_options="default")

    def resident(self) -> LocalFrame:
        """Return all of it in memory."""
        return LocalFrame.of(pa.concat_tables([self.schema.empty_table(), *(table for _, table in self.tables())]))


def locate_shares(frame: SpooledFrame, find: Callable[[LocalFrame], LocalFrame]) -> LocatedShares:
    """Look rows up share by share.   Shape: `find` is given KEY, PARTITION and ORDER, and returns as `locate` does."""
    found = []
    for share in frame.shares():
        table = find(LocalFrame.of(frame.narrow_share(share, _NARROW))).table()
        batches = SpilledBatches(table.schema, frame.spool.memory.spill_directory)
        places = [batches.add(batch) for batch in table.to_batches()]
        found.append(_Found(share=share, batches=batches, places=places))
    schema = pa.unify_schemas([LOCATED, *(one.batches.schema for one in found)])
    return LocatedShares(schema=schema, found=tuple(found))

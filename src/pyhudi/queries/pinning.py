"""Pin a moment, so that the cleaner leaves its files in place. Start at `pinned_instant`."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from pyhudi.arguments import as_count
from pyhudi.errors import InstantNotFound
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.queries.slices import slices_of_any_format
from pyhudi.queries.snapshot import Moment, pin
from pyhudi.state.model import TableState
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.pins import put_pin, remove_pin
from pyhudi.timeline.view import latest_write
from pyhudi.txn.locks import lock_for

__all__ = ["pinned_instant"]


@contextmanager
def pinned_instant(
    state: TableState, moment: Moment | None, expires_in_s: int, settings: Settings
) -> Iterator[InstantTime]:
    """Keep what is visible at a moment until the context is left, or for so many seconds.

    What is newest needs no lock: no clean takes it, whenever it was planned. An older moment is pinned under the table
    lock, so that no plan is made between the pin and the look at what cleans took.

    Locks:  takes the table lock for a moment that is named.
    Raises: InstantNotFound, also where nothing was committed yet; SnapshotExpired.
    """
    seconds = as_count("expires_in_s", expires_in_s)
    with nullcontext() if moment is None else lock_for(state, settings).hold():
        timeline = pin(state, moment)
        newest = latest_write(timeline)
        if newest is None:
            raise InstantNotFound("nothing was committed yet, so there is nothing to pin", table=state.storage.url)
        path = put_pin(state, timeline.point(newest), seconds)
        try:
            if moment is not None:
                slices_of_any_format(file_index(state, timeline))
        except BaseException:
            remove_pin(state, path)
            raise
    try:
        yield newest.requested_time
    finally:
        remove_pin(state, path)

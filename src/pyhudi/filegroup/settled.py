"""Whether the logs of a file slice alone say what becomes of some keys, so that its base file need not be read.

Start at `are_settled`.
"""

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.formats.parquet import Footer, row_group_stats
from pyhudi.kernels.merge import MergeSpec, Probe
from pyhudi.kernels.ordering import compares_as_stored
from pyhudi.kernels.rules import Fill, to_bools

__all__ = ["are_settled"]


def are_settled(keys: pa.Array, updates: Probe, footer: Footer, spec: MergeSpec) -> bool:
    """Return whether each of these keys has an update that takes the place of whatever row the base file has.

    Each then has the row of its update. By order of commits any update does; by ordering values one does that is not
    smaller than what the base file's statistics give as the greatest.

    Cost:   one look-up of the keys; the statistics of one column.
    Raises: CorruptData.
    """
    if updates.unset or updates.changes is not None or spec.fill is not Fill.NOTHING or updates.is_delete.all():
        return False
    found = pc.index_in(keys, value_set=updates.keys)
    if found.null_count or updates.is_delete[found.to_numpy()].any():
        return False
    return updates.wins_always[found.to_numpy()].all() or _win_by_value(found, updates, footer, spec)


def _win_by_value(hits: pa.Array, updates: Probe, footer: Footer, spec: MergeSpec) -> bool:
    if not updates.ordering:
        return True
    greatest = None if spec.is_binlog else _greatest(footer, spec.ordering[0], updates.ordering[0].type)
    if greatest is None:
        return False
    is_won_by_ties = len(spec.ordering) == 1 and not spec.keeps_ties
    wins = pc.greater_equal if is_won_by_ties else pc.greater
    return bool(to_bools(wins(updates.ordering[0].take(hits), greatest)).all())


def _greatest(footer: Footer, name: str, kind: pa.DataType) -> pa.Scalar | None:
    """Return the greatest ordering value of a base file; None where it is not known."""
    if name not in footer.schema.names or footer.schema.field(name).type != kind or not compares_as_stored(kind):
        return None
    stats = [one for one in row_group_stats(footer, name) if one.rows_count]
    bounds = [one.greatest for one in stats if one.greatest is not None and one.nulls_count == 0]
    return pa.scalar(max(bounds), kind) if bounds and len(bounds) == len(stats) else None

"""Another project's reader looks at the table: hudi-rs, which shares no code with us."""

from importlib.util import find_spec

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.demo.flights import KEY, SCHEMA

__all__ = ["differing_rows", "has_hudi_rs", "read_with_hudi_rs"]


def has_hudi_rs() -> bool:
    """Return whether hudi-rs is installed."""
    return find_spec("hudi") is not None


def read_with_hudi_rs(path: str) -> pa.Table:
    """Read the latest snapshot with hudi-rs. Shape: SCHEMA."""
    from hudi import HudiTableBuilder

    batches = HudiTableBuilder.from_base_uri(path).build().read()
    tables = [pa.table(batch) for batch in batches]
    return pa.concat_tables(tables).select(SCHEMA.names).cast(SCHEMA)


def differing_rows(left: pa.Table, right: pa.Table) -> int:
    """Count rows of two tables that are not the same, compared in order of the key.

    Nulls:  equal to each other.
    """
    if left.num_rows != right.num_rows:
        return abs(int(left.num_rows) - int(right.num_rows))
    order = [(name, "ascending") for name in KEY]
    one, other = (table.select(SCHEMA.names).cast(SCHEMA).sort_by(order) for table in (left, right))
    differs = np.zeros(left.num_rows, np.bool_)
    for name in SCHEMA.names:
        differs |= _differs(one[name].combine_chunks(), other[name].combine_chunks())
    return int(differs.sum())


def _differs(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    is_one_null = pc.xor(pc.is_null(left), pc.is_null(right))
    differs = pc.or_(is_one_null, pc.fill_null(pc.not_equal(left, right), fill_value=False))
    return np.asarray(differs.to_numpy(zero_copy_only=False), np.bool_)

"""Which options a table's writes and services take, and where they come from.

Start at `options_in_force`.
"""

import pyarrow as pa

from pyhudi.options import obeyed_options
from pyhudi.state.config import FENCE_KEY, TableConfig
from pyhudi.state.kept_options import kept_by, may_be_kept

__all__ = ["options_in_force"]


def options_in_force(config: TableConfig) -> pa.Table:
    """List the options that hold for a write which says nothing itself: first those of the table, then defaults.

    Shape: key, value, where_from: `table` or `default`; of the lock, the index and the fence only what the table says.
    """
    declared = {**config.lock, **config.index, **({FENCE_KEY: "on"} if config.is_fenced else {})}
    of_table = dict(sorted({**declared, **kept_by(config)}.items()))
    known = obeyed_options()
    rest = {key: known[key]["default"] for key in sorted(known) if key not in of_table and may_be_kept(key)}
    return pa.table(
        {
            "key": pa.array([*of_table, *rest], pa.string()),
            "value": pa.array([*of_table.values(), *rest.values()], pa.string()),
            "where_from": pa.array(["table"] * len(of_table) + ["default"] * len(rest), pa.string()),
        }
    )

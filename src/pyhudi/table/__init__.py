"""The façade: a `Table`, and the functions that create and open one. Start at `open_table`, `create_table`."""

from pyhudi.commit.call import WriteResult
from pyhudi.kernels.keys import register_key_generator
from pyhudi.kernels.mergers import register_merger
from pyhudi.queries.scan import Scan
from pyhudi.table.opening import create_table, drop_table, locks, open_table, pending, table_exists, write_table
from pyhudi.table.table import Table
from pyhudi.table.types import Filter, Records
from pyhudi.table.unbuilt import import_table

__all__ = [
    "Filter",
    "Records",
    "Scan",
    "Table",
    "WriteResult",
    "create_table",
    "drop_table",
    "import_table",
    "locks",
    "open_table",
    "pending",
    "register_key_generator",
    "register_merger",
    "table_exists",
    "write_table",
]

"""The façade: a `Table`, and the functions that create and open one. Start at `open_table`, `create_table`."""

from pyhudi.kernels.keys import register_key_generator
from pyhudi.table.opening import create_table, locks, open_table, pending, table_exists, write_table
from pyhudi.table.table import Table

__all__ = [
    "Table",
    "create_table",
    "locks",
    "open_table",
    "pending",
    "register_key_generator",
    "table_exists",
    "write_table",
]

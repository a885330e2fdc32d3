"""Apache Hudi tables from Python, without a jar. Start at `open_table`, `create_table` and `Table`."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyhudi import errors
    from pyhudi.statements.embedded import run_sql as sql
    from pyhudi.table import (
        Filter,
        Records,
        Scan,
        Table,
        WriteResult,
        create_table,
        drop_table,
        import_table,
        locks,
        open_table,
        pending,
        register_key_generator,
        register_merger,
        table_exists,
        write_table,
    )

    __version__: str

__all__ = [
    "Filter",
    "Records",
    "Scan",
    "Table",
    "WriteResult",
    "__version__",
    "create_table",
    "drop_table",
    "errors",
    "import_table",
    "locks",
    "open_table",
    "pending",
    "register_key_generator",
    "register_merger",
    "sql",
    "table_exists",
    "write_table",
]


def __getattr__(name: str) -> object:
    """Load on first use: Spark imports this package in every worker."""
    if name == "errors":
        return importlib.import_module("pyhudi.errors")
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("pyhudi")
    if name == "sql":
        return importlib.import_module("pyhudi.statements.embedded").run_sql
    if name in __all__:
        return getattr(importlib.import_module("pyhudi.table"), name)
    raise AttributeError(name)


def __dir__() -> list[str]:
    """Name what loads on first use too."""
    return sorted({*globals(), *__all__})

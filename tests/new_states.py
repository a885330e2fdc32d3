"""Freshly created tables in memory, for tests of what works on a table's state."""

from tests.fixed_env import FixedEnv

from pyhudi.env import Env
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.state.creation import NewTable
from pyhudi.state.first_properties import new_properties
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import create_state
from pyhudi.storage.api import Storage
from pyhudi.storage.memory import MemoryStorage

COLUMNS = ("ts", "uuid", "rider", "driver", "fare", "city")


def new_state(version: int = 9, storage: Storage | None = None, env: Env | None = None, **said: object) -> TableState:
    """Create a table with one key and one partition field."""
    world = env or FixedEnv()
    asked = {
        "name": "trips",
        "columns": COLUMNS,
        "record_key": ("uuid",),
        "partition_by": ("city",),
        "key_generator": KeyGenerator.SIMPLE,
        **said,
    }
    new = NewTable(table_version=version, **asked)  # type: ignore[arg-type]  # the caller's own values
    return create_state(storage or MemoryStorage(env=world), world, new_properties(new))

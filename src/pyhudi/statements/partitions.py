"""Find the stored partitions that a PARTITION clause names: all that have the given values.

Start at `stored_partitions`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import StatementError
from pyhudi.filegroup.model import PartitionPath
from pyhudi.queries.pruning import partition_values
from pyhudi.schema.meta_fields import PARTITION_PATH
from pyhudi.schema.python_values import to_array
from pyhudi.statements.api import Runner
from pyhudi.statements.model import PartitionValue
from pyhudi.statements.targets import Target

if TYPE_CHECKING:
    from pyhudi.statements.model import Piece

__all__ = ["stored_partitions"]


def stored_partitions(target: Target, values: Sequence[PartitionValue], runner: Runner) -> tuple[str, ...]:
    """Return the paths of the partitions in which every given column has its value; columns without one do not matter.

    Nulls: a null is found in the default partition.
    Raises: StatementError for a column that is no partition column, and where paths do not show its values.
    """
    paths = [PartitionPath(path) for path in target.table.inspect.partitions().column("partition").to_pylist()]
    known = partition_values(target.table.config, target.schema, paths)
    for value in values:
        column = target.column(value.column, value.place)
        if column not in target.partition_columns:
            raise StatementError("PARTITION names partition columns", column=value.column, position=value.place)
        if column not in known.column_names:
            raise StatementError(
                "the paths of partitions do not show this column's values; use DELETE with a condition",
                column=column,
                position=value.place,
            )
        if value.value is not None:
            known = known.filter(_has_value(known.column(column), value.value, runner))
    found: list[str] = known.column(PARTITION_PATH).to_pylist()
    return tuple(found)


def _has_value(column: pa.ChunkedArray, value: "Piece", runner: Runner) -> pa.ChunkedArray:
    given = runner.value(runner.cast(value.text, column.type), value.place)
    if given is None:
        return pc.is_null(column)
    wanted = to_array([given], column.type, "partition")[0]
    return pc.fill_null(pc.equal(column, wanted), False)

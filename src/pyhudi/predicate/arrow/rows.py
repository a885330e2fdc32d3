"""The rows an expression is evaluated for, and how a name finds its column.

Pure. A name is taken as it is written, else in another case if only one column fits. Start at `Rows.column`.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import ExpressionError
from pyhudi.predicate.arrow.values import Value
from pyhudi.predicate.model import Column, Expression, Opaque, walk
from pyhudi.predicate.types import nearest

__all__ = ["Rows", "back", "fields_of", "find"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A batch and its number of rows, which a batch without columns does not know."""

    batch: pa.RecordBatch
    count: int

    def column(self, name: Column) -> pa.Array:
        """Return a column, or a field inside a struct column.

        Raises: ExpressionError naming the nearest column if there is none.
        """
        at, inner = find(self.batch.schema, name)
        values = self.batch.column(at)
        for part in inner:
            values = pc.struct_field(values, part)
        return values

    def where(self, mask: pa.Array) -> "Rows":
        """Keep the rows that a mask without nulls marks."""
        count = int(pc.sum(mask, min_count=0).as_py())
        return Rows(batch=self.batch.filter(mask) if self.batch.num_columns else self.batch, count=count)

    def spread(self, values: Value) -> pa.Array:
        """Repeat a constant for every row."""
        if not isinstance(values, pa.Scalar):
            return values
        return pa.nulls(self.count, values.type) if not values.is_valid else pa.repeat(values, self.count)


def back(values: pa.Array, mask: pa.Array) -> pa.Array:
    """Put values of the rows that a mask marks back in their places; the other rows are null."""
    marked = mask.to_numpy(zero_copy_only=False)
    places = np.cumsum(marked, dtype=np.int64) - 1
    return values.take(pa.array(places, mask=~marked))


def find(schema: pa.Schema, name: Column) -> tuple[int, tuple[str, ...]]:
    """Find the column of a name: its index, and the struct fields inside it.

    A column whose own name has dots is preferred to a struct's field.

    Raises: ExpressionError naming the nearest column if there is none, or if several differ in case only.
    """
    for taken in range(len(name.parts), 0, -1):
        at = _index(schema.names, ".".join(name.parts[:taken]))
        if at is not None:
            return at, _inner(schema.field(at).type, name.parts[taken:], name)
    raise ExpressionError(
        f"name a column that there is, or, for a text, put it in quotes: '{name.name}'",
        column=name.name,
        nearest=nearest(name.name, schema.names),
    )


def fields_of(expression: Expression, schema: pa.Schema) -> tuple[str, ...]:
    """Return the top-level columns to read for an expression, in the order of the schema.

    Raises: ExpressionError for a column that there is not.
    """
    found: set[str] = set()
    for node in walk(expression):
        if isinstance(node, Column):
            found.add(schema.names[find(schema, node)[0]])
        elif isinstance(node, Opaque):
            # Its text holds the name of each of its columns, and perhaps of some more.
            text = str(node.expression)
            found.update(name for name in schema.names if name in text)
    return tuple(name for name in schema.names if name in found)


def _index(names: list[str], wanted: str) -> int | None:
    exact = [at for at, name in enumerate(names) if name == wanted]
    found = exact or [at for at, name in enumerate(names) if name.lower() == wanted.lower()]
    if len(found) > 1:
        raise ExpressionError("rename a column, several have this name", column=wanted)
    return found[0] if found else None


def _inner(type: pa.DataType, parts: tuple[str, ...], name: Column) -> tuple[str, ...]:
    inner: list[str] = []
    for part in parts:
        names = [field.name for field in type] if pt.is_struct(type) else []
        at = _index(names, part)
        if at is None:
            raise ExpressionError("name a field that there is", column=name.name, nearest=nearest(part, names))
        inner.append(names[at])
        type = type.field(at).type
    return tuple(inner)

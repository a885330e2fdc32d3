"""Secondary indexes: a filter that says which values an indexed column has to have asks for the places of these rows.

Start at `SECONDARY_KIND`.

Spec: format/metadata-table 8.7.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa

from pyhudi.index.api import IndexKind
from pyhudi.index.asking import Answer, Asked, Question, answer_by_places
from pyhudi.metadata.names import SECONDARY_PREFIX
from pyhudi.state.index_definition import IndexDefinition

__all__ = ["SECONDARY_KIND", "secondary_values"]


def secondary_values(
    required: Mapping[str, pa.Array], defined: Mapping[str, IndexDefinition]
) -> Iterator[tuple[IndexDefinition, pa.Array]]:
    """Yield each secondary index of a column of which values are required, with these values.

    `required` is what `required_values.values_required` says of a filter.
    """
    by_column = {one.fields[0]: one for one in defined.values() if one.partition.startswith(SECONDARY_PREFIX)}
    for name, values in required.items():
        if name in by_column:
            yield by_column[name], values


def _leaves(question: Question, asked: Asked) -> Iterator[Answer]:
    if not question.required:
        return
    for definition, values in secondary_values(question.required, question.defined):
        places = question.files.places_of_values(definition.partition, values)
        yield from answer_by_places(definition.partition, places, question, asked)


SECONDARY_KIND: Final = IndexKind(leaves=_leaves)

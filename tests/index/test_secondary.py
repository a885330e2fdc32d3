"""Filters that ask for values of a column with a secondary index."""

import pyarrow as pa

from pyhudi.index.asking import slices_placed
from pyhudi.index.required_values import values_required
from pyhudi.index.secondary import secondary_values
from pyhudi.predicate import parse
from pyhudi.state.index_definition import IndexDefinition

SCHEMA = pa.schema([("c", pa.string()), ("n", pa.int64()), ("day", pa.date32()), ("f", pa.float64())])
DEFINED = {
    f"secondary_index_{name}": IndexDefinition(
        partition=f"secondary_index_{name}", type="secondary_index", fields=(name,)
    )
    for name in SCHEMA.names
}


def test_an_index_is_asked_for_the_values_of_its_column():
    required = values_required(parse("c = 'x' and n in (1, 2)"), SCHEMA)
    found = secondary_values(required, {"secondary_index_n": DEFINED["secondary_index_n"]})
    assert [(definition.partition, told.to_pylist()) for definition, told in found] == [("secondary_index_n", [1, 2])]


def test_slices_of_the_file_groups_stay():
    slices = pa.table({"partition": ["a", "a", "b"], "file_id": ["1", "2", "1"]})
    places = pa.table({"key": ["k"], "partition": ["b"], "file_id": ["1"]})
    assert slices_placed(slices, places).to_pylist() == [False, False, True]

"""Records of statistics in the version that the index definitions say, whatever the version of their table is.

Apache Hudi merges no values that say their types (V2) with values that do not (V1), and a table that it upgraded to
version 9 keeps V1 in its definitions. Start at `as_defined`.

Spec: format/metadata-table 3.7, 5.2.
"""

from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.metadata.definitions import read_definitions
from pyhudi.metadata.names import MetadataPartition
from pyhudi.metadata.records import STATS_FIELD, MetadataRecords
from pyhudi.metadata.stats.values import VALUE_TYPE, can_encode, encode_values, kind_of_value_type, stored_bounds
from pyhudi.state.model import TableState

__all__ = ["as_defined", "has_value_types"]

_BEGAN_WITH: Final = "hoodie.table.initial.version"
_VALUE_TYPE: Final = "valueType"
_BOUNDS: Final = ("minValue", "maxValue")
_V1: Final = "V1"
_V1_TABLE: Final = 8
"""The last table version whose values are of V1."""


def has_value_types(state: TableState) -> bool:
    """Return whether values in records of statistics say their types: not up to version 8, else by the definitions.

    Cost:   a small read for a table that was made at an older version; else nothing.
    Raises: CorruptData.
    """
    if not state.layout.has_index_versions:
        return False
    if state.config.properties.get(_BEGAN_WITH) == str(state.config.table_version):
        return True
    defined = read_definitions(state).get(MetadataPartition.COLUMN_STATS.value)
    return defined is None or defined.get("version", _V1) != _V1


def as_defined(state: TableState, records: MetadataRecords) -> MetadataRecords:
    """Take the value types out of records of statistics, where the table's definitions are of V1.

    Of columns whose values V1 does not have there is no record then. Other records are returned as they are.

    Cost: as `has_value_types`.
    """
    is_of_stats = records.field == STATS_FIELD and _VALUE_TYPE in [field.name for field in records.values.type]
    if not is_of_stats or has_value_types(state):
        return records
    values, is_kept = _without_types(records.values, state.config.table_version)
    kept = {name: getattr(records, name).filter(is_kept) for name in ("keys", "kinds")}
    return replace(records, values=values.filter(is_kept), **kept)


def _without_types(values: pa.StructArray, table_version: int) -> tuple[pa.StructArray, pa.Array]:
    """Return records with values of V1, and which of them there are; those without value types stay as they are."""
    said = values.field(_VALUE_TYPE)
    numbers = pc.struct_field(said, [VALUE_TYPE.names[0]]), pc.struct_field(said, [VALUE_TYPE.names[1]])
    names = pc.binary_join_element_wise(numbers[0].cast(pa.string()), numbers[1], ":", null_handling="replace")
    columns = dict(zip((field.name for field in values.type), values.flatten(), strict=True))
    is_kept = np.ones(len(values), bool)
    for name in pc.unique(names.filter(said.is_valid())).to_pylist():
        ordinal, _, info = name.partition(":")
        is_one = pc.fill_null(pc.and_(said.is_valid(), pc.equal(names, name)), False)
        kind = kind_of_value_type(int(ordinal), info)
        if kind is not None and not can_encode(kind, _V1_TABLE):
            is_kept &= ~is_one.to_numpy(zero_copy_only=False)
            continue
        for bound in _BOUNDS if kind is not None else ():
            plain = stored_bounds(columns[bound], said, kind)
            encoded = encode_values(plain, table_version, is_v1=True)
            columns[bound] = pc.if_else(is_one, encoded, columns[bound])
    columns[_VALUE_TYPE] = pa.nulls(len(values), said.type)
    fields = [field.with_nullable(True) if field.name == _VALUE_TYPE else field for field in values.type]
    return pa.StructArray.from_arrays(list(columns.values()), fields=fields), pa.array(is_kept)

"""What the file of index definitions says of one index. Pure; `metadata.definitions` reads and writes the file.

Spec: format/metadata-table 3.7.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["IndexDefinition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDefinition:
    """One index of a table."""

    partition: str
    """Its partition of the metadata table."""
    type: str
    """`column_stats` or `bloom_filters` of an expression index, else `secondary_index` or `record_index`."""
    function: str = ""
    """By which values are computed from the column; `identity` for the values themselves."""
    fields: tuple[str, ...] = ()
    """The columns; of expression and secondary indexes there is one."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Arguments of the function, and others."""
    version: str = "V1"
    """`V1` or `V2`: how keys and values are laid out."""
    zone: str = ""
    """The zone of time that its values are in, where the writer said it: `UTC` of ours, nothing of Apache Hudi's."""

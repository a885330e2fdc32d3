"""What all kinds have in common that are made from an index's definition. Start at `DefinedKind`.

Spec: format/metadata-table 3.2, 3.7.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyhudi.hashing import SHARD_HASH, KeyHash
from pyhudi.metadata.partitions.api import Comparison, FilesTold, Need, asked_groups
from pyhudi.metadata.state import MetadataTable
from pyhudi.options import Settings, option
from pyhudi.state.config import TableConfig
from pyhudi.state.index_definition import IndexDefinition

__all__ = ["EXPRESSION_GROUPS", "DefinedKind"]

EXPRESSION_GROUPS: Final = option(
    "hoodie.metadata.index.expression.file.group.count",
    2,
    "How many file groups an expression index gets when it is built.",
)


@dataclass(frozen=True, slots=True)
class DefinedKind:
    """The part of a `PartitionKind` that the definition and its absence from the options decide.

    What differs of secondary indexes they say themselves; records are each kind's own.
    """

    definition: IndexDefinition
    needs: frozenset[Need] = frozenset()
    enabled_by: None = None
    is_defined: bool = False
    is_of_newest: bool = False
    is_by_partition: bool = False
    rests_on: str | None = None

    @property
    def name(self) -> str:
        """Return its directory's name."""
        return self.definition.partition

    @property
    def file_id_prefix(self) -> str:
        """Return how the ids of its file groups begin."""
        return self.name.replace("_", "-")

    @property
    def key_hash(self) -> KeyHash:
        """Return the hash of entries."""
        return SHARD_HASH

    def is_first(self, config: TableConfig, settings: Settings) -> bool:
        """Return that it is only built when it is asked for."""
        return False

    def groups(self, settings: Settings, records_count: int = 0) -> int:
        """Return what the options say."""
        return asked_groups(settings, EXPRESSION_GROUPS)

    def records_of_rollback(self, appended: Mapping[str, Mapping[str, int]]) -> None:
        """Return nothing: a log that a rollback leaves adds no rows, and what a commit told is taken back with it."""

    def check(self, table: MetadataTable, told: FilesTold) -> Comparison | None:
        """Return nothing: footers do not tell what an index of a column holds; `queries.check` reads rows."""
        return None

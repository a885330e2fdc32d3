"""What a statement says, as frozen values; queries and expressions stay text.

Pure. Names keep their spelling; keywords do not matter any more. Places count characters of the statement from 1, so
that an error shows where. Start at `Statement`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = [
    "AddColumns",
    "Assignment",
    "CallProcedure",
    "ChangeColumn",
    "ColumnDefinition",
    "CreateIndex",
    "CreateTable",
    "Delete",
    "Describe",
    "DropColumns",
    "DropIndex",
    "DropPartitions",
    "DropTable",
    "Insert",
    "Merge",
    "MergeClause",
    "PartitionValue",
    "Piece",
    "RefreshIndex",
    "RenameColumn",
    "RenameTable",
    "SetProperties",
    "ShowCreateTable",
    "ShowIndexes",
    "ShowPartitions",
    "ShowProperties",
    "Statement",
    "TableName",
    "TruncateTable",
    "UnsetProperties",
    "Update",
]


@dataclass(frozen=True, slots=True)
class Piece:
    """A query, an expression or a type as it stands in the statement, and where it begins."""

    text: str
    place: int


@dataclass(frozen=True, slots=True)
class TableName:
    """A table's name: one to three parts without quotes. ``hudi.`path` `` has the parts `hudi` and the path."""

    parts: tuple[str, ...]
    place: int = field(default=1, compare=False)

    @property
    def path(self) -> str | None:
        """Return the path of ``hudi.`path` ``; None for a name."""
        is_path = len(self.parts) == 2 and self.parts[0].lower() == "hudi" and ("/" in self.parts[1])
        return self.parts[1] if is_path else None

    def __str__(self) -> str:
        """Return the name as a message shows it."""
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDefinition:
    """A column of CREATE TABLE or ADD COLUMNS."""

    name: str
    type: Piece
    is_nullable: bool = True
    comment: str | None = None
    position: str | None = None
    """`first`, or `after` and a name: what ALTER TABLE asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionValue:
    """A column of a PARTITION clause; without a value its partitions are those of the rows."""

    column: str
    value: Piece | None
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A column, spelled as it stands without its alias, and the expression that it gets."""

    column: str
    value: Piece
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """CREATE TABLE: columns, or a query, or a location alone, or like another table."""

    name: TableName
    is_if_not_exists: bool = False
    is_replace: bool = False
    columns: tuple[ColumnDefinition, ...] = ()
    provider: str | None = None
    partition_by: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None
    comment: str | None = None
    like: TableName | None = None
    query: Piece | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """INSERT INTO and INSERT OVERWRITE."""

    table: TableName
    query: Piece
    is_overwrite: bool = False
    partition: tuple[PartitionValue, ...] = ()
    is_if_not_exists: bool = False
    columns: tuple[str, ...] = ()
    is_by_name: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """UPDATE ... SET ... WHERE."""

    table: TableName
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    where: Piece | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """DELETE FROM ... WHERE."""

    table: TableName
    alias: str | None = None
    where: Piece | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClause:
    """One WHEN clause of a merge; the first of a row's kind whose condition is true acts."""

    kind: str
    """`matched`, `not matched` (rows of the source) or `not matched by source` (rows of the table)."""
    action: str
    """`update`, `insert` or `delete`."""
    condition: Piece | None = None
    assignments: tuple[Assignment, ...] = ()
    is_star: bool = False
    """UPDATE SET * and INSERT *: all columns by their names."""
    place: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """MERGE INTO."""

    table: TableName
    source: Piece
    """A table name, or a query in parentheses, as it stands."""
    on: Piece
    clauses: tuple[MergeClause, ...]
    alias: str | None = None
    source_alias: str | None = None
    is_schema_evolution: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumns:
    """ALTER TABLE ... ADD COLUMNS."""

    table: TableName
    columns: tuple[ColumnDefinition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeColumn:
    """ALTER TABLE ... ALTER COLUMN: type, comment, position, nullability; what is None stays."""

    table: TableName
    column: str
    type: Piece | None = None
    comment: str | None = None
    position: str | None = None
    is_nullable: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumns:
    """ALTER TABLE ... DROP COLUMNS."""

    table: TableName
    columns: tuple[str, ...]
    is_if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn:
    """ALTER TABLE ... RENAME COLUMN."""

    table: TableName
    column: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperties:
    """ALTER TABLE ... SET TBLPROPERTIES (or SERDEPROPERTIES)."""

    table: TableName
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperties:
    """ALTER TABLE ... UNSET TBLPROPERTIES."""

    table: TableName
    keys: tuple[str, ...]
    is_if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitions:
    """ALTER TABLE ... DROP PARTITION: each a set of values."""

    table: TableName
    partitions: tuple[tuple[PartitionValue, ...], ...]
    is_if_exists: bool = False
    is_purge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable:
    """ALTER TABLE ... RENAME TO."""

    table: TableName
    to: TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable:
    """DROP TABLE."""

    table: TableName
    is_if_exists: bool = False
    is_purge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateTable:
    """TRUNCATE TABLE, whole or one partition."""

    table: TableName
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPartitions:
    """SHOW PARTITIONS."""

    table: TableName
    partition: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCreateTable:
    """SHOW CREATE TABLE."""

    table: TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowProperties:
    """SHOW TBLPROPERTIES, all or one."""

    table: TableName
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe:
    """DESCRIBE [TABLE] [EXTENDED]."""

    table: TableName
    is_extended: bool = False
    column: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateIndex:
    """CREATE INDEX."""

    table: TableName
    index: str
    columns: tuple[str, ...]
    kind: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    is_if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropIndex:
    """DROP INDEX."""

    table: TableName
    index: str
    is_if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowIndexes:
    """SHOW INDEXES."""

    table: TableName


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshIndex:
    """REFRESH INDEX."""

    table: TableName
    index: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProcedure:
    """CALL of a procedure: arguments by position, then by name."""

    procedure: str
    positional: tuple[Piece, ...] = ()
    named: tuple[tuple[str, Piece], ...] = ()


Statement: TypeAlias = (
    CreateTable
    | Insert
    | Update
    | Delete
    | Merge
    | AddColumns
    | ChangeColumn
    | DropColumns
    | RenameColumn
    | SetProperties
    | UnsetProperties
    | DropPartitions
    | RenameTable
    | DropTable
    | TruncateTable
    | ShowPartitions
    | ShowCreateTable
    | ShowProperties
    | Describe
    | CreateIndex
    | DropIndex
    | ShowIndexes
    | RefreshIndex
    | CallProcedure
)

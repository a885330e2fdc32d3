"""The verbs of a table that change its columns, without rows. Start at `ColumnVerbs`."""

from collections.abc import Mapping
from typing import Unpack, overload

import pyarrow as pa

from pyhudi.actions.alter_columns import add_columns, given_columns, widen_columns
from pyhudi.commit.call import WriteResult
from pyhudi.commit.planned import PlannedWrite
from pyhudi.table.types import Options, Planned, Schema, Written
from pyhudi.table.writes import WriteVerbs

__all__ = ["ColumnVerbs"]


class ColumnVerbs(WriteVerbs):
    """What a `Table` can be told to write, its columns among it."""

    @overload
    def add_columns(self, columns: Mapping[str, pa.DataType] | Schema, **how: Unpack[Written]) -> WriteResult: ...
    @overload
    def add_columns(self, columns: Mapping[str, pa.DataType] | Schema, **how: Unpack[Planned]) -> PlannedWrite: ...
    def add_columns(
        self,
        columns: Mapping[str, pa.DataType] | Schema,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> WriteResult | PlannedWrite:
        """Add columns behind those that the table has, by a commit without rows; rows that are stored have nulls there.

        Args:
            columns: types by name, or a schema. They are nullable, whatever it says.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return the plan and write nothing.
            commit_metadata: entries of your own for the commit.

        Example:
            >>> trips.add_columns({"tip": pa.float64()}).added
            {'tip': 'double'}

        Raises: SchemaMismatch for a column that the table has; InvalidInput, Conflict, CommitUnknown.
        """
        return add_columns(self._call(options, dry_run, commit_metadata), given_columns(columns))

    @overload
    def widen_columns(self, columns: Mapping[str, pa.DataType] | Schema, **how: Unpack[Written]) -> WriteResult: ...
    @overload
    def widen_columns(self, columns: Mapping[str, pa.DataType] | Schema, **how: Unpack[Planned]) -> PlannedWrite: ...
    def widen_columns(
        self,
        columns: Mapping[str, pa.DataType] | Schema,
        *,
        options: Options | None = None,
        dry_run: bool = False,
        commit_metadata: Mapping[str, str] | None = None,
    ) -> WriteResult | PlannedWrite:
        """Let columns have wider types, by a commit without rows; no file is written anew.

        An int becomes a long or a double, a float a double, a decimal a wider one. With
        `hoodie.datasource.write.reconcile.schema` also a long a double, and numbers become text.

        Args:
            columns: types by name, or a schema, of columns that the table has.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return the plan and write nothing.
            commit_metadata: entries of your own for the commit.

        Example:
            >>> trips.add_columns({"seats": pa.int32()}).added
            {'seats': 'int32'}
            >>> trips.widen_columns({"seats": pa.int64()}).widened
            {'seats': 'int32 -> int64'}

        Raises: SchemaMismatch where a column cannot become of its type; InvalidInput, Conflict, CommitUnknown.
        """
        return widen_columns(self._call(options, dry_run, commit_metadata), given_columns(columns))

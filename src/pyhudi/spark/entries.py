"""Entries of the session catalog on PySpark 3.5, whose SQL takes no provider that has no class in the JVM.

They are what Apache Hudi's Spark makes: provider `hudi`, a location, columns. What this calls is private, but 3.5 does
not move any more. Start at `create_entry`.
"""

from typing import TYPE_CHECKING, Any, Final

from pyhudi.spark.failures import spark_errors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

__all__ = ["create_entry", "rename_entry"]

_PROVIDER: Final = 5
_PROPERTIES: Final = 12
_COMMENT: Final = 15
_FIELDS_COUNT: Final = 20
"""Places in CatalogTable; the first four are the identifier, the type, the storage and the columns."""


def create_entry(
    spark: "SparkSession",
    name: tuple[str, str],
    location: str,
    columns: "StructType",
    properties: "Mapping[str, str]",
    *,
    comment: str | None,
) -> None:
    """Add an external table of provider `hudi`; `name` is database and table.   Raises: Environment."""
    with spark_errors():
        jvm = _jvm(spark)
        model = jvm.org.apache.spark.sql.catalyst.catalog
        empty = model.CatalogStorageFormat.empty()
        defaults = [getattr(empty, f"copy$default${place}")() for place in range(2, 7)]
        storage = empty.copy(_some(jvm, model.CatalogUtils.stringToURI(location)), *defaults)
        kind = model.CatalogTableType.EXTERNAL()
        schema = jvm.org.apache.spark.sql.types.DataType.fromJson(columns.json())
        given = {
            _PROVIDER: _some(jvm, "hudi"),
            _PROPERTIES: jvm.PythonUtils.toScalaMap(dict(properties)),
            _COMMENT: _some(jvm, comment),
        }
        entry = model.CatalogTable
        rest = [
            given[place] if place in given else getattr(entry, f"apply$default${place}")()
            for place in range(_PROVIDER, _FIELDS_COUNT + 1)
        ]
        made = entry.apply(_identifier(jvm, name), kind, storage, schema, *rest)
        _catalog(spark).createTable(made, False, False)


def rename_entry(spark: "SparkSession", name: tuple[str, str], to: tuple[str, str]) -> None:
    """Set the name of a table.   Raises: Environment."""
    with spark_errors():
        jvm = _jvm(spark)
        _catalog(spark).renameTable(_identifier(jvm, name), _identifier(jvm, to))


def _jvm(spark: "SparkSession") -> Any:  # noqa: ANN401 - objects of the JVM have no types here
    private: Any = spark
    return private._jvm


def _catalog(spark: "SparkSession") -> Any:  # noqa: ANN401
    private: Any = spark
    return private._jsparkSession.sessionState().catalog()


def _identifier(jvm: Any, name: tuple[str, str]) -> Any:  # noqa: ANN401
    database, table = name
    return jvm.org.apache.spark.sql.catalyst.TableIdentifier(table, _some(jvm, database))


def _some(jvm: Any, value: object) -> Any:  # noqa: ANN401
    """Return an Option of the JVM; of None the empty one."""
    return jvm.scala.Option.apply(value)

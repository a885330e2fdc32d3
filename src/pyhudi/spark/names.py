"""Hudi tables in Spark's session catalog: found by name, made, renamed and dropped.

Only public SQL is used, so that classic sessions and Connect, the in-memory catalog and a Hive metastore are alike. An
entry is a table of provider `hudi` with a location; what Apache Hudi's Spark or sync registered is one as well. Spark
shows table properties as one text, so those that it would cut or hide are kept in hexadecimal. Start at `SparkCatalog`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import types

from pyhudi.errors import InvalidInput, TableExists
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.spark.entries import create_entry, rename_entry
from pyhudi.spark.releases import HAS_DATA_SOURCES
from pyhudi.spark.servers import is_spark_itself
from pyhudi.spark.types import to_spark
from pyhudi.statements.api import Entry
from pyhudi.statements.model import TableName
from pyhudi.statements.reader import TokenReader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FORMATS", "MANAGED", "SparkCatalog", "quoted", "string", "table_name", "type_text"]

FORMATS: Final = frozenset({"hudi", "org.apache.hudi"})
"""What USING and `format` may say, in lower case."""
MANAGED: Final = "pyhudi.managed"
"""The property of a table whose location the catalog chose: dropping it deletes the files."""

_READ_OPTIMIZED: Final = "hoodie.query.as.ro.table"
_SESSION_CATALOG: Final = "spark_catalog"
_NAME: Final = re.compile(r"\w+", re.ASCII)
"""All that the session catalog takes as a name; it makes SHOW TABLE's pattern fit this name alone."""
_OWN: Final = frozenset({"location", "owner", "provider", "comment", "external", "bucketing_version"})
"""Properties that Spark or Hive shows of its own."""
_HEXED: Final = "pyhudi.hex."
_TELLS: Final = re.compile(r"url|secret|password|token|access[.]?key", re.IGNORECASE)
"""What Spark hides when it shows a property, in key or value."""
_PAIR: Final = re.compile(r"(?:^|, )([^\s=,]+)=")


class _Shown(NamedTuple):
    """What SHOW TABLE EXTENDED says of one table or view."""

    database: str
    is_temporary: bool
    facts: Mapping[str, str]


class SparkCatalog:
    """Tables by name in Spark's session catalog; case does not matter."""

    def __init__(self, spark: "SparkSession", ask: "Callable[[str], DataFrame]") -> None:
        """Take a session, and what runs a statement in it as Spark itself does, without hooks."""
        self._spark, self._ask = spark, ask

    def find(self, name: TableName) -> Entry | None:
        """Return the Hudi table of a name; a temporary view hides a table that is named without its database.

        Cost: one statement to the session.
        """
        shown = self._shown(name)
        if shown is None or shown.is_temporary:
            return None
        facts = shown.facts
        location = facts.get("Location")
        if facts.get("Provider", "").lower() not in FORMATS or not location:
            return None
        properties = dict(_read_properties(facts.get("Table Properties", "[]")))
        said = {**properties, **dict(_read_properties(facts.get("Storage Properties", "[]")))}
        is_managed = properties.pop(MANAGED, "") == "true" or facts.get("Type") == "MANAGED"
        return Entry(
            name=TableName((shown.database, name.parts[-1]), name.place),
            location=location,
            properties=properties,
            is_managed=is_managed,
            comment=facts.get("Comment"),
            is_read_optimized=said.get(_READ_OPTIMIZED, "").lower() == "true",
        )

    def exists(self, name: TableName) -> bool:
        """Return whether a table or a permanent view has this name; a temporary view does not stand in the way."""
        shown = self._shown(name, is_view_seen=False)
        return shown is not None

    def location_of_new(self, name: TableName, given: str | None = None) -> str:
        """Return where a table goes: a name or relative path is below its database's folder, as Spark keeps it.

        Raises: InvalidInput for a catalog that is not the session's, and for a database that is not there.
        """
        place = given or name.parts[-1].lower()
        is_whole = place.startswith("/") or ":" in place.split("/", 1)[0]
        return place if given and is_whole else f"{self._folder(name)}/{place}"

    def _folder(self, name: TableName) -> str:
        """Return the location of a table's database."""
        database = self._database(name)
        try:
            rows = self._ask(f"DESCRIBE DATABASE {quoted(self._home, database)}").collect()
        except PySparkException as error:
            raise InvalidInput("there is no such database", database=database, position=name.place) from error
        where = next((row[1] for row in rows if row[0] == "Location"), None)
        if not where:
            raise InvalidInput("the database has no location; give the table one: LOCATION 'path'", database=database)
        return str(where).rstrip("/")

    def create(self, entry: Entry, schema: "pa.Schema") -> None:
        """Add a table whose files are there; Spark reads its columns by the data source `hudi`, where it has such.

        Raises: TableExists.
        """
        if self.exists(entry.name):
            raise TableExists("there is a table or view of this name already", table=str(entry.name))
        if HAS_DATA_SOURCES:
            self._add(entry)
            return
        columns = to_spark(with_meta_fields(schema))
        pairs = dict(_kept_pairs(_said(entry)))
        create_entry(self._spark, self._pair(entry.name), entry.location, columns, pairs, comment=entry.comment)

    def _add(self, entry: Entry) -> None:
        said = _said(entry)
        clauses = [f"CREATE TABLE {self._full(entry.name)} USING hudi LOCATION {string(entry.location)}"]
        if entry.comment is not None:
            clauses.append(f"COMMENT {string(entry.comment)}")
        if said:
            clauses.append(f"TBLPROPERTIES ({_written(said)})")
        self._ask(" ".join(clauses))

    def drop(self, name: TableName) -> None:
        """Remove a table's entry; its files stay, as every entry has a location of its own."""
        self._ask(f"DROP TABLE {self._full(name)}")

    def rename(self, name: TableName, to: TableName) -> None:
        """Set the name of a table; without a database it stays in its own.

        Raises: TableExists.
        """
        target = TableName((self._database(name), to.parts[-1])) if len(to.parts) == 1 else to
        if self.exists(target):
            raise TableExists("there is a table or view of this name already", table=str(to))
        if not HAS_DATA_SOURCES:  # Spark would open the table, to see whether it is cached
            rename_entry(self._spark, self._pair(name), self._pair(target))
            return
        if not is_spark_itself(self._spark):
            self._make_anew(name, target)
            return
        self._ask(f"ALTER TABLE {self._full(name)} RENAME TO {quoted(*target.parts[-2:])}")

    def set_properties(self, name: TableName, properties: Mapping[str, str], unset: tuple[str, ...] = ()) -> None:
        """Set some table properties, and remove others."""
        if properties:
            self._ask(f"ALTER TABLE {self._full(name)} SET TBLPROPERTIES ({_written(properties)})")
        if unset:
            keys = ", ".join(string(key) for one in unset for key in (one, _HEXED + one.encode().hex()))
            self._ask(f"ALTER TABLE {self._full(name)} UNSET TBLPROPERTIES IF EXISTS ({keys})")

    def set_schema(self, name: TableName, schema: "pa.Schema") -> None:
        """Show the columns that the table has now: new ones are added, and for any other change the entry is made anew.

        An entry keeps the columns with which it was made, which sessions without hooks go by.
        """
        entry = self.find(name)
        assert entry is not None, "the statement found it"
        if not (HAS_DATA_SOURCES and is_spark_itself(self._spark)):
            self.drop(entry.name)
            self.create(entry, schema)
            return
        shown = self._ask(f"TABLE {self._full(entry.name)}").schema.fields
        columns = to_spark(with_meta_fields(schema)).fields
        kept, added = columns[: len(shown)], columns[len(shown) :]
        if [(one.name, one.dataType) for one in kept] != [(one.name, one.dataType) for one in shown]:
            self.drop(entry.name)
            self.create(entry, schema)
        elif added:
            listed = ", ".join(f"{quoted(one.name)} {type_text(one.dataType)}" for one in added)
            self._ask(f"ALTER TABLE {self._full(entry.name)} ADD COLUMNS ({listed})")

    def _shown(self, name: TableName, *, is_view_seen: bool = True) -> _Shown | None:
        """Return what a name is: a temporary view where one hides the table, else the table or permanent view."""
        catalog = name.parts[0].lower() if len(name.parts) == 3 else self._home
        is_known = catalog == self._home and all(_NAME.fullmatch(part) for part in name.parts)
        if len(name.parts) > 3 or not is_known:
            return None
        named = name.parts[-2:-1]
        where = f" IN {quoted(*named)}" if named else ""
        try:
            rows = self._ask(f"SHOW TABLE EXTENDED{where} LIKE '{name.parts[-1]}'").collect()
        except PySparkException:  # no such database, or a catalog of another kind
            return None
        found = [_Shown(row[0], row[2], _facts(row[3])) for row in rows]
        views = [one for one in found if one.is_temporary]
        if views and is_view_seen and not named:
            return views[0]
        tables = [one for one in found if not one.is_temporary]
        is_ours = bool(tables) and tables[0].facts.get("Catalog", self._home) == self._home
        return tables[0] if is_ours else None

    def _database(self, name: TableName) -> str:
        if len(name.parts) == 3 and name.parts[0].lower() != self._home:
            raise InvalidInput("Hudi tables live in Spark's session catalog", table=str(name), position=name.place)
        if len(name.parts) > 1:
            return name.parts[-2]
        catalog, database = self._ask("SELECT current_catalog(), current_schema()").collect()[0]
        if catalog != self._home:
            raise InvalidInput(
                "Hudi tables live in Spark's session catalog; write the catalog in front of the name",
                catalog=self._home,
                current=catalog,
                table=str(name),
            )
        return str(database)

    def _full(self, name: TableName) -> str:
        return quoted(self._home, *self._pair(name))

    @cached_property
    def _home(self) -> str:
        """Return what the session's own catalog is called; only another server than Spark has a name of its own."""
        if is_spark_itself(self._spark):
            return _SESSION_CATALOG
        return str(self._ask("SELECT current_catalog()").collect()[0][0])

    def _make_anew(self, name: TableName, to: TableName) -> None:
        entry = self.find(name)
        assert entry is not None, "the statement found it"
        self._ask(f"DROP TABLE {self._full(name)}")
        self._add(replace(entry, name=to))

    def _pair(self, name: TableName) -> tuple[str, str]:
        return self._database(name), name.parts[-1]


def table_name(text: str) -> TableName:
    """Read the name of a table as users type it in Python.   Raises: StatementError."""
    reader = TokenReader(text)
    name = reader.table()
    reader.require_end()
    return name


def quoted(*parts: str) -> str:
    """Return a name of some parts, quoted as Spark does."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def string(value: str) -> str:
    """Return a string literal of Spark."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def type_text(kind: types.DataType) -> str:
    """Return how Spark spells a type; names of fields that need it are quoted."""
    match kind:
        case types.StructType():
            fields = ", ".join(f"{_field(one.name)}: {type_text(one.dataType)}" for one in kind.fields)
            return f"struct<{fields}>"
        case types.ArrayType():
            return f"array<{type_text(kind.elementType)}>"
        case types.MapType():
            return f"map<{type_text(kind.keyType)}, {type_text(kind.valueType)}>"
    return kind.simpleString()


def _field(name: str) -> str:
    return name if _NAME.fullmatch(name) else quoted(name)


# --- what Spark shows


def _facts(information: str) -> dict[str, str]:
    """Read lines of `key: value`; the last line of a key counts, as a comment of several lines stands before them."""
    lines = information.split("\nSchema: ")[0].splitlines()
    return {key: value for key, found, value in (line.partition(": ") for line in lines) if found}


def _read_properties(shown: str) -> Iterator[tuple[str, str]]:
    text = shown.removeprefix("[").removesuffix("]")
    starts = list(_PAIR.finditer(text))
    ends = [*(found.start() for found in starts), len(text)]
    for found, end in zip(starts, ends[1:], strict=True):
        key, value = found[1], text[found.end() : end]
        if key in _OWN or key.startswith("transient_"):
            continue
        if key.startswith(_HEXED):
            yield bytes.fromhex(key.removeprefix(_HEXED)).decode(), bytes.fromhex(value).decode()
        else:
            yield key, value


def _said(entry: Entry) -> dict[str, str]:
    marks = {MANAGED: entry.is_managed, _READ_OPTIMIZED: entry.is_read_optimized}
    return {**entry.properties, **{key: "true" for key, is_set in marks.items() if is_set}}


def _written(properties: Mapping[str, str]) -> str:
    """Return a list of properties from which `_read_properties` gets the same ones back."""
    return ", ".join(f"{string(key)} = {string(value)}" for key, value in _kept_pairs(properties))


def _kept_pairs(properties: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in properties.items():
        yield _hexed(key, value) if _is_cut(key, value) else (key, value)


def _is_cut(key: str, value: str) -> bool:
    is_one_line = value.isprintable() and ", " not in value and not re.search(r"[\s=,]", key)
    return not is_one_line or _TELLS.search(key) is not None or _TELLS.search(value) is not None


def _hexed(key: str, value: str) -> tuple[str, str]:
    return _HEXED + key.encode().hex(), value.encode().hex()

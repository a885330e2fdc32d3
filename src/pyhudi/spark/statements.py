"""Which SQL statements ask for something of Hudi that is not built, and what to do instead.

Text only decides what a statement is; whether it is about a Hudi table, the session is asked. Start at `refusal_before`
and `refusal_after`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pyhudi.errors import NotBuilt

__all__ = ["refusal_after", "refusal_before"]

_NOISE: Final = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_NAME: Final = r"(?P<table>(?:`[^`]+`|[\w$]+)(?:\s*\.\s*(?:`[^`]+`|[\w$]+))*)"
_FLAGS: Final = re.IGNORECASE | re.DOTALL


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    pattern: re.Pattern[str]
    what: str
    instead: str


def _kind(pattern: str, what: str, instead: str) -> _Kind:
    return _Kind(pattern=re.compile(pattern, _FLAGS), what=what, instead=instead)


_MERGE: Final = "use pyhudi.open_table(path).merge(source, on=...)"
_CREATE: Final = _kind(
    r"^(?:create|replace)\s+(?:or\s+replace\s+)?(?:external\s+)?table\b.*\busing\s+(?:org\.apache\.)?hudi\b",
    "CREATE TABLE ... USING hudi",
    "create it by df.write.format('hudi') or pyhudi.create_table, and query a temporary view",
)
_KINDS: Final = (
    _kind(rf"^merge\s+(?:with\s+schema\s+evolution\s+)?into\s+{_NAME}", "MERGE INTO", _MERGE),
    _kind(rf"^update\s+{_NAME}", "UPDATE", "use pyhudi.open_table(path).update"),
    _kind(rf"^delete\s+from\s+{_NAME}", "DELETE FROM", "use pyhudi.open_table(path).delete(where=...)"),
    _kind(
        rf"^insert\s+(?:into|overwrite)\s+(?:table\s+)?{_NAME}",
        "INSERT",
        "use df.write.format('hudi') with its operation",
    ),
    _kind(rf"^create\s+index\s+.*?\bon\s+(?:table\s+)?{_NAME}", "CREATE INDEX", "leave it out"),
    _kind(rf"^drop\s+index\s+.*?\bon\s+(?:table\s+)?{_NAME}", "DROP INDEX", "leave it out"),
    _kind(rf"^show\s+indexes\s+(?:from|in)\s+{_NAME}", "SHOW INDEXES", "leave it out"),
    _kind(rf"^alter\s+table\s+{_NAME}", "ALTER TABLE", "write rows of the new schema"),
    _kind(rf"^truncate\s+table\s+{_NAME}", "TRUNCATE TABLE", "use pyhudi.open_table(path).delete(where='true')"),
    _kind(rf"^show\s+partitions\s+{_NAME}", "SHOW PARTITIONS", "use pyhudi.open_table(path).inspect.partitions()"),
    _kind(
        rf"\b(?:from|join)\s+{_NAME}\s+(?:for\s+)?(?:timestamp|version|system_time|system_version)\s+as\s+of\b",
        "TIMESTAMP AS OF",
        "use spark.read.format('hudi').option('as.of.instant', ...)",
    ),
    _kind(
        r"\b(?:from|join)\s+(?P<table>hudi\s*\.\s*`[^`]+`)",
        "FROM hudi.`path`",
        "use spark.read.format('hudi').load(path).createOrReplaceTempView(name), and query the view",
    ),
)
_FUNCTIONS: Final = _kind(
    r"\bhudi_(?:table_changes|query_timeline|metadata|filesystem_view)\s*\(",
    "Hudi's table functions",
    "read with query type incremental, or ask pyhudi.open_table(path).inspect",
)
_PROCEDURES: Final = _kind(
    r"^call\s+(?:system\s*\.\s*)?(?:show_|run_|rollback_|create_savepoint|delete_savepoint|create_metadata_table"
    r"|delete_metadata_table|init_metadata_table|stats_|repair_|hdfs_parquet_import|hive_sync|validate_|export_instants"
    r"|copy_to_|upgrade_table|downgrade_table|metadata_delete_column|commits_compare|delete_marker|archive_commits"
    r"|trigger_|ttl_|drop_partition|truncate_table|delete_fsview)\w*",
    "CALL of Hudi's procedures",
    "ask pyhudi.open_table(path), or the command line",
)


def refusal_before(query: str) -> NotBuilt | None:
    """Return the error of a statement that Spark would half do: a catalog table of format hudi."""
    return _refused(_CREATE, query) if _CREATE.pattern.search(_bare(query)) else None


def refusal_after(query: str, is_hudi: Callable[[str], bool]) -> NotBuilt | None:
    """Return the error of a statement that Spark refused, if it is about a table for which `is_hudi` is true."""
    bare = _bare(query)
    for kind in (_PROCEDURES, _FUNCTIONS):
        if kind.pattern.search(bare):
            return _refused(kind, query)
    for kind in _KINDS:
        found = kind.pattern.search(bare)
        if found is not None:
            return _refused(kind, query) if is_hudi(found["table"]) else None
    return None


def _bare(query: str) -> str:
    """Leave out comments and what strings hold."""
    return _NOISE.sub(lambda match: "''" if match[0][0] in "'\"" else " ", query).strip()


def _refused(kind: _Kind, query: str) -> NotBuilt:
    shown = " ".join(query.split())[:80]
    return NotBuilt(f"pyhudi does not have {kind.what} yet; {kind.instead}", statement=shown)

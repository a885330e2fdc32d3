"""How the log files of a table are written: their options, and what all tasks of a write share of them.

Start at `log_spec`.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from pyhudi.filegroup.rows import RowLayout
from pyhudi.formats.log import BlockKind
from pyhudi.kernels.rules import MergeSpec
from pyhudi.options import Settings, between, one_of, option
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.schema.types import arrow_to_avro, record_name
from pyhudi.state.layout import Layout

__all__ = ["LogSpec", "has_positions", "log_spec"]

BLOCK_FORMAT: Final = option(
    "hoodie.logfile.data.block.format",
    "",
    "How rows lie in the blocks of log files: parquet or avro. Empty: parquet, but avro where an ordering field is"
    " text, which Apache Hudi compares wrongly in blocks of parquet. Blocks of every kind are read.",
    parse=one_of("parquet", "avro", ""),
)
BLOCK_BYTES: Final = option(
    "hoodie.logfile.data.block.max.size",
    256 << 20,
    "Units: bytes. Rows in memory that make a block of a log file.",
    parse=between(1, 1 << 30),
)
FILE_BYTES: Final = option(
    "hoodie.logfile.max.size",
    1 << 30,
    "Units: bytes. A log file that is as large gets no more blocks; the next ones go to another.",
    parse=between(1, 2**63 - 1),
)
POSITIONS: Final = option(
    "hoodie.write.record.positions",
    True,
    "Write into log blocks which rows of the base file they replace, where that is known; table versions 8 and 9.",
)


_log = logging.getLogger("pyhudi.filegroup")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSpec:
    """What all log files of one write share. Units: bytes."""

    is_by_slice: bool
    """Timeline layout 1: a log has the base instant of its slice in its name, else that of its delta commit."""
    schema: str
    """The columns of a row in Avro, meta columns included."""
    kind: BlockKind
    block_bytes: int
    file_bytes: int
    has_positions: bool


def log_spec(
    settings: Settings, layout: Layout, rows: RowLayout, table_name: str, merge: MergeSpec | None = None
) -> LogSpec:
    """Read from a call's settings how logs are written; `merge` is how a merge-on-read table merges them.

    Raises: OptionError.
    """
    is_by_slice = not layout.logs_name_their_instant
    return LogSpec(
        is_by_slice=is_by_slice,
        schema=_schema(rows, table_name),
        kind=_block_kind(settings.get(BLOCK_FORMAT), _ordering_texts(rows, merge)),
        block_bytes=settings.get(BLOCK_BYTES),
        file_bytes=settings.get(FILE_BYTES),
        has_positions=has_positions(settings, layout),
    )


def has_positions(settings: Settings, layout: Layout) -> bool:
    """Return whether log blocks say which rows of the base file they replace: at version 6 none does."""
    return settings.get(POSITIONS) and layout.has_log_positions


def _ordering_texts(rows: RowLayout, merge: MergeSpec | None) -> list[str]:
    """Return the ordering columns of text that decide between changes of a log."""
    if merge is None or not merge.orders_log:
        return []
    return [one.name for one in rows.schema if one.name in merge.ordering and pa.types.is_string(one.type)]


def _block_kind(asked: str, ordering_texts: Sequence[str]) -> BlockKind:
    if asked == "parquet" and ordering_texts:
        _log.warning(
            "log blocks of parquet are asked for, and the ordering field %s is text: Apache Hudi 1.2 compares it"
            " wrongly there, and its compactions keep the wrong rows; leave %s out",
            ", ".join(ordering_texts),
            BLOCK_FORMAT.key,
        )
    return BlockKind.AVRO if asked == "avro" or (not asked and ordering_texts) else BlockKind.PARQUET


def _schema(rows: RowLayout, table_name: str) -> str:
    """Format the columns as blocks carry them: null first, meta columns with an empty doc.   Spec: format/files 1.5."""
    record: dict[str, Any] = arrow_to_avro(rows.file_schema, *record_name(table_name), null_first=True)
    record["fields"] = [_documented(one) if one["name"] in META_FIELDS else one for one in record["fields"]]
    return json.dumps(record, separators=(",", ":"))


def _documented(field: dict[str, Any]) -> dict[str, Any]:
    return {"name": field["name"], "type": field["type"], "doc": "", "default": None}

"""Payload classes that read the change log of a database: which columns they look at, and what these say of a row.

Start at `CHANGE_LOGS`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.lives.rows import UNAVAILABLE, Row

DMS: Final = "AWSDmsAvroPayload"
POSTGRES: Final = "debezium.PostgresDebeziumAvroPayload"
MYSQL: Final = "debezium.MySqlDebeziumAvroPayload"
PLACE: Final = "_event_seq"
"""Where in MySQL's binary log a row comes from: `file.position`, which compare as two numbers."""
_OPERATION: Final = "_change_operation_type"
_OPERATIONS: Final = ("c", "u", "u", "r", None, "u", "d", "D")
_PLACES: Final = ("1.9", "1.10", "2.9", "2.10", "10.9", "10.10")
"""As texts they have another order."""
_PLAIN_PLACES: Final = ("01.09", "01.10", "02.09", "02.10", "10.09", "10.10")
"""As texts they have the same."""


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """What one payload class looks at."""

    mark: str
    """The column whose value says that a row is a delete."""
    marker: str
    operations: tuple[str | None, ...]

    def erases(self, row: Row, version: int) -> bool:
        """Return whether a row is a delete: before version 9 in whatever case it says so."""
        said = row[self.mark]
        return said == self.marker if version >= 9 else said is not None and said.lower() == self.marker.lower()


CHANGE_LOGS: Final[Mapping[str, ChangeLog]] = {
    DMS: ChangeLog("Op", "D", ("I", "U", "U", "U", None, "I", "D", "d")),
    POSTGRES: ChangeLog(_OPERATION, "d", _OPERATIONS),
    MYSQL: ChangeLog(_OPERATION, "d", _OPERATIONS),
}


def ordering_of(payload: str, version: int) -> tuple[str, ...]:
    """Return the columns by which a class orders rows, whatever the table is told; none: as it is told."""
    by_places = (PLACE,) if version < 9 else ("_event_bin_file", "_event_pos")
    return {POSTGRES: ("_event_lsn",), MYSQL: by_places}.get(payload, ())


def values_of(payload: str, version: int, *, is_logged: bool) -> dict[str, tuple[Any, ...]]:
    """Return the columns that rows of a table have for a class, and what may be in them.

    At version 6 places meet as texts in a log and as numbers elsewhere, so those are drawn that have one order.
    """
    places = _PLAIN_PLACES if version == 6 and is_logged else _PLACES
    known = {
        "_event_lsn": tuple(range(30)),
        PLACE: places,
        "_event_bin_file": ("bin.000001", "bin.000002", "bin.000010"),
        "_event_pos": (1, 9, 10, 100),
    }
    log = CHANGE_LOGS[payload]
    return {log.mark: log.operations, **{name: known[name] for name in ordering_of(payload, version)}}


def texts_of(payload: str, version: int, *, is_logged: bool) -> tuple[str | None, ...]:
    """Return what texts may be, where a class takes some from the older row; empty: as in other tables.

    At version 6 the rows of a log are not filled from each other, so that it tells which met first.
    """
    fills = payload == POSTGRES and not (version == 6 and is_logged)
    return (None, "", "u", "w", UNAVAILABLE) if fills else ()


def place_of(text: str) -> tuple[int, ...]:
    """Return a place in the binary log as it compares with what is stored."""
    return tuple(int(part) for part in text.split("."))

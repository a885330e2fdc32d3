"""What readers and writers of Spark are told, noted beside them. Start at `notes_of`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from pyhudi.errors import InvalidInput
from pyhudi.spark.names import FORMATS
from pyhudi.spark.releases import frame_of_plan, is_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "NOTED",
    "Hook",
    "Method",
    "Notes",
    "frame_written",
    "note_format",
    "note_mode",
    "note_option",
    "note_options",
    "note_partition_by",
    "notes_of",
    "noting",
]

Method = Callable[..., Any]
Hook = tuple[type, str, Callable[[Method], Method]]
"""A class, the name of its method, and what makes the new method of the old one."""

_NOTES: Final = "_pyhudi_notes"


@dataclass(slots=True)
class Notes:
    """What a reader or writer was told so far."""

    format: str = ""
    options: dict[str, object] = field(default_factory=dict)
    mode: str | None = None
    partition_by: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict)
    """Table properties that a writer of version two was told."""
    table: str = ""
    """The table that a writer of version two was made for."""
    refused: list[str] = field(default_factory=list)
    """Methods that say something for which a Hudi table has no place."""

    @property
    def is_hudi(self) -> bool:
        """Return whether this is ours."""
        return self.format.lower() in FORMATS

    def require_nothing_refused(self) -> None:
        """Check that nothing was said for which a Hudi table has no place.   Raises: InvalidInput."""
        if "schema" in self.refused:
            raise InvalidInput("a table has its own schema; leave schema out, select columns after load")
        if self.refused:
            raise InvalidInput("a Hudi table is laid out by its options; leave this out", method=self.refused[0])


def notes_of(told: object) -> Notes:
    """Return the notes of a reader or writer."""
    noted: Notes = told.__dict__.setdefault(_NOTES, Notes())
    return noted


def noting(note: Callable[..., None]) -> Callable[[Method], Method]:
    """Make a method that notes what it is told, and passes it on."""

    def wrap(original: Method) -> Method:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - Spark's own signature
            note(notes_of(self), *args, **kwargs)
            return original(self, *args, **kwargs)

        return method

    return wrap


def note_option(notes: Notes, key: str, value: object) -> None:
    """Note one option; None says nothing."""
    if value is not None:
        notes.options[key] = value


def note_options(notes: Notes, **options: object) -> None:
    """Note several options."""
    for key, value in options.items():
        note_option(notes, key, value)


def note_format(notes: Notes, source: str) -> None:
    """Note the format."""
    notes.format = source


def note_mode(notes: Notes, saveMode: str | None) -> None:
    """Note the save mode; None says nothing."""
    notes.mode = notes.mode if saveMode is None else saveMode


def note_partition_by(notes: Notes, *cols: Any) -> None:  # noqa: ANN401 - names, or one list of them
    """Note the partition columns."""
    notes.partition_by = tuple(cols[0]) if len(cols) == 1 and isinstance(cols[0], list | tuple) else cols


def _refused(name: str) -> Callable[..., None]:
    def note(notes: Notes, *args: object, **kwargs: object) -> None:
        notes.refused.append(name)

    return note


def frame_written(writer: Any) -> "DataFrame":  # noqa: ANN401 - a writer of either kind
    """Return the frame a writer writes; a Connect writer holds only its plan."""
    return writer._df if is_frame(writer._df) else frame_of_plan(writer._spark, writer._df)


NOTED: Final[dict[str, Callable[..., None]]] = {
    "format": note_format,
    "option": note_option,
    "options": note_options,
    "mode": note_mode,
    "partitionBy": note_partition_by,
    "bucketBy": _refused("bucketBy"),
    "sortBy": _refused("sortBy"),
    "clusterBy": _refused("clusterBy"),
    "schema": _refused("schema"),
}
"""What notes the arguments of a method, by its name."""

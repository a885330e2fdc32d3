"""Columns that Hudi tells apart by ids: what schema-on-read keeps beside each commit's schema.

Pure. Columns are matched by name here, which is right as long as each name always had the same id and each id the same
name. Start at `moved_columns`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pyhudi.errors import CorruptData
from pyhudi.schema.json_text import parse_json

__all__ = ["moved_columns"]


def moved_columns(history: bytes, latest: str) -> list[str]:
    """Name the columns that were renamed, or that took a dropped one's name, up to the latest schema.

    `history` is the newest `.hoodie/.schema/*.schemacommit`, which has every schema so far; `latest` the commit's
    `latest_schema`.

    Shape:  paths with dots, sorted; none where names tell columns apart.
    Raises: CorruptData.
    Spec:   format/files 4.5.
    """
    try:
        newest = parse_json(latest)
        kept = [one for one in parse_json(history)["schemas"] if one["version_id"] <= newest["version_id"]]
        pairs = {pair for one in (*kept, newest) for pair in _columns(one, "")}
    except (CorruptData, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptData("the history of this table's schemas cannot be read", directory=".hoodie/.schema") from error
    return sorted({name for name, number in pairs if any(_is_moved((name, number), other) for other in pairs)})


def _is_moved(one: tuple[str, int], other: tuple[str, int]) -> bool:
    return one != other and (one[0] == other[0] or one[1] == other[1])


def _columns(kind: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, int]]:
    """Yield the columns of a struct, and those in its columns, with their ids."""
    for field in kind.get("fields", ()):
        name = f"{prefix}{field['name']}"
        yield name, field["id"]
        yield from _inside(field["type"], name)


def _inside(kind: object, name: str) -> Iterator[tuple[str, int]]:
    if isinstance(kind, Mapping):
        yield from _columns(kind, f"{name}.")
        for part in ("element", "value"):
            yield from _inside(kind.get(part), f"{name}.{part}")

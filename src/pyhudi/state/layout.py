"""What a table version means on disk, as one value chosen when a table is opened."""

from dataclasses import dataclass
from typing import Final

from pyhudi.errors import Unsupported

__all__ = ["LAYOUTS", "Layout", "layout_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How one table version spells its timeline and its properties.   Spec: format/timeline 0.1, 2.1."""

    table_version: int
    timeline_layout: int
    """1: instants in `.hoodie`, JSON, no completion time in names. 2: `.hoodie/timeline`, Avro, `T_C.action`."""
    timeline_path: str
    history_path: str
    has_completion_times: bool
    has_ordering_fields_key: bool
    """`hoodie.table.ordering.fields` instead of `hoodie.table.precombine.field`."""
    is_writable: bool


def _layout_1(version: int, *, is_writable: bool) -> Layout:
    return Layout(
        table_version=version,
        timeline_layout=1,
        timeline_path=".hoodie",
        history_path=".hoodie/archived",
        has_completion_times=False,
        has_ordering_fields_key=False,
        is_writable=is_writable,
    )


def _layout_2(version: int, *, has_ordering_fields_key: bool) -> Layout:
    return Layout(
        table_version=version,
        timeline_layout=2,
        timeline_path=".hoodie/timeline",
        history_path=".hoodie/timeline/history",
        has_completion_times=True,
        has_ordering_fields_key=has_ordering_fields_key,
        is_writable=True,
    )


LAYOUTS: Final = {
    **{version: _layout_1(version, is_writable=False) for version in (1, 2, 3, 4, 5, 7)},
    6: _layout_1(6, is_writable=True),
    8: _layout_2(8, has_ordering_fields_key=False),
    9: _layout_2(9, has_ordering_fields_key=True),
}


def layout_of(table_version: int) -> Layout:
    """Choose the layout of a table version.

    Raises: Unsupported for a version newer (or older) than pyhudi knows.
    """
    if table_version not in LAYOUTS:
        raise Unsupported("table version is not known to this pyhudi", version=table_version, newest=max(LAYOUTS))
    return LAYOUTS[table_version]

"""What a table version means on disk, as one value chosen when a table is opened."""

from dataclasses import dataclass
from typing import Final

from pyhudi.errors import Unsupported

__all__ = ["LAYOUTS", "Layout", "layout_of"]

_WITHOUT_DEFAULT: Final = 5
_LAST_OF_ALL_COLUMNS: Final = 6
_WITH_DEFINITIONS: Final = 8
_WITH_VERSIONS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How one table version spells its timeline and its properties, as questions that other rooms ask.

    No other room compares versions but those that write bytes by them: codecs and schemas.   Spec: format/timeline 0.1,
    2.1.
    """

    table_version: int
    timeline_layout: int
    """1: instants in `.hoodie`, JSON, no completion time in names. 2: `.hoodie/timeline`, Avro, `T_C.action`."""
    timeline_path: str
    history_path: str
    is_writable: bool

    @property
    def has_completion_times(self) -> bool:
        """Return whether completed instants carry the time at which they were: readers order commits by it."""
        return self.timeline_layout > 1

    @property
    def logs_name_their_instant(self) -> bool:
        """Return whether a log is one commit's and named after it; else after its slice, and many append to it."""
        return self.timeline_layout > 1

    @property
    def rollbacks_write_commands(self) -> bool:
        """Return whether blocks in logs are taken back by a command block behind them; else their file is deleted."""
        return self.timeline_layout == 1

    @property
    def archives_to_logs(self) -> bool:
        """Return whether archived instants go to files of log blocks; else to the layers of the history."""
        return self.timeline_layout == 1

    @property
    def has_clustering_action(self) -> bool:
        """Return whether a pending clustering is an action of its own; else a replacecommit, which others are too."""
        return self.timeline_layout > 1

    @property
    def cleans_repeat_their_plan(self) -> bool:
        """Return whether the inflight file of a clean holds its plan once more."""
        return self.timeline_layout == 1

    @property
    def has_log_positions(self) -> bool:
        """Return whether log blocks can say which rows of the base file they replace."""
        return self.timeline_layout > 1

    @property
    def measures_all_columns(self) -> bool:
        """Return whether all columns get statistics where none are named, Hudi's own five too; else the first ones."""
        return self.table_version <= _LAST_OF_ALL_COLUMNS

    @property
    def has_partition_stats(self) -> bool:
        """Return whether the metadata table can have statistics of partitions."""
        return self.table_version >= _WITH_DEFINITIONS

    @property
    def has_one_null_partition(self) -> bool:
        """Return whether nulls of a partition field have one directory; else some may be in `default`."""
        return self.table_version >= _WITHOUT_DEFAULT

    @property
    def always_prefixes_keys(self) -> bool:
        """Return whether a key of one field by the complex key generator is stored in one way, `field:value`."""
        return self.table_version >= _WITH_VERSIONS

    @property
    def has_index_definitions(self) -> bool:
        """Return whether a file defines the indexes of the metadata table."""
        return self.table_version >= _WITH_DEFINITIONS

    @property
    def has_index_versions(self) -> bool:
        """Return whether index definitions say how records are laid out, and values of statistics their types."""
        return self.table_version >= _WITH_VERSIONS

    @property
    def has_ordering_fields_key(self) -> bool:
        """Return whether `hoodie.table.ordering.fields` is in place of `hoodie.table.precombine.field`."""
        return self.table_version >= _WITH_VERSIONS


def _layout_1(version: int, *, is_writable: bool) -> Layout:
    return Layout(
        table_version=version,
        timeline_layout=1,
        timeline_path=".hoodie",
        history_path=".hoodie/archived",
        is_writable=is_writable,
    )


def _layout_2(version: int) -> Layout:
    return Layout(
        table_version=version,
        timeline_layout=2,
        timeline_path=".hoodie/timeline",
        history_path=".hoodie/timeline/history",
        is_writable=True,
    )


LAYOUTS: Final = {
    **{version: _layout_1(version, is_writable=False) for version in (1, 2, 3, 4, 5, 7)},
    6: _layout_1(6, is_writable=True),
    8: _layout_2(8),
    9: _layout_2(9),
}


def layout_of(table_version: int) -> Layout:
    """Choose the layout of a table version.

    Raises: Unsupported for a version newer (or older) than pyhudi knows.
    """
    if table_version not in LAYOUTS:
        raise Unsupported("table version is not known to this pyhudi", version=table_version, newest=max(LAYOUTS))
    return LAYOUTS[table_version]

"""What pyhudi cannot write yet, found in a table's properties and timeline, and refused by name.

One list of (what to look for, what to call it, the way out): a feature that gets built takes its line away. Nothing is
ever half-written. Start at `require_writable`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pyhudi.errors import NotBuilt, Unsupported
from pyhudi.state.config import MergeMode, TableConfig, TableType
from pyhudi.state.layout import Layout

__all__ = ["InstantShown", "Refusal", "TimelineShown", "find_refusals", "require_writable"]


class InstantShown(Protocol):
    """As much of an instant as is looked at here; `timeline.instant.Instant` has it."""

    @property
    def requested_time(self) -> str:
        """Return when it was requested."""
        ...

    @property
    def action(self) -> str:
        """Return what it does."""
        ...

    @property
    def is_completed(self) -> bool:
        """Return whether it is done."""
        ...


class TimelineShown(Protocol):
    """As much of a timeline as is looked at here; `timeline.view.Timeline` has it."""

    @property
    def instants(self) -> Sequence[InstantShown]:
        """Return one instant an action."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One thing a table has that we cannot write."""

    feature: str
    way_out: str
    found: str
    """The property or instant that shows it."""


@dataclass(frozen=True, slots=True)
class _Property:
    found: Callable[[TableConfig], str]
    """Returns the text that shows the feature, or nothing."""
    feature: str
    way_out: str


_WITH_HUDI: Final = "write this table with Apache Hudi"
_SAFE_PAYLOADS: Final = frozenset(
    {"OverwriteWithLatestAvroPayload", "DefaultHoodieRecordPayload", "EventTimeAvroPayload", ""}
)


def _set(key: str, *harmless: str) -> Callable[[TableConfig], str]:
    """Look for a property that is set to something else than its harmless values."""

    def found(config: TableConfig) -> str:
        text = config.properties.get(key, "")
        return "" if text.lower() in {"", *harmless} else f"{key}={text}"

    return found


def _starting(prefix: str) -> Callable[[TableConfig], str]:
    return lambda config: next((key for key in config.properties if key.startswith(prefix)), "")


def _payload(config: TableConfig) -> str:
    return "" if config.payload_class.rsplit(".", 1)[-1] in _SAFE_PAYLOADS else config.payload_class


_PROPERTIES: Final = (
    _Property(
        lambda config: ",".join(config.metadata_partitions),
        "the metadata table",
        "pass hoodie.metadata.enable=false to this call, which drops the metadata table first",
    ),
    _Property(
        _set("hoodie.table.metadata.partitions.inflight"),
        "a metadata table that is being built",
        "pass hoodie.metadata.enable=false to this call, which drops the metadata table first",
    ),
    _Property(
        lambda config: config.table_type if config.table_type is TableType.MERGE_ON_READ else "",
        "merge-on-read tables",
        _WITH_HUDI,
    ),
    _Property(_set("hoodie.table.cdc.enabled", "false"), "change data capture", _WITH_HUDI),
    _Property(_set("hoodie.bootstrap.base.path"), "bootstrapped tables", _WITH_HUDI),
    _Property(
        lambda config: "" if config.base_file_format == "PARQUET" else config.base_file_format,
        "base files in another format than parquet",
        _WITH_HUDI,
    ),
    _Property(_set("hoodie.table.multiple.base.file.formats.enable", "false"), "several base file formats", _WITH_HUDI),
    _Property(
        lambda config: config.payload_class or config.merge_mode if config.merge_mode is MergeMode.CUSTOM else "",
        "custom merge modes and payload classes",
        _WITH_HUDI,
    ),
    _Property(_payload, "the merge rules of this payload class", _WITH_HUDI),
    _Property(_starting("hoodie.record.merge.property."), "merge properties", _WITH_HUDI),
    _Property(
        lambda config: "" if config.partial_update_mode == "NONE" else config.partial_update_mode,
        "partial updates",
        _WITH_HUDI,
    ),
    _Property(
        _set("hoodie.partition.metafile.use.base.format", "false"), "partition metadata as base files", _WITH_HUDI
    ),
    _Property(_set("hoodie.table.format", "native"), "foreign table formats", _WITH_HUDI),
    _Property(_set("hoodie.table.storage.layout", "default"), "other storage layouts", _WITH_HUDI),
)
_PENDING: Final = {
    "compaction": "pending compactions",
    "logcompaction": "pending log compactions",
    "clustering": "pending clusterings",
    "indexing": "indexes that are being built",
    "clean": "pending cleans",
    "restore": "pending restores",
    "savepoint": "pending savepoints",
}
_FINISH: Final = "let Apache Hudi finish it, or roll it back"


def require_writable(config: TableConfig, layout: Layout, timeline: TimelineShown | None = None) -> None:
    """Refuse a table that uses what is not built, before anything is written.

    Without a timeline only the properties are looked at.

    Raises: Unsupported for a table version that is only read; NotBuilt naming the first feature, what shows it and the
            way out, with the names of all others.
    """
    if not layout.is_writable:
        raise Unsupported(
            "tables of this version are only read; upgrade it with Apache Hudi", table_version=layout.table_version
        )
    refusals = find_refusals(config, timeline.instants if timeline is not None else ())
    if not refusals:
        return
    first, *others = refusals
    more = {"also": [one.feature for one in others]} if others else {}
    raise NotBuilt(f"pyhudi does not write {first.feature} yet; {first.way_out}", found=first.found, **more)


def find_refusals(config: TableConfig, instants: Iterable[InstantShown] = ()) -> list[Refusal]:
    """List everything in a table that keeps it from being written."""
    shown = [(rule, rule.found(config)) for rule in _PROPERTIES]
    refusals = [Refusal(feature=rule.feature, way_out=rule.way_out, found=str(text)) for rule, text in shown if text]
    for instant in instants:
        if not instant.is_completed and str(instant.action) in _PENDING:
            found = f"{instant.requested_time}.{instant.action}"
            refusals.append(Refusal(feature=_PENDING[str(instant.action)], way_out=_FINISH, found=found))
    return refusals

"""What pyhudi cannot write yet, found in a table's properties, and refused by name.

One list of (what to look for, what to call it, the way out): a feature that gets built takes its line away. Nothing is
ever half-written. Start at `require_writable`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from pyhudi.errors import NotBuilt, Unsupported
from pyhudi.state.config import TableConfig
from pyhudi.state.layout import Layout
from pyhudi.state.merging import unknown_rules

__all__ = ["Refusal", "find_refusals", "require_writable"]


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


def _set(key: str, *harmless: str) -> Callable[[TableConfig], str]:
    """Look for a property that is set to something else than its harmless values."""

    def found(config: TableConfig) -> str:
        text = config.properties.get(key, "")
        return "" if text.lower() in {"", *harmless} else f"{key}={text}"

    return found


_PROPERTIES: Final = (
    _Property(_set("hoodie.table.cdc.enabled", "false"), "change data capture", _WITH_HUDI),
    _Property(_set("hoodie.bootstrap.base.path"), "bootstrapped tables", _WITH_HUDI),
    _Property(
        lambda config: "" if config.base_file_format == "PARQUET" else config.base_file_format,
        "base files in another format than parquet",
        _WITH_HUDI,
    ),
    _Property(_set("hoodie.table.multiple.base.file.formats.enable", "false"), "several base file formats", _WITH_HUDI),
    _Property(
        unknown_rules,
        "the merge rules of this payload class or mode",
        "where they are your own, make them known by pyhudi.register_merger; else write this table with Apache Hudi",
    ),
    _Property(
        _set("hoodie.partition.metafile.use.base.format", "false"), "partition metadata as base files", _WITH_HUDI
    ),
    _Property(_set("hoodie.table.format", "native"), "foreign table formats", _WITH_HUDI),
    _Property(_set("hoodie.table.storage.layout", "default"), "other storage layouts", _WITH_HUDI),
)


def require_writable(config: TableConfig, layout: Layout, others: Iterable[Refusal] = ()) -> None:
    """Check that a table uses nothing that is not built, before anything is written.

    `others` were found elsewhere, as `metadata.table.upkeep.building_refusals` finds them.

    Raises: Unsupported for a table version that is only read; NotBuilt naming the first feature, what shows it and the
            way out, with the names of all others.
    """
    if not layout.is_writable:
        raise Unsupported(
            "tables of this version are only read; upgrade it with Apache Hudi", table_version=layout.table_version
        )
    refusals = [*find_refusals(config), *others]
    if not refusals:
        return
    first, *rest = refusals
    more = {"also": [one.feature for one in rest]} if rest else {}
    raise NotBuilt(f"pyhudi does not write {first.feature} yet; {first.way_out}", found=first.found, **more)


def find_refusals(config: TableConfig) -> list[Refusal]:
    """Return everything in a table's properties that keeps it from being written."""
    shown = [(rule, rule.found(config)) for rule in _PROPERTIES]
    return [Refusal(feature=rule.feature, way_out=rule.way_out, found=str(text)) for rule, text in shown if text]

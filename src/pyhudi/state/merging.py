"""How a table merges rows of one key, as the kernels need it. Start at `merge_spec`.

Spec: format/files 6.1, 6.4.
"""

from typing import Final

from pyhudi.errors import NotBuilt
from pyhudi.kernels.merge import MergeSpec
from pyhudi.options import Option, Settings, option
from pyhudi.state.config import MergeMode, TableConfig

__all__ = ["DELETE_FIELD", "DELETE_MARKER", "merge_spec", "require_merge_rules"]

DELETE_FIELD: Final = option("hoodie.payload.delete.field", "", "Column that marks a row as a delete.")
DELETE_MARKER: Final = option("hoodie.payload.delete.marker", "", "Value of that column in rows which are deletes.")
_KEPT: Final = "hoodie.record.merge.property."
"""Before the keys of merge properties that a table keeps."""


def merge_spec(config: TableConfig, settings: Settings | None = None) -> MergeSpec:
    """Return the merge rules of a table; settings go before what it keeps.   Cost: reads nothing."""
    given = settings or Settings()
    return MergeSpec(
        ordering=config.ordering_fields,
        is_event_time=config.merge_mode is MergeMode.EVENT_TIME_ORDERING,
        delete_field=given.get(DELETE_FIELD) or _kept(config, DELETE_FIELD),
        delete_marker=given.get(DELETE_MARKER) or _kept(config, DELETE_MARKER),
    )


def require_merge_rules(config: TableConfig) -> None:
    """Check that rows of this table can be merged.

    Raises: NotBuilt naming the payload class or mode.
    """
    if config.merge_mode is MergeMode.CUSTOM:
        raise NotBuilt(
            "pyhudi does not have this table's merge rules yet; read it in mode read_optimized",
            found=config.payload_class or str(config.merge_mode),
        )
    if config.partial_update_mode != "NONE":
        raise NotBuilt(
            "pyhudi does not merge partial updates yet; read it in mode read_optimized",
            found=config.partial_update_mode,
        )


def _kept(config: TableConfig, wanted: Option[str]) -> str:
    return config.properties.get(_KEPT + wanted.key, "")

"""SIMPLE and GLOBAL_SIMPLE: stored keys are read and compared."""

from collections.abc import Sequence
from typing import Final

from pyhudi.index.api import Index, IndexKind, Place
from pyhudi.options import Settings, boolean, option

__all__ = ["GLOBAL_SIMPLE", "SIMPLE", "SIMPLE_KIND", "SIMPLE_MOVES"]

SIMPLE_MOVES: Final = option(
    "hoodie.simple.index.update.partition.path",
    True,
    "GLOBAL_SIMPLE: a record whose partition changed moves there; false: it is updated where it is.",
    parse=boolean,
)
SIMPLE: Final = Index(name="SIMPLE", place=Place.PARTITION)
GLOBAL_SIMPLE: Final = Index(name="GLOBAL_SIMPLE", place=Place.TABLE)


def _simple(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the index that reads the keys of a row's partition."""
    return SIMPLE


def _global_simple(settings: Settings, key_fields: Sequence[str]) -> Index:
    """Return the index that reads the keys of all partitions."""
    return GLOBAL_SIMPLE.moving(follows=settings.get(SIMPLE_MOVES))


SIMPLE_KIND: Final = IndexKind(types={SIMPLE.name: _simple, GLOBAL_SIMPLE.name: _global_simple})

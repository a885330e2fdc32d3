"""How much is tried: a slice in `make test`, what `make figures` counts in CI, and all in `make simulate`."""

import os
from typing import TypeVar

Amount = TypeVar("Amount")

IS_FULL = bool(os.environ.get("PYHUDI_SIMULATE_ALL"))
IS_COUNTED = IS_FULL or bool(os.environ.get("PYHUDI_FIGURES"))


def amount(tested: Amount, counted: Amount, full: Amount) -> Amount:
    """Return how much is tried here."""
    if IS_FULL:
        return full
    return counted if IS_COUNTED else tested

"""How much is tried: a slice in `make test`, more in `make test-all` and `make figures`, all in `make simulate`."""

import os
from typing import TypeVar

Amount = TypeVar("Amount")

IS_EVERYDAY = os.environ.get("PYHUDI_TESTS") == "everyday"
"""Whether this is `make test`; a test that is named on the command line is tried as in `make test-all`."""
IS_REST = os.environ.get("PYHUDI_TESTS") == "rest"
"""Whether this is what `make test` has left out, and tries less of: CI runs it behind `make test`."""
IS_FULL = bool(os.environ.get("PYHUDI_SIMULATE_ALL"))
IS_COUNTED = IS_FULL or bool(os.environ.get("PYHUDI_FIGURES"))


def amount(tested: Amount, counted: Amount, full: Amount, *, everyday: Amount | None = None) -> Amount:
    """Return how much is tried here; `everyday` is what `make test` tries, where that is less than `tested`."""
    if IS_FULL:
        return full
    if IS_COUNTED:
        return counted
    return everyday if IS_EVERYDAY and everyday is not None else tested

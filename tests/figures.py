"""What a run of tests has counted, for the figures of docs/reliability.md.

With PYHUDI_FIGURES naming a file, its JSON is added to at the end of the run. Start at `count`.
"""

import json
import os
from collections import Counter
from pathlib import Path

_counted: Counter[str] = Counter()
_largest: Counter[str] = Counter()


def count(name: str, number: int = 1) -> None:
    """Add to a figure."""
    _counted[name] += number


def largest(name: str, number: int) -> None:
    """Raise a figure to this number, if it is lower: sizes do not add up."""
    _largest[name] = max(_largest[name], number)


def save() -> None:
    """Add what was counted to the file, if one is named; what is saved is not counted again."""
    path = os.environ.get("PYHUDI_FIGURES")
    if path and (_counted or _largest):
        file = Path(path)
        before = Counter(json.loads(file.read_text()) if file.exists() else {})
        file.write_text(json.dumps(dict(sorted(((before + _counted) | _largest).items())), indent=1) + "\n")
        _counted.clear()
        _largest.clear()

"""What a run of tests has counted, for the figures of docs/reliability.md.

With PYHUDI_FIGURES naming a file, its JSON is added to at the end of the run. Start at `count`.
"""

import json
import os
from collections import Counter
from pathlib import Path

_counted: Counter[str] = Counter()


def count(name, number=1):
    """Add to a figure."""
    _counted[name] += number


def save():
    """Add what was counted to the file, if one is named; what is saved is not counted again."""
    path = os.environ.get("PYHUDI_FIGURES")
    if path and _counted:
        file = Path(path)
        before = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(dict(sorted((Counter(before) + _counted).items())), indent=1) + "\n")
        _counted.clear()

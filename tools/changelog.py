"""Put the fragments of `changelog.d` together as CHANGELOG.md: `make docs`.

A fragment is `<step>.<feature|fix|format|doc>.md` with one change a line. A step ends in a version: a line in VERSIONS,
and `version` in pyproject.toml. Start at `changelog`.
"""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = {"0.6.0": 11, "0.5.0": 10, "0.4.0": 9, "0.3.0": 8, "0.2.0": 7}
"""The last step of each version, newest first."""
HEADINGS = {"feature": "Added", "fix": "Fixed", "format": "On disk", "doc": "Documentation"}
_NAME = re.compile(r"(\d+)\.(feature|fix|format|doc)\.md")
_HEAD = """# Changelog

Made by `make docs` from the fragments in `changelog.d`; write there, not here. Versions and the steps in them
stand newest first.
"""


def changelog(folder: Path) -> str:
    """Return the changelog of a folder of fragments."""
    steps: dict[int, dict[str, list[str]]] = defaultdict(dict)
    for path in folder.iterdir():
        found = _NAME.fullmatch(path.name)
        if found is None:
            raise SystemExit(f"{path.name}: a fragment is called <step>.<{'|'.join(HEADINGS)}>.md")
        lines = [line.removeprefix("- ").strip() for line in path.read_text().splitlines()]
        steps[int(found[1])][found[2]] = [line for line in lines if line]
    parts = [_HEAD]
    begun = ""
    for step in sorted(steps, reverse=True):
        if (version := version_of(step)) != begun:
            parts.append(f"\n## {version}\n")
            begun = version
        parts.append(f"\n### Step {step}\n")
        for kind, heading in HEADINGS.items():
            if kind in steps[step]:
                parts.append(f"\n#### {heading}\n\n" + "".join(f"- {line}\n" for line in steps[step][kind]))
    return "".join(parts)


def version_of(step: int) -> str:
    """Return the version that a step is in: the earliest that ends with it or later."""
    return next((version for version, last in reversed(VERSIONS.items()) if step <= last), "Not in a version yet")


if __name__ == "__main__":
    (ROOT / "CHANGELOG.md").write_text(changelog(ROOT / "changelog.d"))

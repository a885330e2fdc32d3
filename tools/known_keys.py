"""Make `src/pyhudi/known_keys.json` and `docs/options.md` from what the code declares and `foreign_keys.toml`.

Run by `make keys`; a test calls `known_keys` and `options_page` and compares. Importing every module of pyhudi is what
fills `options.DECLARED`. A key both declared and foreign, or declared twice, stops it.
"""

import importlib
import json
import pkgutil
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
JSON_PATH = ROOT / "src" / "pyhudi" / "known_keys.json"
PAGE_PATH = ROOT / "docs" / "options.md"
FOREIGN_PATH = ROOT / "tools" / "foreign_keys.toml"

Entry = dict[str, Any]


def declared_keys() -> dict[str, Entry]:
    """Import all of pyhudi and give an entry for every declared key and for its old names."""
    options = importlib.import_module("pyhudi.options")
    for name in _module_names():
        importlib.import_module(name)
    entries: dict[str, Entry] = {}
    for key, declared in options.DECLARED.items():
        entry = {
            "module": _who_declares(key),
            "effect": "obeyed",
            "meaning": declared.meaning,
            "default": _default_text(declared.default),
        }
        if not declared.is_kept:
            entry["is_kept"] = False
        entries[key] = entry
        entries.update({old: entry | {"renamed_to": key} for old in declared.old_keys})
    return entries


def foreign_keys() -> dict[str, Entry]:
    """Read the hand-written table of keys that pyhudi does not read."""
    table = tomllib.loads(FOREIGN_PATH.read_text())
    entries: dict[str, Entry] = {}
    for keys in table["none"].values():
        entries.update({key: {"module": "", "effect": "none", "meaning": why} for key, why in keys.items()})
    for key, row in table["refused"].items():
        entries[key] = {"module": "", "effect": "refused", "meaning": row["asks"], "harmless": row["harmless"]}
    for old, new in table["renamed"].items():
        entries[old] = entries[new] | {"renamed_to": new}
    return entries


def known_keys() -> dict[str, Entry]:
    """Put both together, sorted by key."""
    declared, foreign = declared_keys(), foreign_keys()
    twice = sorted(set(declared) & set(foreign))
    if twice:
        raise SystemExit(f"declared in the code, so remove from {FOREIGN_PATH.name}: {', '.join(twice)}")
    return dict(sorted({**declared, **foreign}.items()))


def as_json(known: Mapping[str, Entry]) -> str:
    """Spell the committed file: one key a line, so that changes read well."""
    lines = [f"  {json.dumps(key)}: {json.dumps(entry, sort_keys=True)}" for key, entry in known.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def options_page(known: Mapping[str, Entry]) -> str:
    """Write the page of all options."""
    parts = [
        "# Options\n",
        "Made by `make keys`; do not edit.",
        "Precedence: call, then session (`spark.hoodie.*`), then table, then default.",
        "A table keeps options of its writes and services (`create_table(options=...)`, `table.set_options({...})`);",
        "those marked ° act on one call, on reads or on a machine, and are not kept.\n",
        "## Obeyed\n",
        "| key | default | meaning | declared in |",
        "|---|---|---|---|",
    ]
    for key, entry in _rows(known, "obeyed"):
        old = ", ".join(f"`{name}`" for name, other in known.items() if other.get("renamed_to") == key)
        meaning = entry["meaning"] + (f" (also {old})" if old else "")
        mark = "" if entry.get("is_kept", True) else " °"
        parts.append(f"| `{key}`{mark} | {_code(entry['default'])} | {_cell(meaning)} | `{entry['module']}` |")
    parts += ["\n## Refused\n", "These ask for what is not built; the values in the second column ask for nothing.\n"]
    parts += ["| key | accepted values | asks for |", "|---|---|---|"]
    for key, entry in _rows(known, "refused"):
        values = ", ".join(_code(value) for value in entry["harmless"] if value)
        parts.append(f"| `{key}` | {values} | {_cell(entry['meaning'])} |")
    parts += ["\n## Known, without effect\n", "Accepted, and said once in the log.\n", "| key | why |", "|---|---|"]
    parts += [f"| `{key}` | {_cell(entry['meaning'])} |" for key, entry in _rows(known, "none")]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Write both files."""
    known = known_keys()
    JSON_PATH.write_text(as_json(known))
    PAGE_PATH.parent.mkdir(exist_ok=True)
    PAGE_PATH.write_text(options_page(known))
    sys.stdout.write(f"{len(known)} keys\n")


def _module_names() -> list[str]:
    package = importlib.import_module("pyhudi")
    return [
        info.name for info in pkgutil.walk_packages(package.__path__, "pyhudi.") if not info.name.endswith("__main__")
    ]


def _who_declares(key: str) -> str:
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text()
        if f'"{key}"' in text and "option(" in text:
            return ".".join(path.relative_to(ROOT / "src" / "pyhudi").with_suffix("").parts)
    return ""


def _default_text(default: object) -> str:
    if default is None:
        return ""
    return str(default).lower() if isinstance(default, bool) else str(default)


def _rows(known: Mapping[str, Entry], effect: str) -> list[tuple[str, Entry]]:
    return [(key, entry) for key, entry in known.items() if entry["effect"] == effect and "renamed_to" not in entry]


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    main()

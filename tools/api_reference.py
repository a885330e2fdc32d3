"""Write a reference of every name that users call, from its docstring: `make docs`.

The page goes to `build/docs/api.md`; nothing of it is kept, so it is always that of the code. Start at `reference`.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "docs" / "api.md"
CLASSES = (
    "pyhudi.table:Table",
    "pyhudi.queries.scan:Scan",
    "pyhudi.queries.inspect:Inspect",
    "pyhudi.actions.merge:MergeBuilder",
    "pyhudi.commit.call:WriteResult",
    "pyhudi.commit.planned:PlannedWrite",
)
MODULES = ("pyhudi", "pyhudi.spark")
_ENTRY = re.compile(r"^(\w+): ")


def reference() -> str:
    """Return the whole page."""
    parts = ["# Reference\n\nMade by `make docs` from docstrings. [The guide](../../docs/guide.md) tells the story.\n"]
    for name in MODULES:
        module = importlib.import_module(name)
        functions = [(each, getattr(module, each)) for each in module.__all__ if not each.startswith("_")]
        parts.append(f"\n## {name}\n\n{inspect.getdoc(module)}\n")
        parts += [_entry(f"{name}.{each}", one) for each, one in functions if inspect.isfunction(one)]
    for place in CLASSES:
        module_name, _, class_name = place.partition(":")
        parts += _class(getattr(importlib.import_module(module_name), class_name))
    errors = inspect.getdoc(importlib.import_module("pyhudi.errors")) or ""
    parts.append(f"\n## pyhudi.errors\n\n```text\n{errors}\n```\n")
    return "".join(parts)


def _class(kind: type) -> Iterator[str]:
    yield f"\n## {kind.__name__}\n\n{_body(kind)}\n"
    for name, member in inspect.getmembers(kind):
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield f"\n### {kind.__name__}.{name}\n\n{_body(member.fget)}\n"
        elif inspect.isfunction(member):
            yield _entry(f"{kind.__name__}.{name}", member)


def _entry(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    arguments = [one for one in signature.parameters.values() if one.name != "self"]
    shown = signature.replace(parameters=[one.replace(annotation=one.empty) for one in arguments])
    call = str(shown.replace(return_annotation=inspect.Signature.empty))
    return f"\n### {name}\n\n```python\n{name}{call}\n```\n\n{_body(function)}\n"


def _body(documented: object) -> str:
    """Return a docstring as Markdown: arguments as a list, the example as a block."""
    lines: list[str] = []
    part = ""
    for line in (inspect.getdoc(documented) or "").splitlines():
        if line in {"Args:", "Example:"}:
            part = line
            lines += ["", "```python"] if part == "Example:" else [""]
        elif part and line.strip() and not line.startswith(" "):
            lines += _closing(part)
            lines.append(line)
            part = ""
        elif part == "Args:":
            lines.append(_ENTRY.sub(r"- `\1`: ", line.removeprefix("    ")))
        elif part == "Example:":
            lines += [line.removeprefix("    ")] if line.strip() else []
        else:
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*lines, *_closing(part)])).strip()


def _closing(part: str) -> list[str]:
    return ["```", ""] if part == "Example:" else [""]


if __name__ == "__main__":
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(reference())

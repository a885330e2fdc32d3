"""The lists of what is refused until a feature is built: `not_yet/FEATURE.toml`, each a strict expected failure.

A list says the refusal's class, words of its message, and the cases: `TABLE READ` for reads, `TABLE` for writes. A case
that begins to work fails its test until it is taken off the list. Start at `cases`.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pyhudi import errors

__all__ = ["Difference", "Refused", "cases", "differing", "listed", "refusing"]

LISTS = Path(__file__).parent / "not_yet"
DIFFERENCES = Path(__file__).parent / "differences.toml"


@dataclass(frozen=True)
class Refused:
    """How a case is refused."""

    feature: str
    raises: type[errors.HudiError]
    says: str


@cache
def listed(kind: str) -> dict[str, Refused]:
    """Return the refused cases of one kind, `reads` or `writes`."""
    found: dict[str, Refused] = {}
    for path in sorted(LISTS.glob("*.toml")):
        for one in tomllib.loads(path.read_text(encoding="utf-8")).get(kind, []):
            refused = Refused(path.stem, getattr(errors, one["raises"]), one["says"])
            twice = found.keys() & {*one["cases"]}
            assert not twice, f"listed twice: {sorted(twice)}"
            found |= dict.fromkeys(one["cases"], refused)
    return found


@dataclass(frozen=True)
class Difference:
    """In what a read is not what Apache Hudi gives."""

    column: str = ""
    """The one column that differs."""
    rows_as: str = ""
    """Or the read of another table whose rows, but for meta columns, it has."""
    row: Mapping[str, Any] = field(default_factory=dict)
    """Or what is in one row, found by its `id`, that Apache Hudi shows otherwise."""


@cache
def differing() -> dict[str, Difference]:
    """Return the reads that are not what Apache Hudi gives, and what they are."""
    listed_here = tomllib.loads(DIFFERENCES.read_text(encoding="utf-8"))["reads"]
    return {
        case: Difference(one.get("column", ""), one.get("rows_as", ""), one.get("row", {}))
        for one in listed_here
        for case in one["cases"]
    }


def cases(kind: str, ids: Iterable[str], *values: Iterable[Any]) -> list[Any]:
    """Make the parameters of a test: those of refused cases are marked."""
    refused = listed(kind)
    return [
        pytest.param(*row, refused.get(name), id=name, marks=_marks(refused.get(name)))
        for name, *row in zip(ids, *values, strict=True)
    ]


@contextmanager
def refusing(refused: Refused | None) -> Iterator[None]:
    """Let a refusal pass only if it says what the list says."""
    try:
        yield
    except errors.HudiError as error:
        if refused is None or not re.search(refused.says, str(error)):
            pytest.fail(f"refused, and no list has these words: {type(error).__name__}: {error}")
        raise error.with_traceback(None) from None  # pytest prints each in vain, which costs more than the test


def _marks(refused: Refused | None) -> list[Any]:
    if refused is None:
        return []
    return [pytest.mark.xfail(strict=True, raises=refused.raises, reason=f"not yet: {refused.feature}")]

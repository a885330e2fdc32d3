"""What `doctor` found about one thing, as a value."""

from dataclasses import asdict, dataclass
from typing import Literal

__all__ = ["Check"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at: what was found and, where it should be otherwise, what to do."""

    subject: str
    verdict: Literal["fine", "note", "fix"]
    found: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return it as plain values."""
        return asdict(self)

"""How values show themselves in a notebook. Start at `facts_html`."""

import html
from collections.abc import Mapping

__all__ = ["facts_html"]


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """Return names and values as a small HTML table; whatever they hold is shown as text."""
    rows = "".join(
        f'<tr><th style="text-align: left">{html.escape(name)}</th>'
        f'<td style="text-align: left">{html.escape(str(value))}</td></tr>'
        for name, value in facts.items()
    )
    return f"<table><caption>{html.escape(title)}</caption>{rows}</table>"

"""What a life finds is made small: no step, row or option is left that it does not need."""

from dataclasses import replace

from tests.lives.life import Found, Life
from tests.lives.printing import snippet
from tests.lives.rows import Row
from tests.lives.setting import Setting
from tests.lives.shrinking import shrunk
from tests.lives.verbs.meeting import ByOldHandle
from tests.lives.verbs.services import Compact
from tests.lives.verbs.writing import Upsert


def row(key: str) -> Row:
    return {"k": key, "n": 1, "p": "x", "q": 1, "ts": 1, "v": 1.0, "s": None, "d": None}


def wrong_where_b_is_written_and_compacted(life: Life) -> Found | None:
    """Stand for a table that loses key b in a compaction."""
    is_written = False
    for number, step in enumerate(life.steps, 1):
        inner = step.step if isinstance(step, ByOldHandle) else step
        is_written |= isinstance(inner, Upsert) and any(one["k"] == "b" for one in inner.rows)
        if is_written and isinstance(inner, Compact):
            return Found(replace(life, steps=life.steps[:number]), AssertionError(f"b is lost after {number}"))
    return None


def test_a_life_is_made_small() -> None:
    setting = Setting(table_type="mor", version=6, partition=("p", "q"), writes=(("hoodie.clean.automatic", False),))
    steps = (
        Upsert(rows=(row("a"),)),
        ByOldHandle(Upsert(rows=(row("a"), row("b"), row("c")))),
        Compact(is_tried=True),
        Upsert(rows=(row("d"),)),
        Compact(),
    )
    found = wrong_where_b_is_written_and_compacted(Life(1, setting, steps))
    assert found is not None
    small = shrunk(found, player=wrong_where_b_is_written_and_compacted).life
    assert small.steps == (Upsert(rows=(row("b"),)), Compact())
    assert small.setting == Setting(table_type="mor", version=9, partition=())


def test_what_was_found_is_printed_as_python_that_makes_it_again() -> None:
    life = Life(7, Setting(table_type="cow", version=8), (Upsert(rows=(row("a"),)), Compact()))
    text = snippet(Found(life, AssertionError("two rows")))
    assert "AssertionError: two rows" in text
    assert "table.upsert([{'k': 'a'" in text
    told: dict[str, Life] = {}
    exec(text.rpartition("\nprint(")[0], told)
    assert told["life"] == life

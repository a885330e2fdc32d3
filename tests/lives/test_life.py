"""A life is a seed: drawn twice it is the same, and played from its steps it ends alike."""

import pytest
from tests.lives.life import Life, live, lived, play
from tests.lives.model import Counts
from tests.lives.rows import Row
from tests.lives.setting import Setting
from tests.lives.verbs.meeting import Beside
from tests.lives.verbs.services import Compact, RunDueServices
from tests.lives.verbs.step import Step
from tests.lives.verbs.writing import DeleteKeys, DeleteRows, Insert, Upsert
from tests.lives.world import World
from tests.simulation.explorer.process import simulated


def row(key: str, ts: int = 1) -> Row:
    return {"k": key, "n": 1, "p": "x", "q": 1, "ts": ts, "v": 1.0, "s": None, "d": None}


def test_a_seed_is_one_life(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[list[Step]] = [[], []]
    for steps in drawn:
        monkeypatch.setattr("tests.lives.life.lived", lambda world, step, steps=steps, **how: seen(world, step, steps))
        assert live(5, 12) is None
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 12


def seen(world: World, step: Step, steps: list[Step]) -> BaseException | None:
    steps.append(step)
    return lived(world, step, is_whole=False)


def test_a_row_too_many_and_a_row_too_few_are_seen() -> None:
    with simulated():
        world = World(Setting(table_type="cow", version=9))
        assert lived(world, Upsert(rows=(row("a"), row("b"))), is_whole=True) is None
        gone = world.model.rows.pop(("x", ("a",)))
        error = lived(world, DeleteKeys(keys=(("c",),)), is_whole=False, is_brief=True)
        assert "too many [('a'" in str(error)
        world.model.rows[("x", ("a",))] = gone
        assert lived(world, DeleteKeys(keys=(("c",),)), is_whole=False, is_brief=True) is None
        world.model.rows[("x", ("z",))] = gone
        assert "missing [('a'" in str(lived(world, DeleteKeys(keys=(("c",),)), is_whole=False, is_brief=True))


def test_a_count_that_is_not_true_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.lives.model.Model.delete", lambda model, places, ts=0: Counts(deleted=0))
    with simulated():
        world = World(Setting(table_type="cow", version=9))
        assert lived(world, Upsert(rows=(row("a"),)), is_whole=True) is None
        assert "says 1 deleted, and 0 were" in str(lived(world, DeleteKeys(keys=(("a",),)), is_whole=True))


def test_what_promises_leave_open_is_settled_by_what_the_table_says_first() -> None:
    setting = Setting(table_type="mor", version=9, writes=(("hoodie.index.type", "SIMPLE"),))
    steps = (Upsert(rows=(row("a", ts=9),)), DeleteKeys(keys=(("a",),)), Upsert(rows=(row("a", ts=3),)))
    with simulated():
        world = World(setting)
        for step in Life(0, setting, steps).steps:
            step.do(world)
        assert [one and one.row["ts"] for one in world.model.doubts["x", ("a",)]] == [None, 3]


def test_a_compaction_of_version_6_goes_before_what_was_seen_since_it_was_planned() -> None:
    writes = (("hoodie.index.type", "SIMPLE"), ("hoodie.compact.inline.max.delta.commits", 9))
    setting = Setting(table_type="mor", version=6, is_event_time=False, writes=writes)
    rows = [Upsert(rows=(row("a", ts=ts),)) for ts in (1, 9, 3)]
    steps = (*rows[:2], Compact(is_scheduled=True), rows[2], RunDueServices())
    assert play(Life(0, setting, steps), is_whole=True) is None


def test_a_commit_beside_a_compaction_does_not_show_what_the_compaction_shows() -> None:
    writes = (("hoodie.index.type", "SIMPLE"), ("hoodie.compact.inline.max.delta.commits", 2))
    setting = Setting(table_type="mor", version=9, is_event_time=True, writes=writes)
    plan, run = (Compact(is_scheduled=is_scheduled, is_tried=False) for is_scheduled in (True, False))
    first = Upsert(rows=(row("a", ts=9),)), DeleteRows(rows=(row("a", ts=9),)), plan, Upsert(rows=(row("a", ts=3),))
    steps = (*first, Beside(step=run, other=Upsert(rows=(row("b"),)), at=10))
    assert play(Life(0, setting, steps), is_whole=True) is None


def test_a_dry_run_that_says_something_else_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.lives.verbs.step._DRY", 1)
    steps = (Upsert(rows=(row("a"), row("b"))), DeleteKeys(keys=(("a",), ("c",))), Insert(rows=(row("d"),)))
    with simulated():
        world = World(Setting(table_type="cow", version=9))
        assert [lived(world, step, is_whole=True) for step in steps] == [None] * 3
        monkeypatch.setattr("pyhudi.actions.write.stored_keys_count", lambda write: 0)
        assert "says 0 deletes, and 1 were deleted" in str(lived(world, DeleteKeys(keys=(("b",),)), is_whole=False))

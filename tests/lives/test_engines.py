"""A slice of the lives on each engine: rows go in as its frames and are read by it."""

from typing import Any

import pytest
from tests.building import TableBuilder
from tests.engines import IS_SPARK
from tests.fixed_env import FixedEnv
from tests.lives.life import live
from tests.lives.printing import snippet
from tests.lives.rows import table_of
from tests.lives.verbs import VERBS
from tests.lives.verbs.meeting import Beside, Dying

from pyhudi.storage.api import Storage

LIVES = range(4)
STEPS = 15 if IS_SPARK else 5


@pytest.mark.parametrize("number", LIVES)
def test_lives_are_the_same_on_an_engine(engine: TableBuilder, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def given(*rows: Any) -> Any:
        return engine.rows(table_of(*rows))

    def place(env: FixedEnv) -> Storage:
        engine.env = env
        return engine.place()

    for name in ("writing", "rewriting"):
        monkeypatch.setattr(f"tests.lives.verbs.{name}.table_of", given)
    monkeypatch.setattr("tests.lives.comparing.rows_of", lambda scan: engine.read(scan).to_pylist())
    for verb in (Beside, Dying):  # their stores are of one process
        monkeypatch.delitem(VERBS, verb)
    found = live(number, STEPS, place=place)
    assert found is None, snippet(found)

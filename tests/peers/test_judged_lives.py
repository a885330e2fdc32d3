"""Lives of tables that are handed to Apache Hudi for some of their steps: it reads and writes on what lives have left.

Start at `ByHudi`.
"""

import shutil
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from tests.fixed_env import FixedEnv
from tests.lives.comparing import matched, values_of
from tests.lives.life import live
from tests.lives.model import Model
from tests.lives.printing import snippet
from tests.lives.rows import draw_rows, table_of
from tests.lives.setting import PAYLOAD, Setting
from tests.lives.verbs import VERBS
from tests.lives.verbs.meeting import Beside, ByOldHandle, Dying
from tests.lives.verbs.services import Wait
from tests.lives.verbs.writing import RowsWrite, in_order
from tests.lives.world import World, Wrong
from tests.peers.conftest import is_full, seed
from tests.peers.peer import Peer

from pyhudi.storage.local import LocalStorage

LIVES = 8 if is_full() else 2
STEPS = 12
_BOTH = ("hoodie.index.", "hoodie.bucket.", "hoodie.bloom.", "hoodie.simple.", "hoodie.metadata.", "hoodie.datasource.")
_ALONE = {
    "hoodie.table.name": "lives",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.write.complex.keygen.validation.enable": "false",
}


@dataclass(frozen=True, slots=True)
class ByHudi(RowsWrite):
    """Apache Hudi upserts rows, and reads."""

    peer: ClassVar[Peer]

    @classmethod
    def draw(cls, chance: Random, world: World) -> "ByHudi":
        return cls((), in_order(draw_rows(chance, world.fields, chance.choice((1, 3, 6))), world))

    def fits(self, world: World) -> bool:
        """It writes to no file group that a clustering is planned on."""
        return not (world.has_dead_writer or world.may_have_plans)

    def do(self, world: World, table: Any = None) -> Any:
        path = world.storage.url.removeprefix("file://")
        now(world.env)
        options = told(world.setting)
        self.peer.write(path, table_of(self.rows, world.model.schema), options)
        now(world.env)
        world.model.begin()
        self.change(world.model)
        world.model.is_compact = False
        world.remember()
        self._require_read(world, path)

    def change(self, model: Model) -> Any:
        return model.upsert(self.rows)

    def _require_read(self, world: World, path: str) -> None:
        """Compare what Apache Hudi reads, where no delete in a log has another rank to it."""
        if isinstance(said := matched(world.table, world.model), str):
            raise Wrong(said)
        for place, stored in said.items():
            world.model.settle(place, stored)
        if world.model.graves:
            return
        found = Counter(values_of(row) for row in self.peer.read(path).to_pylist())
        wanted = Counter(values_of(one.row) for one in world.model.rows.values())
        if found != wanted:
            raise Wrong(
                f"Apache Hudi lacks {list((wanted - found).elements())}, shows {list((found - wanted).elements())}"
            )

    def call(self) -> str:
        return f"Apache Hudi upserts {list(self.rows)}"


def now(env: FixedEnv) -> None:
    """Let the clock of the life be that of the other side."""
    env.set_now_ms(max(env.now_ms(), time.time_ns() // 1_000_000 + 1))
    with suppress(ValueError):
        time.sleep((env.now_ms() - time.time_ns() // 1_000_000 + 5) / 1000)


def told(setting: Setting) -> dict[str, str]:
    """Return what a write of Apache Hudi is told."""
    names = {0: "Nonpartitioned", 1: "Simple" if len(setting.key) == 1 else "Complex"}
    generator = f"org.apache.hudi.keygen.{names.get(len(setting.partition), 'Complex')}KeyGenerator"
    ours = {key: value for key, value in (*setting.creation, *setting.writes) if key.startswith(_BOTH)}
    options: dict[str, Any] = {
        **ours,
        **_ALONE,
        "hoodie.datasource.write.recordkey.field": ",".join(setting.key),
        "hoodie.datasource.write.partitionpath.field": ",".join(setting.partition),
        "hoodie.datasource.write.keygenerator.class": generator,
        "hoodie.write.table.version": setting.version,
        "hoodie.datasource.write.table.type": "MERGE_ON_READ" if setting.is_logged else "COPY_ON_WRITE",
        "hoodie.clean.automatic": False,
        "hoodie.archive.automatic": False,
        "hoodie.compact.inline": False,
    }
    if setting.ordering:
        options["hoodie.datasource.write.precombine.field"] = ",".join(setting.ordering)
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in options.items()}


def drawn(number: int) -> Setting:
    """Draw a setting that both sides take."""
    setting = Setting.draw(Random(number))
    creation = tuple(one for one in setting.creation if one[0] not in {"pyhudi.fence", "hoodie.populate.meta.fields"})
    writes = tuple(one for one in setting.writes if one[0] != PAYLOAD)
    is_other = setting.change_log is not None or (setting.is_logged and "b" in setting.ordering)
    plain = replace(setting, payload="", ordering=("ts",)) if is_other else setting
    return replace(plain, fills=False, creation=creation, writes=writes)


def place(folder: Path, env: FixedEnv) -> LocalStorage:
    """Return an empty directory, at the time of now."""
    shutil.rmtree(folder, ignore_errors=True)
    now(env)
    return LocalStorage(str(folder), env)


@pytest.mark.parametrize("number", range(LIVES))
def test_a_life_goes_on_with_apache_hudi(
    hudi_1_2: Peer, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ByHudi, "peer", hudi_1_2, raising=False)
    for verb in (Beside, ByOldHandle, Dying, Wait):
        monkeypatch.delitem(VERBS, verb)
    monkeypatch.setitem(VERBS, ByHudi, 40)
    where: Callable[[FixedEnv], LocalStorage] = partial(place, tmp_path / "table")
    found = live(seed() + number, STEPS, drawn(seed() + number), where)
    assert found is None, snippet(found)

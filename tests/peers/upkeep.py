"""How Apache Hudi is told to keep a table small, and the sagas in which it forgets what the table was.

Start at `upkeeps`.
"""

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.peers.crafted import SIDES
from tests.peers.histories import Turn
from tests.peers.kinds import INDEXES, Kind
from tests.peers.peer import NEWEST

__all__ = ["CITIES", "Upkeep", "upkeeps"]

CITIES = Kind(
    "cities",
    partition_by=("city",),
    generator="SimpleKeyGenerator",
    cities=("sf", "rio", "oslo"),
    options={"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"},
)
_Chosen = tuple[str, str, tuple[str, int]]
"""A policy, a saga, and a release with a version."""
_ARCHIVE = {
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "5",
    "hoodie.commits.archival.batch": "1",
    "hoodie.timeline.compaction.batch.size": "3",
    "hoodie.metadata.compact.max.delta.commits": "3",
    "hoodie.index.bloom.num_entries": "20",
    "hoodie.bloom.index.filter.dynamic.max.entries": "40",
}
_POLICIES = {
    "commits": ("KEEP_LATEST_COMMITS", "commits", "2"),
    "versions": ("KEEP_LATEST_FILE_VERSIONS", "fileversions", "1"),
    "hours": ("KEEP_LATEST_BY_HOURS", "hours", "0"),
}
_BEYOND = {"hoodie.archive.beyond.savepoint": "true"}
_CLUSTER = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "3"}
_MERGE_ON_READ = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "4",
}
_BLOCKS = "hoodie.logfile.data.block.format"


@dataclass(frozen=True)
class _Saga:
    """What happens beside the writes: savepoints by the step they come before, and options."""

    savepoints: Mapping[int, str]
    options: Mapping[str, str]
    replacing: Sequence[int] = (6, 8, 9)
    """Versions at which file groups are replaced, too."""
    sides: Sequence[tuple[str, int]] = tuple(SIDES)


_COMPLETING = tuple(one for one in SIDES if one[1] > 6)
_SAGAS = {
    "plain": _Saga({}, {}),
    "clustered": _Saga({}, _CLUSTER),
    "merged": _Saga({}, _MERGE_ON_READ),
    "merged_avro": _Saga({}, _MERGE_ON_READ | {_BLOCKS: "avro"}),
    "merged_parquet": _Saga({}, _MERGE_ON_READ | {_BLOCKS: "parquet"}),
    "merged_buckets": _Saga({}, _MERGE_ON_READ | INDEXES["BUCKET"]),
    "saved": _Saga({4: "save", 10: "save"}, {}),
    # Apache Hudi does not see what was archived behind a savepoint, and writes on from the savepoint's files. Replaced
    # rows come back, at version 6 when the replacecommit is archived, later when the savepoint is deleted too.
    "beyond": _Saga({3: "save", 10: "save"}, _BEYOND, replacing=(8, 9)),
    "released": _Saga({3: "save", 11: "release"}, _BEYOND, replacing=(), sides=_COMPLETING),
    # Apache Hudi 1.2 cannot take replacecommits of version 6 back.
    "restored": _Saga({5: "save", 8: "restore", 11: "restore"}, {}, replacing=(8, 9)),
}


@dataclass(frozen=True)
class Upkeep:
    """One history of Apache Hudi alone."""

    name: str
    release: str
    version: int
    options: Mapping[str, str]
    turns: tuple[Turn, ...]
    seed: int

    @property
    def is_lossy(self) -> bool:
        """Return whether Apache Hudi loses rows then."""
        return self.options.items() >= _BEYOND.items()

    @property
    def has_logs(self) -> bool:
        """Return whether rows are in log files, too."""
        return self.options.items() >= _MERGE_ON_READ.items()


def upkeeps(lane: str, seed: int) -> list[Upkeep]:
    """Draw the histories of a run: a few of the newest release in the short lane; all of all in `everything`."""
    luck = random.Random(f"upkeep/{seed}")
    crossed = [
        (policy, saga, side)
        for policy, saga, side in itertools.product(_POLICIES, _SAGAS, SIDES)
        if side in _SAGAS[saga].sides
        and not _is_beyond_hudi(policy, saga, side)
        and (lane != "short" or side[0] == NEWEST)
    ]
    count = {"short": 3, "full": 12}.get(lane, len(crossed))
    return [_upkeep(*one, luck, seed) for one in sorted(_spread(crossed, luck, count), key=lambda one: one[2])]


def _is_beyond_hudi(policy: str, saga: str, side: tuple[str, int]) -> bool:
    """Return whether a write may fail: Apache Hudi 1.x cannot clean by versions where savepoints keep every file."""
    return policy == "versions" and bool(_SAGAS[saga].savepoints) and side[0] != "0.15.0"


def _spread(crossed: list[_Chosen], luck: random.Random, count: int) -> list[_Chosen]:
    """Choose so many that policies, sagas and versions come up as often as each other."""
    chosen: list[_Chosen] = []
    left = luck.sample(crossed, len(crossed))
    for _ in range(count):
        often = [value for policy, saga, side in chosen for value in (policy, saga, side[1])]
        best = min(left, key=lambda one: sum(often.count(value) for value in (one[0], one[1], one[2][1])))
        left.remove(best)
        chosen.append(best)
    return chosen


def _upkeep(policy: str, name: str, side: tuple[str, int], luck: random.Random, seed: int) -> Upkeep:
    saga, (kind, unit, kept) = _SAGAS[name], _POLICIES[policy]
    cleaning = {f"hoodie.{it}.policy": kind for it in ("clean", "cleaner")}
    cleaning |= {f"hoodie.{it}.{unit}.retained": kept for it in ("clean", "cleaner")}
    verbs = ["upsert", "upsert", "upsert", "insert", "delete"]
    verbs += ["insert_overwrite", "delete_partition"] if side[1] in saga.replacing else []
    turns = ["insert", *(luck.choice(verbs) for _ in range(14))]
    for step, verb in sorted(saga.savepoints.items()):
        turns.insert(step, verb)
    release, version = side
    return Upkeep(
        name=f"{policy}-{name}-{release}-v{version}",
        release=release,
        version=version,
        options=_ARCHIVE | cleaning | saga.options,
        turns=tuple(("hudi", verb) for verb in turns),
        seed=seed,
    )

"""Older releases of Apache Hudi, which write versions 8 and 6 as their own, take turns with us."""

import pytest
from tests.peers.histories import Expected, Step, alternating, history
from tests.peers.kinds import COLUMNS, KINDS, crossed
from tests.peers.peer import Peer
from tests.peers.sides import BOTH_WAYS, HEEDS_ORDER, Hudi, Ours, rows_of

from pyhudi.table import open_table

NAMES = {"plain", "simple", "simple_hive_url", "complex", "simple_no_meta_columns", "global_delete", "generated"}

LOGS = [
    ("simple", "SIMPLE", "parquet_logs"),
    ("simple_hive_url", "BUCKET", "avro_logs"),
    ("plain", "GLOBAL_BLOOM", "avro_logs"),
]
TURNS = [
    ("first", "insert"), ("second", "upsert"), ("first", "upsert"), ("second", "compact"), ("first", "delete"),
    ("second", "upsert"), ("first", "compact"), ("second", "delete"), ("first", "upsert"), ("ours", "log_compact"),
    ("first", "insert"), ("second", "upsert"), ("hudi", "compact"), ("ours", "upsert"), ("hudi", "upsert"),
]  # fmt: skip
"""No key comes back that was deleted: 1.0.2 then fails to read, on tables too that it alone wrote."""


@pytest.fixture(scope="module", params=[("1.0.2", 8), ("0.15.0", 6)], ids=["1.0.2", "0.15.0"])
def older(request):
    """Return an older release and the version it writes."""
    release, version = request.param
    with Peer(release) as peer:
        yield peer, version


@pytest.mark.parametrize("first", ["ours", "hudi"])
@pytest.mark.parametrize("kind", [one for one in KINDS if one.name in NAMES], ids=lambda one: one.name)
def test_an_older_release_takes_turns_with_us(older, tmp_path, kind, first):
    peer, version = older
    path = tmp_path / "trips"
    said = HEEDS_ORDER if version == 6 and first == "hudi" else {}
    sides = {"ours": Ours(path, kind, version), "hudi": Hudi(peer, path, kind, version, said)}
    second = next(name for name in sides if name != first)
    expected = Expected(kind)
    for step in history(kind, alternating(kind, [first, second] * 3, 4), seed=4):
        sides[step.actor].do(step)
        expected.apply(step)
        found = rows_of(sides["ours"].read().select(COLUMNS.names))
        assert found == rows_of(sides["hudi"].read().select(COLUMNS.names)), step
        assert found == sorted(expected.rows.values(), key=repr), step


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", ["ours", "hudi"])
@pytest.mark.parametrize(("layout", "index", "logs"), LOGS)
def test_an_older_release_and_we_compact_in_turn_what_both_write_to_logs(older, tmp_path, layout, index, logs, first):
    peer, version = older
    path, layouts = tmp_path / "trips", {one.name: one for one in KINDS}
    # 0.15 takes a single key with a colon, as some have here, for name:value pairs, and hashes none of it.
    kind = crossed(layouts[layout], "event_time", "SIMPLE" if (version, index) == (6, "BUCKET") else index, logs)
    said = HEEDS_ORDER if version == 6 and first == "hudi" else {}
    sides = {"ours": Ours(path, kind, version), "hudi": Hudi(peer, path, kind, version, said)}
    names = {"first": first, "second": next(name for name in sides if name != first)}
    expected = Expected(kind)

    def agree(step):
        found = rows_of(sides["ours"].read().select(COLUMNS.names))
        assert found == sorted(expected.rows.values(), key=repr), step
        for read in peer.reads(path, BOTH_WAYS):
            assert rows_of(read.select(COLUMNS.names)) == found, step

    for step in history(kind, [(names.get(actor, actor), verb) for actor, verb in TURNS], seed=4):
        sides[step.actor].do(step)
        if step.verb == "compact":
            assert not open_table(str(path)).compact(dry_run=True).files, step
        expected.apply(step)
        agree(step)
    table = open_table(str(path))
    table.update(set={"note": "'updated'"}, where="ts > 50", options=kind.untold())
    for row in expected.rows.values():
        row["note"] = "updated" if row["ts"] > 50 else row["note"]
    agree("update")
    for verb, rows in (("delete", list(expected.rows.values())), ("compact", []), ("upsert", step.rows)):
        side = sides["hudi" if verb == "upsert" else "ours"]
        side.do(one := Step("", verb, rows))
        expected.apply(one)
        agree(verb)
    assert table.check().ok, table.check()

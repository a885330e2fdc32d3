"""Older releases of Apache Hudi, which write versions 8 and 6 as their own, take turns with us."""

import pytest
from tests.peers.histories import Expected, alternating, history
from tests.peers.kinds import COLUMNS, KINDS
from tests.peers.peer import Peer
from tests.peers.sides import Hudi, Ours, rows_of

NAMES = {"plain", "simple", "simple_hive_url", "complex", "simple_no_meta_columns", "global_delete", "generated"}
HEEDS_ORDER = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}
"""What 0.15 must be told for a table of its own; it does not store it, and then 1.2 heeds the order all the same."""


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

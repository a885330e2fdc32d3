"""pyhudi and Apache Hudi take turns on one table; after each commit both read the same, and what must be there.

The matrix is made of kinds of tables, table versions and who comes first; the slice takes one of each.
"""

import itertools

import pytest
from tests.peers.conftest import is_full
from tests.peers.histories import Expected, history
from tests.peers.kinds import COLUMNS, KINDS, SLICE
from tests.peers.sides import Hudi, Ours, rows_of

VERSIONS = (9, 8, 6)
STEPS = 8
CASES = [
    pytest.param(kind, version, first, id=f"{kind.name}-{version}-{first}")
    for kind, version, first in itertools.product(KINDS, VERSIONS, ("ours", "hudi"))
    if is_full() or (kind.name, version, first) in SLICE
]


@pytest.mark.parametrize(("kind", "version", "first"), CASES)
def test_taking_turns(hudi_1_2, tmp_path, kind, version, first):
    path = tmp_path / "trips"
    sides = {"ours": Ours(path, kind, version), "hudi": Hudi(hudi_1_2, path, kind, version)}
    second = next(name for name in sides if name != first)
    expected = Expected(kind)
    for step in history(kind, [first, second] * (STEPS // 2), seed=1):
        sides[step.actor].do(step)
        expected.apply(step)
        ours, theirs = (side.read() for side in sides.values())
        if kind.has_meta_columns:
            assert rows_of(ours) == rows_of(theirs.select(ours.schema.names)), step
        found = rows_of(ours.select(COLUMNS.names))
        assert found == rows_of(theirs.select(COLUMNS.names)), step
        assert found == sorted(expected.rows.values(), key=repr), step

"""Which keys an action brings to a file group and takes away, held against the rows before and after."""

import random

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips

from pyhudi.engine.local import LocalEngine
from pyhudi.metadata.changed_keys import changed_keys, keys_of_slice
from pyhudi.options import Settings
from pyhudi.services.rows_told import rows_of_action, rows_of_table
from pyhudi.timeline.active import load_timeline, read_commit_metadata


def last_change(table, before):
    """Return what the newest commit made of each file group, as tasks find it: keys that came, keys that went."""
    now = load_timeline(table.state)
    (new,) = now.completed.keys() - before.completed.keys()
    metadata = read_commit_metadata(table.state, now.completed[new])
    told = rows_of_action(table.state, before, Settings(), None, instant=new, metadata=metadata)
    found = [part for one in told.changes for part in changed_keys(one, storage=table.state.storage, reads=told.reads)]
    came, went = ({key for pair in found for key in pair[side].to_pylist()} for side in (0, 1))
    return came, went


BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 1}
"""Under which new keys go to logs without a look-up, and count as updates."""


@pytest.mark.parametrize("index", [{}, BUCKETS], ids=["SIMPLE", "BUCKET"])
@pytest.mark.parametrize("table_type", ["cow", "mor"])
@pytest.mark.parametrize("version", [6, 9])
def test_any_action_tells_what_the_rows_before_and_after_differ_in(table_type, version, index):
    dice, table = random.Random(version), TableBuilder(table_type).create(version=version)
    has = set()
    for ts in range(1, 9):
        keys, before = dice.sample("abcdefgh", 3), load_timeline(table.state)
        if ts % 3:
            table.upsert(trips(*(trip(key, ts=ts) for key in keys)), options=TINY_FILTERS | index)
            now = has | set(keys)
        else:
            table.delete(keys=keys)
            now = has - set(keys)
        if now == has and not ts % 3:
            continue
        came, went = last_change(table, before)
        assert now - has <= came <= now
        assert went == has - now
        has = now


def test_all_that_is_stored_is_new_to_an_index():
    table = TableBuilder("mor").create()
    table.upsert(trips(trip("a"), trip("b", city="rio")))
    table.delete(keys=["b"])
    engine = LocalEngine(table.state.storage)
    told = rows_of_table(table.state, load_timeline(table.state), Settings(), engine)
    assert told.operation is None
    keys = [keys_of_slice(one.after, storage=table.state.storage, reads=told.reads) for one in told.changes]
    assert [found.to_pylist() for found in keys] == [[], ["a"]]

"""File groups that commits make for partitions of the table, beside each other and before a crash."""

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip, trips
from tests.metadata.checking import metadata_of
from tests.metadata.partitions.test_partitioned_record_index import LEAST, VERSIONS, groups, new_table, told

from pyhudi.metadata.table import commit as metadata_commit
from pyhudi.txn import commit


@VERSIONS
@pytest.mark.parametrize("least", [1, 3])
def test_two_writers_make_the_file_groups_of_one_partition(version, least, monkeypatch):
    table = new_table(version=version)
    other = TableBuilder().reopen(table)
    prepare, is_first = metadata_commit.MetadataCommit.prepare, [True]

    def prepare_and_be_overtaken(self, *given, **said):
        prepare(self, *given, **said)
        if is_first.pop() if is_first else False:
            for name in ("m", "n"):
                row = trips(trip(f"of the other {name}", city="oslo" if name == "m" else "aachen"))
                other.bulk_insert(row, options={LEAST: least, **LOCKED})

    monkeypatch.setattr(metadata_commit.MetadataCommit, "prepare", prepare_and_be_overtaken)
    rows = trips(*(trip(f"k{number}", city="oslo") for number in range(20)))
    TableBuilder().reopen(table).bulk_insert(rows, options={LEAST: 1, **LOCKED})
    assert not is_first
    expected = [("oslo", f"k{number}") for number in range(20)]
    expected += [("aachen", "of the other n"), ("oslo", "of the other m"), ("rio", "b"), ("sf", "a")]
    assert told(table) == sorted(expected)
    assert groups(TableBuilder().reopen(table))["oslo"] == least


@VERSIONS
def test_those_of_a_commit_that_died_do_not_count(version, monkeypatch):
    table = new_table(version=version)

    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(commit, "complete", die)
        with pytest.raises(KeyboardInterrupt):
            table.upsert(trips(trip("x", city="oslo")), options={LEAST: 3, **TINY_FILTERS})
    table = TableBuilder().reopen(table)
    assert metadata_of(table).hidden
    assert "oslo" not in groups(table)
    table.upsert(trips(trip("y", city="oslo")), options={LEAST: 1, **TINY_FILTERS})
    assert told(table) == [("oslo", "y"), ("rio", "b"), ("sf", "a")]
    assert groups(TableBuilder().reopen(table))["oslo"] == 1


LOCKED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.clean.failed.writes.policy": "LAZY",
    **TINY_FILTERS,
}

"""What commits say they wrote is there, or a read and a write say what is not."""

import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, trip, trips
from tests.queries.cleaning import clean

from pyhudi.errors import CorruptData, SnapshotExpired

OPTIONS = {**SMALL_FILES, **TINY_FILTERS}
UNCHECKED = {**OPTIONS, "pyhudi.check.files": False}
METADATA = ".hoodie_partition_metadata"


def three_partitions(engine, version, **said):
    table = engine.create(version=version, **said)
    cities = ("sf", "oslo", "rome")
    table.upsert(engine.rows(trips(*(trip(f"k{i}", cities[i % 3]) for i in range(9)))), options=OPTIONS)
    table.upsert(engine.rows(trips(trip("k0", ts=2))), options=OPTIONS)
    return table


def newest(table, partition):
    return max(
        one["path"]
        for one in table.inspect.files().to_pylist()
        if one["partition"] == partition and one["kind"] == "base"
    )


def verbs_of(engine, table, **more):
    """Return what reads or rewrites all of a table."""
    rows = engine.rows(trips(trip("k0", ts=3), trip("k1", "oslo", ts=3), trip("k2", "rome", ts=3)))
    return {
        "scan": lambda: table.scan(**more),
        "read optimized": lambda: table.scan(mode="read_optimized", **more),
        "changes": lambda: table.changes(**more),
        "changes after": lambda: table.changes(after="2020-01-01", **more),
        "upsert": lambda: table.upsert(rows, options={**OPTIONS, **more.get("options", {})}),
        "delete": lambda: table.delete(where="fare > 0", options=more.get("options")),
        "update": lambda: table.update(set={"fare": "2.0"}, options=more.get("options")),
        "merge": lambda: (
            table.merge(rows, "t.uuid = s.uuid", options=more.get("options")).when_matched_update_all().execute()
        ),
    }


@pytest.mark.parametrize("harm", ["missing", "cut", "unmarked"])
def test_every_verb_names_what_is_not_there(engine, version, harm):
    table = three_partitions(engine, version)
    storage, path = table.state.storage, newest(table, "oslo")
    if harm == "missing":
        storage.delete(path)
    elif harm == "cut":
        storage.put(path, storage.get(path)[:-9])
    else:
        path = f"oslo/{METADATA}"
        storage.delete(path)
    for name, verb in {**verbs_of(engine, table), "lookup": lambda: table.lookup(["k1"])}.items():
        with pytest.raises(CorruptData) as refused:
            verb()
        assert refused.value.values["file"] == path, name
    assert table.timeline.instants[-1].is_completed


def test_what_a_filter_leaves_out_is_not_looked_for(engine, version):
    table = three_partitions(engine, version)
    table.state.storage.delete(newest(table, "oslo"))
    table.state.storage.delete(f"rome/{METADATA}")
    assert len(engine.rows_of(table, filter="city = 'sf'")) == 3
    table.upsert(engine.rows(trips(trip("k0", ts=4))), options=OPTIONS)
    for city in ("oslo", "rome"):
        with pytest.raises(CorruptData):
            table.scan(filter=f"city = '{city}'")


def test_a_table_without_partitions_is_looked_at_too(engine, version):
    table = three_partitions(engine, version, partition_by=None)
    table.state.storage.delete(METADATA)
    with pytest.raises(CorruptData) as refused:
        table.scan()
    assert refused.value.values["file"] == METADATA


def test_an_older_version_of_a_file_is_not_read_for_the_missing_one(engine, version):
    table = three_partitions(engine, version)
    path = newest(table, "sf")
    assert len([one for one in table.inspect.files().to_pylist() if one["partition"] == "sf"]) == 2
    table.state.storage.delete(path)
    with pytest.raises(CorruptData, match="missing"):
        table.scan()


def test_files_that_were_replaced_cleaned_or_rolled_back_are_not_missed(engine, version):
    table = three_partitions(engine, version)
    replaced, older = newest(table, "oslo"), newest(table, "sf")
    table.insert_overwrite(engine.rows(trips(trip("z", "oslo"))))
    table.upsert(engine.rows(trips(trip("k0", ts=3))), options=OPTIONS)
    clean(table, replaced, older)
    assert len(engine.rows_of(table)) == 7
    table.delete_partitions(["rome"])
    for status in table.state.storage.list("rome"):
        table.state.storage.delete(status.path)
    assert len(engine.rows_of(table)) == 4


def test_it_is_not_looked_for_where_the_option_says_so(engine, version):
    table = three_partitions(engine, version)
    table.state.storage.delete(newest(table, "oslo"))
    table.state.storage.delete(f"rome/{METADATA}")
    for verb in verbs_of(engine, table, options=UNCHECKED).values():
        verb()


def test_a_clean_that_ran_since_the_timeline_was_read_is_told_as_such(engine, version):
    table = three_partitions(engine, version)
    path = newest(table, "sf")

    class Meanwhile:
        """The table's storage, in which a newer write and a clean run when the first partition is listed."""

        is_due = True

        def __getattr__(self, name):
            return getattr(table.state.storage, name)

        def list_directory(self, prefix):
            if self.is_due and prefix == "sf":
                self.is_due = False
                table.upsert(trips(trip("k0", ts=3)), options=OPTIONS)
                clean(table, path)
            return table.state.storage.list_directory(prefix)

    reader = engine.reopen(table, Meanwhile())
    with pytest.raises(SnapshotExpired, match="read again"):
        reader.scan()
    assert len(engine.read(reader.scan())) == 9


@pytest.mark.parametrize("harm", ["cut", "bloom"])
def test_every_verb_that_reads_a_damaged_file_names_it(engine, version, harm):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(*(trip(f"k{i}") for i in range(9)))), options=OPTIONS)
    storage, path = table.state.storage, newest(table, "sf")
    data = storage.get(path)
    if harm == "cut":
        storage.put(path, data[:-20])
    else:
        filter_at = data.index(b"AAAA", data.index(b"bloomfilter"))
        storage.put(path, data[:filter_at] + b"!!!!" + data[filter_at + 4 :])
    verbs = verbs_of(engine, table, options=UNCHECKED)
    verbs |= {"insert": lambda: table.insert(engine.rows(trips(trip("new"))), options=UNCHECKED)}
    verbs |= {"delete by key": lambda: table.delete(keys=["k1"], options=UNCHECKED)}
    reads = {"scan", "read optimized", "changes", "changes after"}
    for name, verb in verbs.items():
        if harm == "bloom" and name in reads:
            continue
        run = (lambda verb=verb: engine.read(verb())) if name in reads else verb
        with pytest.raises(CorruptData) as refused:
            run()
        assert refused.value.values["path"] == path, name

import pytest
from tests.building import TableBuilder, rows_by_key, trip, trips

from pyhudi.actions import write
from pyhudi.commit.tag import untagged
from pyhudi.errors import InvalidInput
from pyhudi.index import tag
from pyhudi.queries import check_keys
from pyhudi.timeline.active import read_commit_metadata

RETAINED = {"hoodie.clean.commits.retained": 1}
NEW_FILES = {"hoodie.parquet.small.file.limit": 0}


@pytest.fixture(params=["cow", "mor"])
def table(request, version, monkeypatch):
    """Return a table in which an upsert that looked nothing up has put a second row of a key."""
    made = TableBuilder(request.param).create(version=version)
    made.upsert(trips(trip("a", ts=1, fare=1.0), trip("b")), options=NEW_FILES)
    with monkeypatch.context() as patch:
        patch.setattr(write, "tag", lambda context, **said: untagged(context))
        made.upsert(trips(trip("a", ts=2, fare=2.0), trip("c")), options=NEW_FILES)
    assert rows_by_key(made) == {"a": [1.0, 2.0], "b": [1.0], "c": [1.0]}
    return made


@pytest.mark.parametrize("all_keys", [False, True])
def test_a_second_row_of_a_key_is_found_and_the_advice_mends_it(table, all_keys):
    [problem] = table.check(all_keys=all_keys).problems.to_pylist()
    assert (problem["kind"], problem["repair"]) == ("repeated keys", "")
    assert problem["found"] == "1 keys have several rows, 'a' among them"
    call, _, _ = problem["what_to_do"].partition(" keeps the newest")
    eval(call, {"table": table})
    assert rows_by_key(table) == {"a": [2.0], "b": [1.0], "c": [1.0]}
    assert table.check(all_keys=all_keys).ok


def test_rows_that_an_insert_put_beside_each_other_are_as_they_should_be(version):
    table = TableBuilder("mor").create(version=version)
    table.upsert(trips(trip("a"), trip("b")), options=NEW_FILES)
    table.insert(trips(trip("a")), options=NEW_FILES)
    assert table.check(all_keys=True).ok


def test_a_key_that_was_deleted_and_came_back_is_there_once(version):
    table = TableBuilder("mor").create(version=version)
    table.upsert(trips(trip("a"), trip("b")), options=NEW_FILES)
    table.delete(keys=["a"])
    table.upsert(trips(trip("a", ts=3)), options=NEW_FILES)
    assert table.check(all_keys=True).ok


def test_rows_of_a_key_in_two_partitions_are_wrong_where_the_index_is_global(monkeypatch):
    for kind, is_right in (("SIMPLE", True), ("GLOBAL_SIMPLE", False)):
        table = TableBuilder("cow").create()
        table.upsert(trips(trip("a")), options={"hoodie.index.type": kind})
        with monkeypatch.context() as patch:
            patch.setattr(write, "tag", lambda context, **said: untagged(context))
            table.upsert(trips(trip("a", "oslo")))
        report = table.check(all_keys=True)
        assert report.ok is is_right
        assert is_right or "table.lookup(['a'])" in report.problems["what_to_do"][0].as_py()


def test_a_sample_is_bounded(table, monkeypatch):
    read = []
    keys = check_keys.slice_keys
    monkeypatch.setattr(
        check_keys, "slice_keys", lambda numbered, **said: read.append(numbered) or keys(numbered, **said)
    )
    monkeypatch.setattr(check_keys, "_SAMPLE_GROUPS", 1)
    assert table.check().ok
    assert len(read) == 1
    monkeypatch.setattr(check_keys, "_SAMPLE_GROUPS", 16)
    monkeypatch.setattr(check_keys, "_SAMPLE_BYTES", 1)
    assert table.check().ok
    assert len(read) == 2
    assert not table.check(all_keys=True).ok


def test_a_table_whose_keys_are_generated_promises_nothing():
    table = TableBuilder("cow").create(record_key=None, partition_by=None, ordering=None)
    table.insert(trips(trip("a"), trip("a")))
    assert table.check(all_keys=True).ok


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_what_archived_commits_put_in_is_not_known(version, table_type):
    table = TableBuilder(table_type).create(version=version)
    for number in range(2):
        table.insert(trips(trip("a", ts=number)), options=NEW_FILES)
    for number in range(6):
        table.upsert(trips(trip("a", ts=9, fare=float(number))))
    archived = table.archive(options={"hoodie.keep.min.commits": 2, "hoodie.keep.max.commits": 3, **RETAINED})
    assert len(archived.instants) > 2
    assert len(rows_by_key(table)["a"]) == 2
    assert table.check(all_keys=True).ok


def test_all_keys_is_a_switch(table):
    with pytest.raises(InvalidInput, match="all_keys"):
        table.check(all_keys="yes")


@pytest.mark.parametrize("is_right", [True, False])
@pytest.mark.parametrize("policy", ["drop", "fail"])
def test_a_key_that_an_insert_looked_up_in_vain_is_found(is_right, policy, monkeypatch):
    table = TableBuilder("mor").create()
    table.upsert(trips(trip("a"), trip("b")), options=NEW_FILES)
    table.delete(keys=["a"])
    with monkeypatch.context() as patch:
        if not is_right:
            patch.setattr(tag, "_settled", lambda engine, storage, found, *_: found)
        table.insert(trips(trip("a", ts=2)), duplicates=policy, options=NEW_FILES)
        table.upsert(trips(trip("a", ts=3)), options=NEW_FILES)
    assert len(rows_by_key(table)["a"]) == (1 if is_right else 2)
    assert table.check().ok is table.check(all_keys=True).ok is is_right


@pytest.mark.parametrize("policy", ["none", "drop"])
def test_a_plain_insert_answers_for_what_came_before_it_only(policy, monkeypatch):
    table = TableBuilder("cow").create()
    table.insert(trips(trip("a"), trip("b")), options=NEW_FILES)
    with monkeypatch.context() as patch:
        patch.setattr(write, "tag", lambda context, **said: untagged(context))
        table.insert(trips(trip("a", ts=2)), duplicates=policy, options=NEW_FILES)
    assert len(rows_by_key(table)["a"]) == 2
    assert table.check(all_keys=True).ok is (policy == "none")
    table.insert(trips(trip("c")), options={"hoodie.merge.small.file.group.candidates.limit": 9})
    assert table.check(all_keys=True).ok


def test_a_commit_says_that_its_keys_were_looked_up():
    table = TableBuilder("cow").create()
    said = [table.insert(trips(trip("a")), duplicates=policy, options=NEW_FILES).instant for policy in ("none", "drop")]
    extra = [read_commit_metadata(table.state, table.timeline.completed[time]).extra for time in said]
    assert [one.get("pyhudi.keys.looked.up") for one in extra] == [None, "true"]

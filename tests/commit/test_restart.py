import pytest
from tests.building import TINY_FILTERS, TRIPS, TableBuilder, trip
from tests.faulty import FaultyStorage

from pyhudi.commit.call import WriteCall
from pyhudi.commit.restart import restarting
from pyhudi.errors import FileMissing, ReadOutdated, RowsLost, WriteConflict
from pyhudi.options import Settings
from pyhudi.storage.api import PutMode

RETRIES = "hoodie.write.num.retries.on.conflict.failures"


class Crowded(FaultyStorage):
    """A store where another writer commits just after each of the first so many writes has put its files."""

    def __init__(self, inner, times, meddle):
        super().__init__(inner)
        self.left, self._meddle = times, meddle

    def put(self, path, data, mode=PutMode.OVERWRITE):
        if path.endswith(".inflight") and "rollback" not in path and self.left:
            self.left -= 1
            self._meddle()
        super().put(path, data, mode)


@pytest.fixture
def builder():
    return TableBuilder()


@pytest.fixture
def plain(builder):
    table = builder.create(TRIPS)
    table.upsert([trip("k1", fare=1.0)], options=TINY_FILTERS)
    return table


def crowded(builder, plain, times):
    def meddle():
        plain.update(set={"fare": "fare + 100"}, where="uuid = 'k1'")

    return builder.reopen(plain, Crowded(plain.state.storage, times, meddle))


VERBS = {
    "upsert": lambda table, options: table.upsert([trip("k1", ts=9, rider="new", fare=7.0)], options=options),
    "insert": lambda table, options: table.insert([trip("k2")], options=options),
    "delete": lambda table, options: table.delete(keys=["k1"], options=options),
    "delete where": lambda table, options: table.delete(where="uuid = 'k1'", options=options),
    "update": lambda table, options: table.update(set={"rider": "'new'"}, where="uuid = 'k1'", options=options),
    "insert_overwrite": lambda table, options: table.insert_overwrite([trip("k2")], options=options),
    "delete_partitions": lambda table, options: table.delete_partitions(["sf"], options=options),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_write_that_another_came_before_is_done_again(builder, plain, verb):
    result = VERBS[verb](crowded(builder, plain, 2), TINY_FILTERS)
    assert plain.latest_instant == result.instant


def test_what_came_before_is_merged_with_and_not_lost(builder, plain):
    crowded(builder, plain, 2).update(set={"fare": "fare + 1"}, where="uuid = 'k1'")
    assert plain.scan(["fare"]).to_arrow()["fare"].to_pylist() == [202.0]


def test_the_last_conflict_is_raised_when_the_retries_are_used_up(builder, plain):
    table = crowded(builder, plain, 10)
    with pytest.raises(WriteConflict):
        table.upsert([trip("k1", ts=9)], options={**TINY_FILTERS, RETRIES: 2})
    assert table.state.storage.left == 7


def test_no_retries_means_one_attempt(builder, plain):
    table = crowded(builder, plain, 10)
    with pytest.raises(WriteConflict):
        table.update(set={"rider": "'x'"}, options={**TINY_FILTERS, RETRIES: 0})
    assert table.state.storage.left == 9
    assert plain.timeline.pending_times == frozenset()


def test_a_write_that_is_still_under_way_is_not_waited_for():
    calls = []

    @restarting
    def verb(call):
        calls.append(call)
        raise WriteConflict("another write is under way", pending="20260101000000001")

    call = WriteCall(state=None, settings=Settings(), engine=None)
    with pytest.raises(WriteConflict):
        verb(call)
    assert len(calls) == 1


@pytest.mark.parametrize(("losses", "is_done"), [(3, True), (4, False)])
def test_a_write_whose_rows_were_lost_is_done_again_as_often_as_after_a_conflict(builder, plain, losses, is_done):
    calls = []

    @restarting
    def verb(call):
        calls.append(call)
        if len(calls) <= losses:
            raise RowsLost("gone")
        return "done"

    call = WriteCall(state=plain.state, settings=Settings(), engine=None)
    if is_done:
        assert verb(call) == "done"
    else:
        with pytest.raises(RowsLost):
            verb(call)
    assert len(calls) == 4


@pytest.mark.parametrize("version", [6, 9])
def test_a_write_during_which_the_tables_properties_changed_is_done_again_on_the_table_as_it_is(builder, version):
    plain = builder.create(TRIPS, version=version)
    plain.upsert([trip("k1", fare=1.0)], options=TINY_FILTERS)

    def meddle():
        plain.upsert([trip("k2", "oslo")], options={**TINY_FILTERS, "pyhudi.fence": "on"})

    late = builder.reopen(plain, Crowded(plain.state.storage, 1, meddle))
    late.upsert([trip("k1", ts=2, fare=7.0)], options=TINY_FILTERS)
    assert builder.rows_of(plain, "uuid", "fare") == [("k1", 7.0), ("k2", 1.0)]
    assert len(plain.state.storage.list(".hoodie/.fence")) == 2  # the other's, and ours


def test_rows_that_were_computed_before_another_commit_are_not_written(plain):
    seen = plain.timeline
    guarded = plain.unchanged_since(seen)
    plain.update(set={"fare": "fare + 100"}, where="uuid = 'k1'")
    before = plain.timeline.instants
    with pytest.raises(ReadOutdated, match="read them again"):
        guarded.upsert([trip("k1", ts=9, fare=7.0)], options=TINY_FILTERS)
    assert plain.timeline.instants == before
    assert plain.unchanged_since(plain.timeline).upsert([trip("k1", ts=9, fare=7.0)], options=TINY_FILTERS).updated == 1


def test_a_commit_after_the_begin_outdates_computed_rows_too(builder, plain):
    guarded = crowded(builder, plain, 1).unchanged_since(plain.timeline)
    with pytest.raises(ReadOutdated):
        guarded.upsert([trip("k1", ts=9, fare=7.0)], options=TINY_FILTERS)


def test_a_commit_that_was_taken_back_outdates_computed_rows(plain):
    plain.upsert([trip("k2")], options=TINY_FILTERS)
    guarded = plain.unchanged_since(plain.timeline)
    plain.rollback(plain.latest_instant, completed=True)
    with pytest.raises(ReadOutdated):
        guarded.upsert([trip("k1", ts=9, fare=7.0)], options=TINY_FILTERS)


class TakenBack(FaultyStorage):
    """A store where another process takes the newest commit back just before files are listed first."""

    def __init__(self, inner, take_back):
        super().__init__(inner)
        self._left = [take_back]

    def list_directory(self, prefix):
        while self._left and not prefix.startswith(".hoodie"):
            self._left.pop()()
        return super().list_directory(prefix)


@pytest.mark.parametrize("verb", VERBS)
def test_a_write_whose_listing_meets_a_rollback_is_done_again(builder, verb):
    plain = builder.create(TRIPS, options={"hoodie.metadata.enable": "false"})
    off = TINY_FILTERS | {"hoodie.metadata.enable": "false"}
    plain.insert([trip("k1", fare=1.0)], options=off)
    late = plain.insert([trip("k9", city="la")], options=off)
    beside = TakenBack(plain.state.storage, lambda: plain.rollback(late.instant, completed=True))

    result = VERBS[verb](builder.reopen(plain, beside), off)

    assert result.instant in plain.timeline.completed
    assert "k9" not in plain.scan(["uuid"]).to_arrow()["uuid"].to_pylist()


def test_a_write_that_is_committed_is_not_done_again_for_a_file_that_is_gone(plain, monkeypatch):
    def gone(*_):
        raise FileMissing("no such file", path="f")

    monkeypatch.setattr("pyhudi.commit.finish._result", gone)
    with pytest.raises(FileMissing):
        plain.insert([trip("k2")], options=TINY_FILTERS)

    assert plain.count() == 2

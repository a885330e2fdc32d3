"""Two writes that overlap in time: what each of them does about the other."""

import threading
from contextlib import nullcontext
from functools import partial

import pyarrow as pa
import pytest
from tests.building import TINY_FILTERS, TRIPS, TableBuilder, column, trip
from tests.faulty import FaultyStorage

from pyhudi.commit import begin as beginning
from pyhudi.errors import DuplicateKeys, FileMissing, InvalidInput, LockNotAcquired, SchemaMismatch, WriteConflict
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.queries.slices import visible_slices
from pyhudi.state.properties_file import update_properties
from pyhudi.storage.api import PutMode
from pyhudi.txn.group_locks import GroupLocks

ONCE = {**TINY_FILTERS, "hoodie.write.num.retries.on.conflict.failures": 0}
ONE_BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 1}
NEVER_SMALL = {**TINY_FILTERS, "hoodie.parquet.small.file.limit": 0}


class Stopping(FaultyStorage):
    """A store at which a write stops, once, just before its first data file: it has read, and has written nothing."""

    def __init__(self, inner, at_stop):
        super().__init__(inner)
        self._at_stop, self._is_done = at_stop, False

    def put(self, path, data, mode=PutMode.OVERWRITE):
        if path.endswith(".inflight") and ".rollback" not in path and not self._is_done:
            self._is_done = True
            self._at_stop()
        super().put(path, data, mode)


@pytest.fixture(params=["cow", "mor"])
def builder(request):
    return TableBuilder(request.param)


def overlapping(builder, table, early, late, between=lambda: None):
    """Let one write begin, then another, then finish the first, then the second; give both results."""
    began, may_go, results = threading.Event(), threading.Event(), {}

    def stop():
        began.set()
        assert may_go.wait(60)

    def run():
        results["early"] = early(builder.reopen(table, Stopping(table.state.storage, stop)))

    def let_the_early_one_finish():
        may_go.set()
        thread.join(60)

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(60)

    def stop_the_late_one():
        let_the_early_one_finish()
        between()

    try:
        results["late"] = late(builder.reopen(table, Stopping(table.state.storage, stop_the_late_one)))
    finally:
        let_the_early_one_finish()
    return results["early"], results["late"]


def after(builder, table, late, other):
    """Let another write begin and finish while this one works; give this one's result."""
    return late(builder.reopen(table, Stopping(table.state.storage, lambda: other(table))))


def upsert(*rows, **options):
    return lambda table: table.upsert(list(rows), options={**TINY_FILTERS, **options})


def fares(builder, table):
    return dict(builder.rows_of(table, "uuid", "fare"))


def instants(table):
    return [(str(one.action).removeprefix("delta"), str(one.state)) for one in table.timeline.instants]


def tokens(result):
    return sorted(path.rsplit("/", 1)[-1].split("_")[1] for path in result.files)


def files_on_disk(table):
    paths = (one.path for one in table.state.storage.list("") if not one.path.startswith(".hoodie/"))
    return sorted(path for path in paths if path.endswith(".parquet") or ".log." in path)


def group_of(path):
    return path.rsplit("/", 1)[-1].lstrip(".").split("_")[0]


@pytest.fixture(params=[6, 9])
def table(request, builder):
    """Return a table of two partitions with a file group each."""
    made = builder.create(TRIPS, version=request.param)
    made.upsert([trip("a1", "a"), trip("a2", "a"), trip("b1", "b")], options=TINY_FILTERS)
    return made


def test_a_commit_that_was_archived_before_it_was_seen_is_not_lost(builder, table):
    def archive():
        done = {one.requested_time for one in table.timeline.instants if one.is_completed}
        for file in table.state.storage.list_directory(table.state.layout.timeline_path).files:
            if file.name[:17] in done:
                table.state.storage.delete(file.path)

    early, late = upsert(trip("a1", "a", fare=5.0)), upsert(trip("a2", "a", fare=7.0))
    overlapping(builder, table, early, late, between=archive)
    assert {key: fare for key, fare in fares(builder, table).items() if key != "b1"} == {"a1": 5.0, "a2": 7.0}


@pytest.mark.parametrize("builder", ["cow"], indirect=True)
def test_a_write_whose_files_were_cleaned_away_after_another_commit_is_done_again(builder, table):
    before = [path for path in files_on_disk(table) if path.startswith("a/")]

    def update_and_clean(table):
        upsert(trip("a1", "a", fare=5.0))(table)
        for path in before:
            table.state.storage.delete(path)

    after(builder, table, upsert(trip("a2", "a", fare=7.0)), update_and_clean)
    assert {key: fare for key, fare in fares(builder, table).items() if key != "b1"} == {"a1": 5.0, "a2": 7.0}


def begins_after(monkeypatch, meanwhile):
    """Let something happen, once, when a write has looked at the table's columns and has not begun."""
    begin, is_done = beginning._begin, []

    def late(*given):
        if not is_done:
            is_done.append(True)
            meanwhile()
        return begin(*given)

    monkeypatch.setattr(beginning, "_begin", late)


def test_a_column_that_came_before_a_write_began_stays(builder, table, monkeypatch):
    null_filled = {"hoodie.write.set.null.for.missing.columns": True}
    begins_after(monkeypatch, lambda: upsert(trip("a1", "a", x="new"))(table))
    upsert(trip("a2", "a", fare=7.0), **null_filled)(builder.reopen(table, table.state.storage))
    assert sorted(builder.rows_of(table, "uuid", "fare", "x")) == [
        ("a1", 1.0, "new"),
        ("a2", 7.0, None),
        ("b1", 1.0, None),
    ]


def test_a_write_that_lacks_a_column_which_came_before_it_began_is_told_so(builder, table, monkeypatch):
    begins_after(monkeypatch, lambda: upsert(trip("a1", "a", x="new"))(table))
    with pytest.raises(SchemaMismatch, match="lack"):
        upsert(trip("a2", "a", fare=7.0))(builder.reopen(table, table.state.storage))


@pytest.mark.parametrize(
    "write",
    [
        lambda table: table.update(set={"fare": "fare + 6"}, where="uuid = 'a2'"),
        lambda table: table.delete(where="uuid = 'a2'"),
        lambda table: table.delete(keys=["a2"]),
        lambda table: merge(trip("a2", "a", fare=7.0))(table).when_matched_update({"fare": "s.fare"}).execute(),
        lambda table: merge(trip("a2", "a", fare=7.0))(table).when_matched_delete().execute(),
    ],
)
def test_a_column_that_came_before_a_change_began_stays(builder, table, monkeypatch, write):
    begins_after(monkeypatch, lambda: upsert(trip("a1", "a", x="new"))(table))
    write(builder.reopen(table, table.state.storage))
    assert dict(builder.rows_of(table, "uuid", "x"))["a1"] == "new"


@pytest.mark.parametrize(("isolation", "left"), [("serializable", {"b1"}), ("write_serializable", {"a3", "b1"})])
def test_a_partition_that_comes_while_others_are_taken_away(builder, table, isolation, left):
    def take_away(table):
        table.delete_partitions(["a*"], options={**TINY_FILTERS, "pyhudi.isolation": isolation})

    after(builder, table, take_away, upsert(trip("a3", "a-new")))
    assert set(builder.rows_of(table, "uuid")) == {(key,) for key in left}


@pytest.mark.parametrize("builder", ["cow"], indirect=True)
def test_a_file_that_is_gone_though_nobody_else_has_written_is_told_as_missing(builder, table):
    def lose(table):
        for path in files_on_disk(table):
            table.state.storage.delete(path)

    with pytest.raises(FileMissing):
        after(builder, table, upsert(trip("a2", "a", fare=7.0)), lose)


# written again in place


def merge(*rows, on="t.uuid = s.uuid and t.city = s.city", **options):
    def begun(table):
        return table.merge(pa.Table.from_pylist(list(rows), schema=TRIPS), on, options={**TINY_FILTERS, **options})

    return begun


GLOBAL = {"hoodie.index.type": "GLOBAL_SIMPLE"}
STAYING = {**GLOBAL, "hoodie.simple.index.update.partition.path": False}
SEVEN = trip("a2", "a", ts=2, fare=7.0), trip("b1", "b", ts=2, fare=7.0)
NEW = trip("a3", "a", fare=7.0)


def merge_and_insert(table, **said):
    merging = merge(*SEVEN, NEW, **said)(table).when_matched_update({"fare": "t.fare + s.fare"})
    return merging.when_not_matched_insert_all().execute()


def merge_by_source(table):
    merging = merge(SEVEN[1])(table).when_matched_update_all()
    return merging.when_not_matched_by_source_update({"fare": "t.fare + 7"}).execute()


LATE = {
    "upsert": (upsert(trip("a2", "a", ts=2, fare=7.0), trip("b1", "b", ts=2, fare=7.0)), {"a2": 7.0, "b1": 7.0}, 2),
    "update": (lambda table: table.update(set={"fare": "fare + 7"}), {"a1": 12.0, "a2": 8.0, "b1": 8.0}, 2),
    "delete keys": (lambda table: table.delete(keys=["a2", "b1"], options=TINY_FILTERS), {"a2": None, "b1": None}, 2),
    "delete where": (lambda table: table.delete(where="uuid <> 'a1'"), {"a2": None, "b1": None}, 2),
    "insert": (
        lambda table: table.insert([trip("a3", "a"), trip("b3", "b")], options=TINY_FILTERS),
        {"a3": 1.0, "b3": 1.0},
        2,
    ),
    "insert without duplicates": (
        lambda table: table.insert([*SEVEN, NEW, trip("b3", "b")], duplicates="drop", options=TINY_FILTERS),
        {"a3": 7.0, "b3": 1.0},
        2,
    ),
    "merge": (merge_and_insert, {"a2": 8.0, "b1": 8.0, "a3": 7.0}, 2),
    "merge anywhere": (partial(merge_and_insert, on="t.uuid = s.uuid"), {"a2": 8.0, "b1": 8.0, "a3": 7.0}, 2),
    "merge by source": (merge_by_source, {"a1": 12.0, "a2": 8.0, "b1": 7.0}, 2),
    "upsert that moves": (upsert(trip("a2", "b", ts=2, fare=7.0), **GLOBAL), {"a2": 7.0}, 2),
    "upsert that stays": (upsert(trip("a2", "b", ts=2, fare=7.0), SEVEN[1], **STAYING), {"a2": 7.0, "b1": 7.0}, 2),
    "global delete": (lambda table: table.delete(keys=["a2", "b1"], options=GLOBAL), {"a2": None, "b1": None}, 2),
}


GROWING = {"insert", "insert without duplicates", "merge", "merge anywhere"}
"""Merge-on-read: new rows go to a base file, which the logs of others that came meanwhile would not be in."""


@pytest.mark.parametrize("verb", LATE)
def test_only_the_file_groups_that_an_earlier_writer_rewrote_are_written_again(builder, table, verb):
    late, expected, files_count = LATE[verb]
    if verb in {"upsert that moves", "upsert that stays", "global delete"}:
        update_properties(table.state.storage, table.state.env, GLOBAL)
    before = fares(builder, table)
    first, second = overlapping(builder, table, upsert(trip("a1", "a", ts=2, fare=5.0)), late)
    wanted = {**before, "a1": 5.0, **expected}
    assert fares(builder, table) == {key: fare for key, fare in wanted.items() if fare is not None}
    assert set(second.files) <= set(files_on_disk(table))
    if builder.table_type == "mor" and verb in GROWING:
        return
    assert first.instant < second.instant < first.completion_time or table.state.layout.table_version == 6
    assert instants(table) == [("commit", "completed")] * 3
    assert len(second.files) == files_count
    assert len(files_on_disk(table)) == 2 + 1 + files_count
    if builder.table_type == "cow":
        assert sorted(token.split("-")[1] for token in tokens(second)) == ["0", "1"]


def test_a_file_group_that_needs_no_change_any_more_is_left_out(builder, table):
    def delete(one):
        return one.delete(where="uuid = 'a2'", options=TINY_FILTERS)

    _, second = overlapping(builder, table, delete, delete)
    assert (second.deleted, second.files) == (0, ())
    assert fares(builder, table) == {"a1": 1.0, "b1": 1.0}


def test_without_retries_the_conflict_names_both_sides(builder, table):
    with pytest.raises(WriteConflict) as caught:
        overlapping(
            builder,
            table,
            upsert(trip("a1", "a", ts=2, fare=5.0)),
            lambda one: one.update(set={"fare": "7.0"}, options=ONCE),
        )
    values = caught.value.values
    assert values["other"] == table.latest_instant
    assert values["file_groups"] == values["their_file_groups"]
    assert values["file_groups"][0].startswith("a/")


def test_a_writer_that_began_later_makes_it_begin_anew(builder, table):
    result = after(
        builder,
        table,
        upsert(trip("a2", "a", ts=2, fare=7.0)),
        upsert(trip("a1", "a", ts=2, fare=5.0)),
    )
    assert ("rollback", "completed") in instants(table)
    assert result.instant == table.latest_instant
    assert fares(builder, table) == {"a1": 5.0, "a2": 7.0, "b1": 1.0}


def test_a_file_group_that_was_taken_away_makes_it_begin_anew(builder, table):
    def overwrite(one):
        return one.insert_overwrite([trip("a1", "a", fare=5.0)], options=TINY_FILTERS)

    _, second = overlapping(builder, table, overwrite, upsert(trip("a1", "a", ts=2, fare=7.0)))
    assert second.updated == 1
    assert fares(builder, table) == {"a1": 7.0, "b1": 1.0}


def test_a_key_that_came_into_a_rewritten_file_makes_it_begin_anew(builder, table):
    apart = {"hoodie.parquet.max.file.size": 1, "hoodie.parquet.small.file.limit": 0}  # new rows get files of their own
    late = upsert(trip("a1", "a", ts=2, fare=7.0), trip("new", "a", ts=2, fare=7.0), **apart)
    overlapping(builder, table, upsert(trip("a1", "a", ts=2, fare=5.0), trip("new", "a")), late)
    rows = [row for row in builder.rows_of(table, "uuid", "fare") if row[0] in {"a1", "new"}]
    assert rows == [("a1", 7.0), ("new", 7.0)]


def test_a_record_that_changes_partition_is_compared_with_what_came_meanwhile(builder, table):
    options = {"hoodie.index.type": "GLOBAL_SIMPLE"}
    newest, moving = trip("a1", "a", ts=9, fare=9.0), trip("a1", "b", ts=5, fare=5.0)
    overlapping(builder, table, upsert(newest, **options), upsert(moving, **options))
    assert builder.rows_of(table, "city", "fare", filter="uuid = 'a1'") == [("a", 9.0)]


def instants_in_place(table):
    """Return whether nothing was done from the start."""
    return instants(table) == [("commit", "completed")] * 3


def test_a_condition_of_a_merge_is_evaluated_on_what_others_wrote(builder, table):
    def late(one):
        merging = merge(*SEVEN, trip("a1", "a", ts=2, fare=7.0))(one).when_matched_delete("t.fare >= 5")
        return merging.when_matched_update({"fare": "t.fare + s.fare"}).execute()

    _, second = overlapping(builder, table, upsert(trip("a1", "a", ts=2, fare=5.0)), late)
    assert (second.deleted, second.updated) == (1, 2)
    assert fares(builder, table) == {"a2": 8.0, "b1": 8.0}
    assert instants_in_place(table)


NOW_ELSEWHERE = {
    "merge": merge_and_insert,
    "merge anywhere": partial(merge_and_insert, on="t.uuid = s.uuid"),
    "insert without duplicates": lambda table: table.insert([NEW], duplicates="drop", options=TINY_FILTERS),
}


@pytest.mark.parametrize("verb", NOW_ELSEWHERE)
def test_a_new_key_that_came_into_a_rewritten_file_is_met_there(builder, table, verb):
    early = upsert(trip("a1", "a", ts=2, fare=5.0), trip("a3", "a", fare=3.0))
    overlapping(builder, table, early, NOW_ELSEWHERE[verb])
    rows = builder.rows_of(table, "uuid", "fare", filter="uuid = 'a3'")
    assert rows == [("a3", 3.0 if verb.startswith("insert") else 10.0)]


@pytest.mark.parametrize("verb", ["upsert that moves", "upsert that stays"])
def test_a_record_that_went_meanwhile_is_new_where_its_row_says(builder, table, verb):
    early = partial(table_delete, "a2")
    overlapping(builder, table, early, LATE[verb][0])
    assert builder.rows_of(table, "city", "fare", filter="uuid = 'a2'") == [("b", 7.0)]
    assert not instants_in_place(table)


def table_delete(key, table):
    return table.delete(keys=[key], options=TINY_FILTERS)


# keys


def new_key(*cities, fare=7.0, **options):
    return upsert(*(trip("new", city, ts=2, fare=fare) for city in cities), **options)


def test_two_upserts_of_one_new_key_make_one_row(builder, table):
    after(builder, table, new_key("c"), new_key("c", fare=5.0))
    assert builder.rows_of(table, "uuid", "fare", filter="city = 'c'") == [("new", 7.0)]


def test_the_same_key_in_another_partition_is_another_record(builder, table):
    after(builder, table, new_key("c"), new_key("d"))
    assert ("rollback", "completed") not in instants(table)
    assert len(builder.rows_of(table, "uuid", filter="uuid = 'new'")) == 2


@pytest.mark.parametrize("index", ["GLOBAL_SIMPLE", "GLOBAL_BLOOM"])
def test_with_a_global_index_a_key_is_one_record_wherever_it_is(builder, table, index):
    options = {"hoodie.index.type": index}
    after(builder, table, new_key("c", **options), new_key("d", **options))
    assert builder.rows_of(table, "uuid", "city", filter="uuid = 'new'") == [("new", "c")]


@pytest.mark.parametrize("policy", ["drop", "fail"])
def test_an_insert_that_minds_duplicates_minds_those_that_come_meanwhile(builder, table, policy):
    def insert(one):
        return one.insert([trip("new", "c", fare=7.0)], duplicates=policy, options=TINY_FILTERS)

    with pytest.raises(DuplicateKeys) if policy == "fail" else nullcontext():
        after(builder, table, insert, new_key("c", fare=5.0))
    assert builder.rows_of(table, "uuid", "fare", filter="city = 'c'") == [("new", 5.0)]


def test_an_insert_that_does_not_look_keys_up_does_not_mind(builder, table):
    after(builder, table, lambda one: one.insert([trip("new", "c")], options=TINY_FILTERS), new_key("c"))
    assert len(builder.rows_of(table, "uuid", filter="city = 'c'")) == 2


def test_a_delete_finds_a_key_that_came_meanwhile(builder, table):
    after(builder, table, lambda one: one.delete(keys=["new"], options=TINY_FILTERS), new_key("c"))
    assert builder.rows_of(table, "uuid", filter="city = 'c'") == []


def test_a_merge_that_inserts_finds_a_key_that_came_meanwhile(builder, table):
    def merge(one):
        on = "t.uuid = s.uuid and t.city = s.city"
        source = pa.Table.from_pylist([trip("new", "c", fare=7.0)], schema=TRIPS)
        merging = one.merge(source, on, options=TINY_FILTERS)
        return merging.when_matched_update({"fare": "t.fare + s.fare"}).when_not_matched_insert_all().execute()

    after(builder, table, merge, new_key("c", fare=5.0))
    assert builder.rows_of(table, "uuid", "fare", filter="city = 'c'") == [("new", 12.0)]


@pytest.mark.parametrize("version", [6, 9])
def test_two_writers_of_a_new_bucket_make_one_file_group(builder, version):
    table = builder.create(TRIPS, version=version)
    upsert(trip("first", "a"), **ONE_BUCKET)(table)
    after(builder, table, new_key("c", **ONE_BUCKET), upsert(trip("other", "c"), **ONE_BUCKET))
    assert len({group_of(one) for one in files_on_disk(table) if one.startswith("c/")}) == 1
    assert column(table, "uuid", filter="city = 'c'") == ["new", "other"]


def test_a_write_that_forgot_the_index_beside_the_first_that_names_it_uses_it_too(builder):
    table = builder.create(TRIPS)
    after(builder, table, upsert(trip("forgot", "c")), upsert(trip("told", "c"), **ONE_BUCKET))
    assert len({group_of(one) for one in files_on_disk(table) if one.startswith("c/")}) == 1
    assert column(table, "uuid") == ["forgot", "told"]


def test_a_write_that_names_the_index_beside_the_first_that_forgot_it_is_refused(builder):
    class Naming(FaultyStorage):
        is_done = False

        def guard(self, path, timeout_s):
            if not self.is_done:
                self.is_done = True
                upsert(trip("forgot", "c"))(table)
            return super().guard(path, timeout_s)

    table = builder.create(TRIPS)
    with pytest.raises(InvalidInput, match="not written with the bucket index"):
        upsert(trip("told", "c"), **ONE_BUCKET)(builder.reopen(table, Naming(table.state.storage)))
    assert builder.reopen(table).config.index == {}


def test_looking_for_keys_costs_what_the_others_wrote_and_not_what_the_table_has(builder):
    def opened(groups_count):
        table = builder.create(TRIPS)
        table.insert([trip(f"k{n}", f"p{n}") for n in range(groups_count)], options=TINY_FILTERS)
        watched = Stopping(table.state.storage, lambda: new_key("c", fare=5.0)(table))
        late = builder.reopen(table, watched)
        late.upsert([trip(f"k{n}", f"p{n}") for n in range(groups_count)] + [trip("x", "c")], options=TINY_FILTERS)
        return [one.path for one in watched.operations if one.name == "open_input" and one.path.startswith("c/")]

    assert len(opened(2)) == len(opened(12)) == 1


# waiting instead


PESSIMISTIC = {**TINY_FILTERS, "hoodie.write.concurrency.mode": "PESSIMISTIC_CONCURRENCY_CONTROL"}


class Waiting(Stopping):
    """A store at which a write stops, once, just before it locks its first file group."""

    def guard(self, path, timeout_s):
        if "/groups/" in path and not self._is_done:
            self._is_done = True
            self._at_stop()
        return super().guard(path, timeout_s)


def test_pessimistic_writers_of_one_file_group_write_one_after_the_other(builder, table):
    began, may_go = threading.Event(), threading.Event()

    def stop():
        began.set()
        assert may_go.wait(60)

    early = builder.reopen(table, Stopping(table.state.storage, stop))
    thread = threading.Thread(target=upsert(trip("a1", "a", ts=2, fare=5.0), **PESSIMISTIC), args=(early,))
    thread.start()
    assert began.wait(60)
    busy = {**PESSIMISTIC, "hoodie.write.lock.wait_time_ms": 0}
    with pytest.raises(LockNotAcquired):
        upsert(trip("a2", "a", ts=2, fare=7.0), **busy)(table)

    def finish():
        may_go.set()
        thread.join(60)

    watched = Waiting(table.state.storage, finish)
    result = upsert(trip("a2", "a", ts=2, fare=7.0), **PESSIMISTIC)(builder.reopen(table, watched))
    written = [one.path for one in watched.operations if one.name == "open_output"]
    assert written == list(result.files)  # nothing was written in vain
    assert fares(builder, table) == {"a1": 5.0, "a2": 7.0, "b1": 1.0}


def test_a_pessimistic_writer_keeps_its_locks_while_it_is_done_again(builder, table):
    """The writer it waited for has changed the file group; no writer comes before it a second time."""
    turned_away = []
    (group,) = {one.group for one in visible_slices(file_index(table.state, table.timeline), ["a"])}
    no_wait = Settings({"hoodie.write.lock.wait_time_ms": "0"})

    class Twice(Waiting):
        """A store at which another writer tries to come in between, when the write begins a second time."""

        def put(self, path, data, mode=PutMode.OVERWRITE):
            super().put(path, data, mode)
            if self._is_done and path.endswith("commit.requested"):
                with pytest.raises(LockNotAcquired), GroupLocks() as others:
                    others.hold(table.state, no_wait, {group})
                turned_away.append(path)

    store = Twice(table.state.storage, lambda: upsert(trip("a1", "a", ts=2, fare=5.0), **PESSIMISTIC)(table))
    once_more = {**PESSIMISTIC, "hoodie.write.num.retries.on.conflict.failures": 1}
    result = upsert(trip("a2", "a", ts=2, fare=7.0), **once_more)(builder.reopen(table, store))
    assert len(turned_away) == 1
    assert result.updated == 1
    assert fares(builder, table) == {"a1": 5.0, "a2": 7.0, "b1": 1.0}
    upsert(trip("a2", "a", ts=3, fare=9.0), **PESSIMISTIC)(table)  # and they are given back


# isolation


def colours(builder):
    table = builder.create(TRIPS)
    table.upsert([trip("x", "a", rider="white"), trip("y", "b", rider="black")], options=TINY_FILTERS)
    return table


def paint(old, new, **said):
    return lambda table: table.update(set={"rider": f"'{new}'"}, where=f"rider = '{old}'", options=ONCE, **said)


def test_write_skew_is_possible_unless_asked_for_otherwise(builder):
    table = colours(builder)
    after(builder, table, paint("white", "black"), paint("black", "white"))
    assert column(table, "rider") == ["black", "white"]


def test_serializable_writes_do_not_skew(builder):
    table = colours(builder)
    with pytest.raises(WriteConflict, match="has read"):
        after(builder, table, paint("white", "black", isolation="serializable"), paint("black", "white"))
    assert column(table, "rider") == ["white", "white"]


SERIALIZABLE = {
    "delete": lambda table: table.delete(where="rider = 'white'", options=ONCE, isolation="serializable"),
    "update": paint("white", "grey", isolation="serializable"),
    "merge": lambda table: (
        table.merge(
            pa.Table.from_pylist([trip("y", "b")], schema=TRIPS),
            "t.uuid = s.uuid and t.city = s.city",
            options=ONCE,
            isolation="serializable",
        )
        .when_matched_delete("t.rider = 'white'")
        .execute()
    ),
}


@pytest.mark.parametrize("verb", SERIALIZABLE)
def test_a_row_that_was_read_and_left_alone_counts(builder, verb):
    table = colours(builder)
    with pytest.raises(WriteConflict):
        after(builder, table, SERIALIZABLE[verb], paint("black", "white"))


def test_a_row_that_comes_where_was_looked_counts_and_elsewhere_not(builder):
    table = colours(builder)

    def delete(one):
        return one.delete(where="city = 'a' and rider = 'white'", options=ONCE, isolation="serializable")

    after(builder, table, delete, upsert(trip("z", "c", rider="white")))
    with pytest.raises(WriteConflict, match="has read"):
        after(builder, table, delete, lambda one: one.insert([trip("z", "a", rider="white")], options=NEVER_SMALL))


def test_a_serializable_write_is_done_again_as_any_other(builder):
    table = colours(builder)

    def late(one):
        return one.update(set={"rider": "'black'"}, where="rider = 'white'", isolation="serializable")

    after(builder, table, late, paint("black", "white"))
    assert column(table, "rider") == ["black", "black"]


def test_isolation_may_be_said_by_the_options_too(builder):
    table, option = colours(builder), {**ONCE, "pyhudi.isolation": "serializable"}

    def late(one):
        return one.update(set={"rider": "'black'"}, where="rider = 'white'", options=option)

    with pytest.raises(WriteConflict, match="has read"):
        after(builder, table, late, paint("black", "white"))


@pytest.mark.parametrize("isolation", ["write_serializable", "serializable"])
def test_an_insert_that_left_a_row_out_because_of_one_that_went_is_done_again(builder, table, isolation):
    options = {**NEVER_SMALL, "pyhudi.isolation": isolation}

    def insert(one):
        return one.insert([trip("a1", "a", fare=7.0), trip("a9", "a")], duplicates="drop", options=options)

    result = after(builder, table, insert, lambda one: one.delete(keys=["a1"], options=TINY_FILTERS))
    assert (result.rejected, fares(builder, table).get("a1")) == ((1, None) if "write" in isolation else (0, 7.0))


def test_an_isolation_that_is_none_is_refused(builder):
    with pytest.raises(ValueError, match="isolation"):
        colours(builder).delete(where="fare < 0", isolation="perfect")


# columns


def test_columns_that_two_writers_add_are_both_there(builder, table):
    def adding(name):
        wider = TRIPS.append(pa.field(name, pa.string()))
        rows = pa.Table.from_pylist([trip(name, "c", **{name: "v"})], schema=wider)
        options = {**TINY_FILTERS, "hoodie.write.set.null.for.missing.columns": True}
        return lambda one: one.upsert(rows, options=options)

    after(builder, table, adding("x"), adding("y"))
    assert {"x", "y"} <= set(table.schema.names)

"""What Apache Hudi reads: the order of overlapping writes, time travel and the bounds of incremental reads.

Each test is one claim of docs/formats/settled.md. A later release that thinks otherwise turns it red.
"""

import pytest
from tests.peers.crafted import INCREMENTAL, MERGE_ON_READ, asked_of, completion_of, requested_of
from tests.peers.peer import NEWEST, PeerError

BEGIN = "hoodie.datasource.read.begin.instanttime"
END = "hoodie.datasource.read.end.instanttime"
HOLES = "hoodie.read.timeline.holes.resolution.policy"
COMMIT_TIME = {
    "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
    "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
}


def three_commits(craft):
    """Make a table of one row a commit; every id says in which."""
    table = craft()
    for one in "123":
        table.write([{"id": one}])
    return table


def refused(read, *arguments):
    """Return what Apache Hudi says instead of rows."""
    with pytest.raises(PeerError) as error:
        read(*arguments)
    return str(error.value)


def swap(first, second):
    """Exchange the names of two files, without the checksums that Hadoop keeps."""
    between = first.with_name("between")
    for one, other in ((first, between), (second, first), (between, second)):
        one.rename(other)
    for one in (first, second):
        one.with_name(f".{one.name}.crc").unlink(missing_ok=True)


@asked_of(9, 8)
@pytest.mark.parametrize("ordering", [COMMIT_TIME, {}], ids=["commit_time", "equal_event_times"])
def test_of_two_delta_commits_the_one_requested_last_wins_though_it_completed_first(craft, ordering):
    table = craft(**MERGE_ON_READ, **ordering)
    for note in ("base", "requested first", "requested last"):
        table.write([{"id": "a", "note": note}])
    _, first, last = table.completed("deltacommit")
    first.rename(first.with_name(f"{requested_of(first)}_{int(completion_of(last)) + 1}.deltacommit"))
    assert table.notes() == {"a": "requested last"}


@asked_of(6)
@pytest.mark.parametrize("ordering", [COMMIT_TIME, {}], ids=["commit_time", "equal_event_times"])
def test_at_version_6_the_delta_commit_with_the_higher_log_number_wins_though_it_was_requested_first(craft, ordering):
    table = craft(**MERGE_ON_READ, **ordering)
    for note in ("base", "requested first", "requested last"):
        table.write([{"id": "a", "note": note}])
    swap(*table.files(".*.log.*"))
    assert table.notes() == {"a": "requested first"}


def late_delta_commit(craft):
    """Let a compaction be requested and completed while a delta commit runs, which then completes."""
    table = craft(**MERGE_ON_READ, **COMMIT_TIME)
    table.write([{"id": "a", "note": "base"}, {"id": "b", "note": "base"}])
    table.write([{"id": "a", "note": "late"}])
    late = table.completed("deltacommit")[-1]
    aside = late.rename(table.path.parent / late.name)
    compact = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    table.write([{"id": "b", "note": "compacted"}], **compact)
    (compaction,) = table.completed("commit")
    if table.version == 6:
        return table, aside.rename(late)
    return table, aside.rename(late.with_name(f"{requested_of(late)}_{int(completion_of(compaction)) + 1}.deltacommit"))


@asked_of(9, 8)
def test_a_log_is_of_the_file_slice_that_was_newest_when_it_completed(craft):
    table, late = late_delta_commit(craft)
    assert table.notes() == {"a": "late", "b": "compacted"}
    (compaction,) = table.completed("commit")
    late.rename(late.with_name(f"{requested_of(late)}_{int(requested_of(compaction)) - 1}.deltacommit"))
    assert table.notes() == {"a": "base", "b": "compacted"}


@asked_of(6)
def test_at_version_6_a_delta_commit_that_a_compaction_overtook_is_lost(craft):
    table, _ = late_delta_commit(craft)
    assert table.notes() == {"a": "base", "b": "compacted"}


@asked_of()
def test_as_of_takes_what_was_requested_at_or_before(craft):
    table = three_commits(craft)
    _, second, third = table.completed()
    assert table.ids({"as.of.instant": requested_of(second)}) == "12"
    assert table.ids({"as.of.instant": f"{int(requested_of(second)) - 1}"}) == "1"
    if table.version > 6:
        assert requested_of(third) > completion_of(second)
        second.rename(second.with_name(f"{requested_of(second)}_{int(completion_of(third)) + 1}.commit"))
        assert table.ids({"as.of.instant": requested_of(second)}) == "12"


@asked_of()
def test_as_of_spells_a_second_as_its_beginning_in_digits_and_as_its_end_in_words(craft):
    table = craft()
    table.write([{"id": "1"}])
    (only,) = table.completed()
    time = requested_of(only)
    words = f"{time[:4]}-{time[4:6]}-{time[6:8]} {time[8:10]}:{time[10:12]}:{time[12:14]}"
    assert [table.ids({"as.of.instant": text}) for text in (time[:14], words[:10])] == ["", ""]
    assert [table.ids({"as.of.instant": text}) for text in (words, f"{words}.{time[14:]}")] == ["1", "1"]
    of_newest = [words.replace(" ", "T"), "4102444800000"]
    for text in of_newest:
        if table.peer.release == NEWEST:
            assert table.ids({"as.of.instant": text}) == "1"
    for text in [time[:8], time[:12], f"{words}Z", *([] if table.peer.release == NEWEST else of_newest)]:
        said = refused(table.ids, {"as.of.instant": text})
        assert "Unsupported query instant time format" in said or "DateTimeException" in said


@asked_of()
def test_as_of_is_refused_at_and_behind_a_pending_commit(craft):
    table = three_commits(craft)
    first, second, third = table.completed()
    second.unlink()
    assert table.ids({"as.of.instant": requested_of(first)}) == "1"
    for time in (requested_of(second), requested_of(third), "20990101000000000"):
        said = refused(table.ids, {"as.of.instant": time})
        assert "must be earlier than the first incomplete commit timestamp" in said


@asked_of()
def test_as_of_passes_over_a_pending_clustering(craft):
    table = three_commits(craft)
    table.write([{"id": "4"}], **{"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"})
    (clustering,) = table.completed("replacecommit")
    clustering.unlink()
    assert table.ids({"as.of.instant": "20990101000000000"}) == "1234"


@asked_of(9, 8)
def test_incremental_bounds_are_completion_times_and_rows_are_found_by_requested_ones(craft):
    table = three_commits(craft)
    first, second, third = table.completed()
    first.rename(first.with_name(f"{requested_of(first)}_{int(completion_of(second)) + 1}.commit"))
    takes_begin = table.peer.release == "1.0.2"
    at = INCREMENTAL | {BEGIN: completion_of(second)}
    assert table.ids(at) == ("123" if takes_begin else "13")
    assert table.ids(at | {END: f"{int(completion_of(second)) + 1}"}) == ("12" if takes_begin else "1")
    assert table.ids(INCREMENTAL | {BEGIN: "000", END: completion_of(second)}) == "2"
    assert table.ids(INCREMENTAL | {BEGIN: completion_of(third)}) == ("3" if takes_begin else "")


@asked_of(6)
def test_at_version_6_incremental_bounds_are_requested_times_begin_out_end_in(craft):
    table = three_commits(craft)
    first, second, third = map(requested_of, table.completed())
    assert table.ids(INCREMENTAL | {BEGIN: first}) == "23"
    assert table.ids(INCREMENTAL | {BEGIN: first, END: second}) == "2"
    assert table.ids(INCREMENTAL | {BEGIN: "000", END: second}) == "12"
    assert table.ids(INCREMENTAL | {BEGIN: third}) == ""


@asked_of()
def test_an_incremental_read_needs_a_begin(craft):
    table = three_commits(craft)
    for options in ({}, {END: requested_of(table.completed()[1])}):
        assert f"using option {BEGIN}" in refused(table.ids, INCREMENTAL | options)


@asked_of()
def test_earliest_is_no_begin_that_can_be_relied_upon(craft):
    table = three_commits(craft)
    earliest = INCREMENTAL | {BEGIN: "earliest"}
    newest = table.peer.release == NEWEST and table.version > 6
    assert table.ids(earliest) == ("3" if newest else "")
    end = earliest | {END: completion_of(table.completed()[1])}
    if table.peer.release == "1.0.2":
        assert "NullPointerException" in refused(table.ids, end)
    else:
        assert table.ids(end) == ("12" if newest else "")


@asked_of(9, 8)
def test_an_incremental_read_passes_over_pending_commits(craft):
    table = three_commits(craft)
    table.completed()[1].unlink()
    for policy in ("FAIL", "BLOCK", "USE_TRANSITION_TIME"):
        assert table.ids(INCREMENTAL | {BEGIN: "000", HOLES: policy}) == "13"


@asked_of(6)
def test_at_version_6_an_incremental_read_fails_at_pending_commits_or_stops_or_goes_by_file_dates(craft):
    table = three_commits(craft)
    table.completed()[1].unlink()
    begin = INCREMENTAL | {BEGIN: "000"}
    for options in ({}, {HOLES: "FAIL"}):
        assert "Found hollow commit" in refused(table.ids, begin | options)
    assert table.ids(begin | {HOLES: "BLOCK"}) == "1"
    assert set(table.ids(begin | {HOLES: "USE_TRANSITION_TIME"})) >= {"1", "3"}


@asked_of()
def test_a_compaction_is_planned_beside_a_pending_delta_commit(craft):
    table = craft(**MERGE_ON_READ)
    table.write([{"id": "a"}])
    table.write([{"id": "a"}])
    table.completed("deltacommit")[-1].unlink()
    plan = {"hoodie.compact.schedule.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
    table.write([{"id": "a"}], **plan)
    assert len(list(table.timeline.glob("*.compaction.requested"))) == 1

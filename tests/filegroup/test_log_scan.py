"""Blocks of logs: which count, in which order."""

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import pytest
from tests.building import TIMELINE_LAYOUTS
from tests.fixed_env import FixedEnv

from pyhudi.errors import CorruptData, Unsupported
from pyhudi.filegroup.log_scan import VisibleInstants, blocks_to_merge
from pyhudi.filegroup.model import FileId, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_log_file
from pyhudi.formats.log import BlockKind, HeaderKey, NewBlock, encode_blocks, rollback_block
from pyhudi.storage.api import FileStatus
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.instant import Action, Instant, InstantTime, State
from pyhudi.timeline.view import as_of, hide, timeline_of, without


def block(instant, content=b"", *, kind=BlockKind.AVRO, **headers):
    said = {HeaderKey.INSTANT_TIME: instant} | {HeaderKey[name.upper()]: text for name, text in headers.items()}
    return NewBlock(kind=kind, headers=said, content=content)


def compacted(instant, *originals):
    return block(instant, compacted_block_times=",".join(originals))


def attempt(instant, number, sequence, content=b""):
    return block(instant, content, block_identifier=f"{number},{sequence}")


@dataclass(frozen=True)
class Said:
    """What commits say of logs."""

    committed_bytes: Callable = lambda log: 0
    is_alien: Callable = lambda log, one: False


def scan(*logs, counts=lambda log, one: True, commits=None, **said):
    """Write logs of some blocks each, and return instant and content of those that count."""
    storage, files = MemoryStorage(env=FixedEnv()), []
    for number, blocks in enumerate(logs, start=1):
        data = b"".join(one if isinstance(one, bytes) else bytes(encode_blocks([one])) for one in blocks)
        file = LogFile(
            partition=PartitionPath("p"),
            file_id=FileId("f-0"),
            instant=InstantTime("100"),
            version=number,
            write_token="0-0-0",
            suffix="",
            size_bytes=len(data),
        )
        storage.put(file.path, data)
        files.append(file)
    return [
        (one.instant, one.read_content()) for one in blocks_to_merge(storage, files, counts, commits or Said(**said))
    ]


def instants(*logs, **said):
    return [instant for instant, _ in scan(*logs, **said)]


def test_blocks_come_in_the_order_of_files_and_of_places_in_them():
    found = scan([block("200", b"a"), block("200", b"b")], [block("150", b"c")])
    assert found == [("200", b"a"), ("200", b"b"), ("150", b"c")]


def test_blocks_of_one_instant_stand_where_its_first_one_does():
    assert instants([block("200")], [block("300")], [block("200")]) == ["200", "200", "300"]


def test_what_is_torn_is_passed_over():
    whole = bytes(encode_blocks([block("200")]))
    assert instants([whole[:-20], block("300")], [block("400")]) == ["300", "400"]


def test_what_cannot_be_read_within_what_a_commit_wrote_is_damage():
    whole = bytes(encode_blocks([block("200")]))
    logs = [whole[:-20], block("300")], [block("400")]
    with pytest.raises(CorruptData, match=r"cannot be read.*\.f-0_100\.log\.1.*position=0") as refused:
        scan(*logs, committed_bytes=lambda log: 1 if log.version == 1 else 0)
    assert refused.value.values["path"] == "p/.f-0_100.log.1_0-0-0"
    assert [instant for instant, _ in scan(*logs, committed_bytes=lambda log: 0)] == ["300", "400"]


def test_what_is_torn_behind_what_commits_wrote_is_passed_over():
    whole = bytes(encode_blocks([block("200")]))
    found = instants([whole, whole[:-20], block("300")], committed_bytes=lambda log: len(whole))
    assert found == ["200", "300"]


def test_in_layout_2_all_of_a_log_is_of_its_commit_and_in_layout_1_what_commits_say():
    log = LogFile(
        partition=PartitionPath(""),
        file_id=FileId("f"),
        instant=InstantTime("100"),
        version=1,
        write_token="0-0-0",
        suffix="",
        size_bytes=70,
    )
    assert VisibleInstants.of(timeline_of([], TIMELINE_LAYOUTS[2]), {}).committed_bytes(log) == 70
    assert VisibleInstants.of(timeline_of([], TIMELINE_LAYOUTS[1]), {log.path: 50}).committed_bytes(log) == 50
    assert VisibleInstants.of(timeline_of([], TIMELINE_LAYOUTS[1]), {}).committed_bytes(log) == 0


def test_blocks_of_instants_that_do_not_count_are_left_out():
    assert instants([block("200"), block("300")], counts=lambda log, one: one.instant != "200") == ["300"]


def test_a_command_takes_back_what_comes_before_it_only():
    found = scan([block("200", b"1"), block("300")], [rollback_block("400", "200")], [block("200", b"2")])
    assert found == [("300", b""), ("200", b"2")]


def test_a_command_counts_whichever_instant_gave_it():
    found = instants([block("200")], [rollback_block("400", "200")], counts=lambda log, one: one.instant < "400")
    assert found == []


def test_a_command_of_a_later_release_is_refused():
    with pytest.raises(Unsupported, match="command"):
        scan([block("200", kind=BlockKind.COMMAND, command_block_type="7", target_instant_time="100")])


def test_a_change_log_among_the_rows_is_refused_with_its_file():
    with pytest.raises(CorruptData, match=r"change log.*\.f-0_100\.log\.1"):
        scan([block("200", kind=BlockKind.CDC)])


def test_what_a_log_compaction_made_stands_where_the_newest_of_its_originals_does():
    logs = [block("200"), block("250"), block("300"), block("350")], [compacted("400", "200", "300")], [block("500")]
    assert instants(*logs) == ["250", "400", "350", "500"]


def test_log_compactions_of_log_compactions_are_followed():
    logs = [
        [block("200"), block("300")],
        [compacted("400", "200", "300")],
        [block("500")],
        [compacted("600", "400", "500")],
        [block("700")],
    ]
    assert instants(*logs) == ["600", "700"]


def test_a_log_compaction_that_is_not_completed_leaves_its_originals():
    logs = [block("200")], [block("300")], [compacted("400", "200", "300")]
    assert instants(*logs, counts=lambda log, one: one.instant != "400") == ["200", "300"]


def test_of_attempts_of_one_task_the_one_with_most_blocks_counts():
    blocks = [attempt("200", 0, 0, b"0"), attempt("200", 1, 0, b"1"), attempt("200", 1, 1, b"2"), block("300")]
    assert scan(blocks) == [("200", b"1"), ("200", b"2"), ("300", b"")]


def test_of_attempts_alike_the_last_counts_and_so_do_blocks_that_do_not_say():
    blocks = [attempt("200", 1, 0, b"1"), attempt("200", 0, 0, b"0"), block("200", b"x"), attempt("200", "?", 0, b"y")]
    assert scan(blocks) == [("200", b"1"), ("200", b"x"), ("200", b"y")]


def delta(time, done=None):
    state = State.COMPLETED if done else State.INFLIGHT
    return Instant(
        requested_time=InstantTime(time),
        action=Action.DELTACOMMIT,
        state=state,
        completion_time=None if done is None else InstantTime(done),
    )


def seen_by(timeline, *times, log_instant="100", records=None, more=()):
    visible = pickle.loads(pickle.dumps(VisibleInstants.of(timeline, {}, records)))
    named = lambda file: replace(file, instant=InstantTime(log_instant))  # noqa: E731 - one line
    return instants(
        [*(block(time) for time in times), *more],
        counts=lambda file, one: visible.counts(named(file), one),
        is_alien=lambda file, one: visible.is_alien(named(file), one),
    )


@pytest.mark.parametrize("layout", [1, 2])
def test_blocks_count_that_are_completed_or_older_than_the_timeline(layout):
    timeline = timeline_of([delta("300", "310"), delta("400"), delta("500", "510")], TIMELINE_LAYOUTS[layout])
    assert seen_by(timeline, "200", "300", "350", "400", "500", "600") == ["200", "300", "500"]


def test_in_layout_2_a_log_that_was_chosen_by_its_name_counts():
    timeline = timeline_of([delta("300", "310"), delta("400"), delta("500", "510")], TIMELINE_LAYOUTS[2])
    assert seen_by(timeline, "350", log_instant="350") == ["350"]
    assert seen_by(timeline, "400", log_instant="300") == []


def instants_of(timeline, *times, more=()):
    """Return which of some blocks count, for one that is no task: it is not pickled."""
    visible = VisibleInstants.of(timeline, {})
    return instants([*(block(time) for time in times), *more], counts=visible.counts)


RECORDS = {"p/.f-0_300.log.1_0-0-0": {"300": 7}}


@pytest.mark.parametrize("layout", [1, 2])
def test_in_layout_2_a_block_of_no_instant_is_damage_where_its_commit_says_it_wrote_the_log(layout):
    timeline = timeline_of([delta("300", "310"), delta("500", "510")], TIMELINE_LAYOUTS[layout])
    seen = partial(seen_by, timeline, records=RECORDS)
    assert seen("200", "300", log_instant="300") == ["200", "300"]
    assert seen("301", log_instant="500") == []
    if layout == 1:
        assert seen("300", "301", log_instant="300") == ["300"]
        return
    with pytest.raises(CorruptData, match="of another instant than the commit that wrote it"):
        seen("300", "301", log_instant="300")


@pytest.mark.parametrize("layout", [1, 2])
def test_a_log_without_a_block_of_a_commit_that_wrote_rows_into_it_is_damage(layout):
    """Whatever the damaged header says: an instant that there is not, or one that there is."""
    timeline = timeline_of([delta("300", "310"), delta("500", "510")], TIMELINE_LAYOUTS[layout])

    def seen(timeline, time, *more, count=7):
        visible = VisibleInstants.of(timeline, {}, {"p/.f-0_100.log.1_0-0-0": {"300": count}})
        return instants([block(time), *more], counts=visible.counts, commits=visible)

    assert seen(timeline, "300") == ["300"]
    for time in "301", "500", "200":
        with pytest.raises(CorruptData, match="no block of a commit") as refused:
            seen(timeline, time)
        assert refused.value.values["path"] == "p/.f-0_100.log.1_0-0-0"
    assert seen(as_of(timeline, InstantTime("250")), "301") == []
    assert seen(timeline, "301", count=0) == []
    assert seen(timeline, "301", rollback_block("600", "300")) == []


def test_a_log_that_was_listed_before_a_commit_appended_to_it_is_none():
    timeline = timeline_of([delta("300", "310"), delta("500", "510")], TIMELINE_LAYOUTS[1])
    records = {"p/.f-0_300.log.1_0-0-0": {"300": 7, "500": 1}}
    visible = VisibleInstants.of(timeline, {"p/.f-0_300.log.1_0-0-0": 100}, records)
    log = parse_log_file(PartitionPath("p"), FileStatus(path=".f-0_300.log.1_0-0-0", size_bytes=99, modified_ms=0))
    assert visible.committers_of(log) == ()
    assert visible.committers_of(replace(log, size_bytes=100)) == ["300", "500"]


def test_a_block_that_may_be_there_is_no_damage():
    """Tables of version 6 that were upgraded have logs with blocks of several commits."""
    timeline = timeline_of([delta("300", "310"), delta("400"), delta("500", "510")], TIMELINE_LAYOUTS[2])
    seen = partial(seen_by, log_instant="300", records=RECORDS)
    assert seen(timeline, "300", "400") == ["300"]
    assert seen(as_of(timeline, InstantTime("310")), "300", "501") == ["300"]
    assert seen(timeline, "300", "301", more=[rollback_block("600", "301")]) == ["300"]


class Archived:
    """What the archive has between active commits, and what it was asked for."""

    def __init__(self, *times):
        self.times, self.asked = times, []

    def completion_of(self, time):
        self.asked.append(time)
        return time if time in self.times else None


@pytest.mark.parametrize("layout", [1, 2])
def test_a_block_of_an_archived_commit_between_active_ones_counts(layout):
    """A savepoint, deleted since, had kept an earlier commit active."""
    archive = Archived("400", "900")
    timeline = timeline_of([delta("300", "310"), delta("600", "610")], TIMELINE_LAYOUTS[layout], archive)
    assert instants_of(timeline, "300", "400", "500", "600", "900") == ["300", "400", "600"]
    assert {*archive.asked} == {"400", "500"}
    assert instants_of(as_of(timeline, InstantTime("310")), "300", "400", "600") == ["300"]
    assert instants_of(hide(timeline, [InstantTime("400")]), "300", "400", "600") == ["300", "600"]


def test_the_archive_is_not_asked_for_what_was_taken_back_or_is_known():
    archive = Archived("400")
    timeline = timeline_of([delta("300", "310"), delta("450"), delta("600", "610")], TIMELINE_LAYOUTS[1], archive)
    assert instants_of(timeline, "200", "300", "400", "450", "600", more=[rollback_block("700", "400")]) == [
        "200",
        "300",
        "600",
    ]
    assert archive.asked == []


def test_in_layout_1_the_name_says_nothing_of_a_block():
    timeline = timeline_of([delta("300", "310"), delta("400"), delta("500", "510")], TIMELINE_LAYOUTS[1])
    assert seen_by(timeline, "400", log_instant="400") == []


@pytest.mark.parametrize(("layout", "point"), [(1, "300"), (2, "310")])
def test_blocks_behind_the_moment_that_is_read_do_not_count(layout, point):
    whole = timeline_of([delta("300", "310"), delta("500", "510")], TIMELINE_LAYOUTS[layout])
    timeline = as_of(whole, InstantTime(point))
    assert seen_by(timeline, "200", "300", "500") == ["200", "300"]


@pytest.mark.parametrize("layout", [1, 2])
def test_archived_blocks_that_a_cut_hides_do_not_count(layout):
    """Requested by then and completed later: what the log's name does not tell."""
    cut = hide(
        as_of(timeline_of([delta("500", "510")], TIMELINE_LAYOUTS[layout]), InstantTime("400")), [InstantTime("300")]
    )
    assert seen_by(cut, "200", "300", log_instant="100") == ["200"]
    gone = without(timeline_of([delta("500", "510")], TIMELINE_LAYOUTS[layout]), {InstantTime("300")})
    assert seen_by(gone, "200", "300", "500", log_instant="100") == ["200", "500"]

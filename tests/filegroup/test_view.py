import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.building import TIMELINE_LAYOUTS
from tests.file_names import base_file_name, log_file_name

from pyhudi.errors import Unsupported
from pyhudi.filegroup.file_index import FILES
from pyhudi.filegroup.model import BaseFile, FileGroupId, FileSlice, LogFile, PartitionPath
from pyhudi.filegroup.names import parse_file
from pyhudi.filegroup.view import (
    SLICES,
    as_file_slices,
    file_groups,
    latest_file_slices,
    logs_may_add_keys,
    newest_slices,
)
from pyhudi.storage.api import FileStatus
from pyhudi.timeline.instant import InstantTime, collapse, parse_name
from pyhudi.timeline.view import Timeline, as_of, completion_of, is_committed, timeline_of


def day(number: int) -> InstantTime:
    return InstantTime(f"202501{number:02}000000000")


class History:
    """An archive that knows when its instants were completed."""

    def __init__(self, completions: Mapping[int, int]) -> None:
        self._completions = {day(at): day(done) for at, done in completions.items()}

    def was_committed(self, time: InstantTime) -> bool:
        return True

    def completion_of(self, time: InstantTime) -> InstantTime | None:
        return self._completions.get(time)


def timeline(*names: str, layout: int = 2, archived: Mapping[int, int] | None = None) -> Timeline:
    """Spell instants as `3_5.commit`: days of January; archived ones as days, requested and completed."""
    spelled = []
    for name in names:
        times, _, rest = name.partition(".")
        spelled.append(parse_name("_".join(day(int(one)) for one in times.split("_")) + f".{rest}"))
    return timeline_of(
        collapse(one for one in spelled if one is not None), TIMELINE_LAYOUTS[layout], History(archived or {})
    )


def status(name: str, partition: str = "p") -> FileStatus:
    return FileStatus(path=f"{partition}/{name}" if partition else name, size_bytes=1, modified_ms=0)


def listed(files: Mapping[str, list[FileStatus]]) -> pa.Table:
    """Put listings by partition into one."""
    rows = [(where, one.name, one.size_bytes) for where in sorted(files) for one in files[where]]
    columns = list(zip(*rows, strict=True)) or [()] * len(FILES)
    return pa.table(list(map(pa.array, columns)), FILES.names).cast(FILES)


def slices_of(files: Mapping[str, list[FileStatus]], seen: Timeline, *rest: Any, **more: Any) -> list[FileSlice]:
    """Slice listings by partition."""
    return latest_file_slices(listed(files), seen, *rest, **more)


def base(at: int, group: str = "a-0", token: str = "0-0-0") -> FileStatus:
    return status(base_file_name(group, token, day(at)))


def log(at: int, version: int = 1, group: str = "a-0", token: str = "0-0-0", suffix: str = "") -> FileStatus:
    return status(log_file_name(group, day(at), version, token, suffix))


def shown(slices: list[FileSlice]) -> list[tuple[str, int, int | None, list[tuple[int, int]]]]:
    return [
        (
            one.group.file_id,
            int(one.base_instant[6:8]),
            int(one.base.instant[6:8]) if one.base else None,
            [(int(entry.instant[6:8]), entry.version) for entry in one.logs],
        )
        for one in slices
    ]


def test_the_newest_committed_base_file_of_each_group_is_shown():
    seen = timeline("1_2.commit", "3_4.commit", "5.commit.requested")
    files = {"p": [base(1), base(3), base(5), base(1, "b-0"), base(5, "c-0")]}
    assert shown(slices_of(files, seen, {})) == [("a-0", 3, 3, []), ("b-0", 1, 1, [])]


def test_files_of_instants_that_nobody_knows_are_hidden_unless_archived():
    seen = timeline("3_4.commit")
    assert shown(slices_of({"p": [base(9), base(2, "b-0")]}, seen, {})) == [("b-0", 2, 2, [])]


def test_a_table_is_read_as_it_was_at_a_point():
    seen = timeline("1_2.commit", "3_9.commit", "4_5.commit")
    files = {"p": [base(1), base(3), base(1, "b-0"), base(4, "b-0")]}
    assert shown(slices_of(files, seen, {}, day(6))) == [("a-0", 1, 1, []), ("b-0", 4, 4, [])]


def test_replaced_groups_are_hidden_from_the_replacement_on():
    seen = timeline("1_2.commit", "3_4.replacecommit")
    files, replaced = {"p": [base(1), base(3, "b-0")], "q": []}, {("p", "a-0"): day(3)}
    assert shown(slices_of(files, seen, replaced)) == [("b-0", 3, 3, [])]
    assert shown(slices_of(files, seen, replaced, day(3))) == [("a-0", 1, 1, [])]
    assert shown(slices_of({"q": [base(1)]}, seen, replaced)) == [("a-0", 1, 1, [])]


def test_of_two_base_files_of_one_instant_the_committed_one_is_kept():
    seen = timeline("1_2.commit")
    files = {"p": [base(1, token="1-0-0"), base(1, token="2-0-0")]}
    named = slices_of(files, seen, {}, None, lambda *_: f"p/a-0_1-0-0_{day(1)}.parquet")
    assert [one.base.write_token for one in named if one.base] == ["1-0-0"]
    guessed = slices_of({"p": files["p"][::-1]}, seen, {})
    assert [one.base.write_token for one in guessed if one.base] == ["2-0-0"]


def test_a_log_belongs_to_the_slice_before_its_completion():
    """The quick start of version 8: four logs before a compaction, one after, one that ran across it."""
    seen = timeline("1_2.commit", "3_4.deltacommit", "5_8.deltacommit", "6_7.commit", "9_10.deltacommit")
    files = {"p": [base(1), log(3), log(5), base(6), log(9)]}
    assert shown(slices_of(files, seen, {})) == [("a-0", 6, 6, [(5, 1), (9, 1)])]
    assert shown(slices_of(files, seen, {}, day(5))) == [("a-0", 1, 1, [(3, 1)])]


def test_a_log_of_an_archived_delta_commit_belongs_to_the_slice_before_its_completion_too():
    seen = timeline("8_9.commit", archived={1: 2, 3: 4, 5: 7, 6: 7})
    files = {"p": [base(1), log(3), log(5), base(6)]}
    assert shown(slices_of(files, seen, {})) == [("a-0", 6, 6, [(5, 1)])]


def test_where_no_history_says_when_a_log_was_completed_its_own_time_counts():
    files = {"p": [base(1), log(3), log(5), base(6)]}
    assert shown(slices_of(files, timeline("8_9.commit"), {})) == [("a-0", 6, 6, [])]


def test_a_pending_compaction_hides_no_log():
    seen = timeline("1_2.commit", "3_4.deltacommit", "5.compaction.requested", "6_7.deltacommit")
    assert shown(slices_of({"p": [base(1), log(3), log(6), base(5)]}, seen, {})) == [("a-0", 1, 1, [(3, 1), (6, 1)])]


def test_a_group_of_logs_only_is_keyed_by_its_first():
    seen = timeline("2.deltacommit.requested", "3_4.deltacommit", "5_6.deltacommit")
    assert shown(slices_of({"p": [log(5, 2), log(5), log(2), log(3)]}, seen, {})) == [
        ("a-0", 3, None, [(3, 1), (5, 1), (5, 2)])
    ]


def test_change_logs_are_no_part_of_a_slice():
    seen = timeline("1_2.commit", "3_4.deltacommit")
    assert shown(slices_of({"p": [base(1), log(3, suffix=".cdc")]}, seen, {})) == [("a-0", 1, 1, [])]


def test_a_log_of_an_odd_instant_counts_by_its_own_time():
    """Instants of 14 digits cannot be compared with completion times of 17."""
    early, later, late = (f"0000000000000{digit}" for digit in "357")
    names = [f"{one}_{day(9)}.deltacommit" for one in (early, late)] + [f"{later}_{day(9)}.commit"]
    seen = timeline_of(collapse(one for name in names if (one := parse_name(name))), TIMELINE_LAYOUTS[2])
    files = [status(base_file_name("a-0", "0-0-0", later))]
    files += [status(log_file_name("a-0", one, 1)) for one in (early, late)]
    (found,) = slices_of({"p": files}, seen, {})
    assert [one.instant for one in found.logs] == [late]


@pytest.mark.parametrize(
    ("names", "layout", "expected"),
    [
        (["3_6.commit", "4_5.deltacommit"], 2, True),
        (["3_4.commit", "4_5.deltacommit"], 2, True),
        (["2_3.commit", "4_5.deltacommit"], 2, False),
        (["2_8.deltacommit", "4_9.deltacommit"], 2, False),
        (["4_5.deltacommit"], 2, True),
        (["2.commit", "4.deltacommit"], 1, True),
        (["2.deltacommit", "4.deltacommit"], 1, False),
    ],
    ids=["overtaken", "met", "done before", "no compaction", "archived", "version 6", "version 6, no compaction"],
)
def test_logs_may_have_keys_of_their_own_where_a_compaction_was_not_done_before_them(names, layout, expected):
    seen = timeline(*names, layout=layout)
    made = day(int(names[0][0]) if len(names) > 1 else 2)
    file, entry = (parse_file(PartitionPath("p"), one) for one in (base(int(made[6:8])), log(4)))
    assert isinstance(file, BaseFile)
    assert isinstance(entry, LogFile)
    group = FileGroupId(partition=file.partition, file_id=file.file_id)
    slice_ = FileSlice(group=group, base_instant=made, base=file)
    logged = replace(slice_, logs=(entry,))
    assert logs_may_add_keys(logged, seen) is expected
    assert not logs_may_add_keys(slice_, seen)
    assert not logs_may_add_keys(replace(logged, base=None), seen)


def test_version_6_logs_belong_to_the_base_instant_in_their_names():
    seen = timeline("1.commit", "3.commit", "4.deltacommit", layout=1)
    files = {"p": [base(1), log(1), base(3), log(3, 2), log(3)]}
    assert shown(slices_of(files, seen, {})) == [("a-0", 3, 3, [(3, 1), (3, 2)])]


def test_version_6_logs_are_merged_by_version_as_a_number_and_then_by_write_token():
    seen = timeline("1.commit", "2.deltacommit", layout=1)
    logs = [log(1, 10), log(1, 9, token="1-0-1"), log(1, 9, token="0-9-9"), log(1, 2, token="9-9-9")]
    (found,) = slices_of({"p": [base(1), *logs]}, seen, {})
    assert [(one.version, one.write_token) for one in found.logs] == [
        (2, "9-9-9"),
        (9, "0-9-9"),
        (9, "1-0-1"),
        (10, "0-0-0"),
    ]


def test_slices_of_a_metadata_table_have_hfiles_and_logs_of_its_first_odd_instants():
    """As Apache Hudi names them at version 9, and at version 6, where a compaction has three digits more."""
    first, second = InstantTime("00000000000000000"), day(2)
    names = [
        base_file_name("files-0000-0", "0-1-2", first, ".hfile"),
        *(log_file_name("files-0000-0", at, 1, "0-0-0") for at in (first, second)),
    ]
    instants = (f"{first}_{day(1)}.deltacommit", f"{second}_{day(3)}.deltacommit")
    seen = timeline_of(collapse(map(parse_name, instants)), TIMELINE_LAYOUTS[2], History({}))
    (found,) = slices_of({"files": [status(name, "files") for name in names]}, seen, {})
    assert (found.base.extension, [one.name for one in found.logs]) == (".hfile", names[1:])
    compacted = InstantTime(f"{day(2)}001")
    names = [base_file_name("files-0000-0", "0-1-2", compacted, ".hfile"), log_file_name("files-0000-0", compacted, 1)]
    instants = (f"{day(2)}.deltacommit", f"{compacted}.commit", f"{day(3)}.deltacommit")
    seen = timeline_of(collapse(map(parse_name, instants)), TIMELINE_LAYOUTS[1], History({}))
    (found,) = slices_of({"files": [status(name, "files") for name in names]}, seen, {})
    assert (found.base_instant, [one.name for one in found.logs]) == (compacted, names[1:])


def test_version_6_reads_the_slice_of_a_pending_compaction_with_the_one_before():
    seen = timeline("1.commit", "2.deltacommit", "5.compaction.requested", "6.deltacommit", layout=1)
    assert shown(slices_of({"p": [base(1), log(1), log(5), base(5)]}, seen, {})) == [("a-0", 1, 1, [(1, 1), (5, 1)])]


def test_version_6_a_moment_has_no_log_of_a_compaction_that_was_planned_later():
    seen = timeline("1.commit", "2.deltacommit", "5.compaction.requested", "6.deltacommit", layout=1)
    files = {"p": [base(1), log(1), log(5)]}
    assert shown(slices_of(files, seen, {}, day(2))) == [("a-0", 1, 1, [(1, 1)])]
    assert shown(slices_of(files, seen, {}, day(5))) == [("a-0", 1, 1, [(1, 1), (5, 1)])]


def test_version_6_a_slice_of_logs_only_does_not_take_the_base_file_of_the_slice_before():
    seen = timeline("1.commit", "2.deltacommit", "3.deltacommit", layout=1)
    files = {"p": [base(1), log(1), log(3), log(3, 2)]}
    assert shown(slices_of(files, seen, {})) == [("a-0", 3, None, [(3, 1), (3, 2)])]


def test_version_6_log_only_groups_show_when_their_first_instant_is_committed():
    seen = timeline("1.deltacommit", "3.deltacommit.requested", layout=1)
    assert shown(slices_of({"p": [log(1), log(3, group="b-0")]}, seen, {})) == [("a-0", 1, None, [(1, 1)])]


def test_native_logs_are_refused():
    with pytest.raises(Unsupported):
        slices_of({"p": [status(f"a-0_0-0-0_{day(1)}_1.log.parquet")]}, timeline("1_2.commit"), {})


def by_the_rules(
    files: list[FileStatus], seen: Timeline, replaced: dict[tuple[str, str], InstantTime]
) -> list[FileSlice]:
    """Build every slice by the rules of the format, one file at a time."""
    parsed = [one for one in (parse_file("p", status) for status in files) if one is not None]
    slices: dict[str, dict[str, tuple[list[BaseFile], list[object]]]] = {}
    for one in parsed:
        if isinstance(one, BaseFile) and is_committed(seen, one.instant):
            slices.setdefault(one.file_id, {}).setdefault(one.instant, ([], []))[0].append(one)
    logs = [
        one for one in parsed if not isinstance(one, BaseFile) and is_committed(seen, one.instant) and not one.suffix
    ]
    for one in sorted(logs, key=lambda entry: (entry.instant, entry.version, entry.write_token)):
        group = slices.setdefault(one.file_id, {})
        completion = completion_of(seen, one.instant) or one.instant
        below = [key for key in group if key <= completion]
        key = max(below) if below else one.instant
        group.setdefault(key, ([], []))[1].append(one)
    found = []
    for file_id, key in sorted((file_id, key) for file_id, group in slices.items() for key in group):
        gone = replaced.get(("p", file_id))
        bases, entries = slices[file_id][key]
        is_archived = gone not in seen.completed
        if gone is not None and is_committed(seen, gone) and not (is_archived and bases and key > gone):
            continue
        found.append((file_id, int(key[6:8]), [one.name for one in bases], [one.name for one in entries]))
    return found


_days = st.integers(1, 20)
_groups = st.sampled_from(["a-0", "b-0", "c-0"])
_history = st.lists(st.tuples(_days, st.integers(0, 8), st.booleans()), max_size=10, unique_by=lambda one: one[0])
_files = st.lists(
    st.builds(base, _days, _groups)
    | st.builds(log, _days, st.integers(1, 2), _groups, st.just("0-0-0"), st.sampled_from(["", ".cdc"])),
    max_size=25,
    unique_by=lambda one: one.path,
)


@settings(max_examples=400)
@given(_history, _files, st.dictionaries(_groups, _days, max_size=2), st.none() | st.integers(1, 28), _days)
def test_slicing_is_what_the_rules_say(history, files, gone, point, kept_from):
    first = min([at for at, _, is_done in history if not is_done], default=99)
    archived = {at: at + took for at, took, _ in history if at < min(kept_from, first)}
    names = (
        f"{at}_{at + took}.commit" if is_done else f"{at}.commit.requested"
        for at, took, is_done in history
        if at not in archived
    )
    seen = timeline(*names, archived=archived)
    replaced = {("p", group): day(at) for group, at in gone.items()}
    cut = seen if point is None else as_of(seen, day(point))
    groups = file_groups(listed({"p": files}), seen, replaced, None if point is None else day(point))
    expected = by_the_rules(files, cut, replaced)
    assert named(as_file_slices(groups)) == expected
    assert named(as_file_slices(newest_slices(groups))) == list({one[0]: one for one in expected}.values())


def named(slices: list[FileSlice]) -> list[tuple[str, int, list[str], list[str]]]:
    return [
        (
            one.group.file_id,
            int(one.base_instant[6:8]),
            [one.base.name] if one.base else [],
            [entry.name for entry in one.logs],
        )
        for one in slices
    ]


def test_slices_are_columns():
    seen = timeline("1_2.commit", "3_4.deltacommit", "5_6.commit")
    found = file_groups(listed({"p": [base(1), log(3), base(5)], "": [log(3, group="b-0")]}), seen, {})
    one_log = {"name": log(3).name, "size_bytes": 1}
    assert found.schema == SLICES
    assert found.to_pylist() == [
        dict(zip(SLICES.names, row, strict=True))
        for row in (
            ("", "b-0", day(3), None, None, [{"name": log(3, group="b-0").name, "size_bytes": 1}]),
            ("p", "a-0", day(1), base(1).name, 1, [one_log]),
            ("p", "a-0", day(5), base(5).name, 1, []),
        )
    ]


def test_a_point_and_replacements_cut_older_slices_too():
    seen = timeline("1_2.commit", "3_4.commit", "5_6.replacecommit")
    files = listed({"p": [base(1), base(3), base(5), base(1, "b-0")]})
    assert shown(as_file_slices(file_groups(files, seen, {}, day(4)))) == [
        ("a-0", 1, 1, []),
        ("a-0", 3, 3, []),
        ("b-0", 1, 1, []),
    ]
    assert shown(as_file_slices(file_groups(files, seen, {("p", "a-0"): day(5)}))) == [("b-0", 1, 1, [])]


def test_a_hundred_thousand_files_are_sliced_at_once():
    """A guard against slow growth, with room for a busy machine; the aim is a tenth of a second."""
    seen = timeline(*(f"{at}_{at}.commit" for at in range(1, 11)))
    files = listed(
        {
            f"p={part}": [base(at, f"{part}-{group}-0") for group in range(100) for at in range(1, 11)]
            for part in range(100)
        }
    )
    started = time.process_time()
    assert newest_slices(file_groups(files, seen, {})).num_rows == 10_000
    assert time.process_time() - started < 0.5

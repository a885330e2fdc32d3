import pytest
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.filegroup.slices import EVERYTHING

from pyhudi.filegroup.log_commands import find_command, slice_logs, take_back_blocks, writers_of
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.model import FileId, LogFile, PartitionPath
from pyhudi.formats.log import BlockKind, HeaderKey, NewBlock, encode_blocks
from pyhudi.storage.memory import MemoryStorage
from pyhudi.timeline.instant import InstantTime

BASE, T, OTHER, ROLLBACK = (InstantTime(f"2026010100000000{number}") for number in range(4))


@pytest.fixture
def storage():
    return MemoryStorage()


def log(version, token="0-0-0", file_id="f-0", size_bytes=0):
    return LogFile(
        partition=PartitionPath("sf"),
        file_id=FileId(file_id),
        instant=BASE,
        version=version,
        write_token=token,
        suffix="",
        size_bytes=size_bytes,
    )


def put(storage, one, *instants):
    deletes = [
        NewBlock(kind=BlockKind.DELETE, headers={HeaderKey.INSTANT_TIME: time}, content=b"\0\0\0\3\0\0\0\1\0")
        for time in instants
    ]
    storage.put(one.path, encode_blocks(deletes))
    return one


def merged(storage, one):
    blocks = blocks_to_merge(storage, slice_logs(storage, one), lambda *_: True, EVERYTHING)
    return [block.instant for block in blocks]


def test_a_command_goes_behind_all_logs_of_the_slice(storage):
    ours, later = put(storage, log(1), T), put(storage, log(4, "9-9-9"), OTHER)
    put(storage, log(7, file_id="g-0"), OTHER)
    command = take_back_blocks(storage, ours, slice_logs(storage, ours), T, ROLLBACK)
    assert command.name == f".f-0_{BASE}.log.5_1-0-1"
    assert command.size_bytes == storage.head(command.path).size_bytes == 105
    assert merged(storage, ours) == [OTHER]
    assert merged(storage, later) == [OTHER]


def test_a_command_that_is_there_is_not_written_again(storage):
    ours = put(storage, log(1), T)
    done = take_back_blocks(storage, ours, slice_logs(storage, ours), T, ROLLBACK)
    assert take_back_blocks(storage, ours, slice_logs(storage, ours), T, "20260101000000009").name == done.name
    assert len(slice_logs(storage, ours)) == 2


def test_one_of_another_target_or_before_the_blocks_does_not_do(storage):
    first = put(storage, log(1), OTHER)
    take_back_blocks(storage, first, slice_logs(storage, first), OTHER, ROLLBACK)
    take_back_blocks(storage, first, slice_logs(storage, first), T, ROLLBACK)
    ours = put(storage, log(4), T)
    assert find_command(storage, ours, slice_logs(storage, ours), T) is None
    assert take_back_blocks(storage, ours, slice_logs(storage, ours), T, ROLLBACK).version == 5
    assert merged(storage, ours) == []


def test_of_two_rollbacks_at_once_each_gets_its_command(storage):
    ours = put(storage, log(1), T, OTHER)
    seen = slice_logs(storage, ours)
    theirs = take_back_blocks(storage, ours, seen, OTHER, ROLLBACK)
    mine = take_back_blocks(storage, ours, seen, T, ROLLBACK)
    assert (theirs.version, mine.version) == (2, 3)
    assert take_back_blocks(storage, ours, seen, T, ROLLBACK).version == 3
    assert merged(storage, ours) == []


@pytest.mark.parametrize("kind", [FaultKind.LOST_REPLY, FaultKind.LOST_REQUEST])
def test_a_command_whose_put_was_not_answered_is_looked_for(storage, kind):
    ours = put(storage, log(1), T)
    lost = Fault(kind=kind, operations=frozenset({"put"}), at=1)
    take_back_blocks(FaultyStorage(storage, plan=[lost]), ours, slice_logs(storage, ours), T, ROLLBACK)
    assert len([one for one in slice_logs(storage, ours) if one.write_token == "1-0-1"]) == 1
    assert merged(storage, ours) == []


def test_blocks_of_a_writer_that_comes_after_the_command_are_taken_back_too(storage):
    ours = log(2)
    take_back_blocks(storage, ours, [], T, ROLLBACK)
    put(storage, ours, T)
    assert merged(storage, ours) == []


def test_which_instants_wrote_to_a_log_is_read_off_its_blocks(storage):
    both = put(storage, log(1), T, OTHER)
    take_back_blocks(storage, both, slice_logs(storage, both), T, ROLLBACK)
    found = writers_of(storage, slice_logs(storage, both))
    assert [found[one] for one in sorted(found, key=lambda one: one.version)] == [{T, OTHER}, set()]

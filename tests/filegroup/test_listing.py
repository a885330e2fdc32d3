import os
import threading
import time
from datetime import timedelta, timezone

import pytest
from tests.fixed_env import FixedEnv
from tests.new_states import new_state

from pyhudi.errors import FileMissing, InvalidInput
from pyhudi.filegroup.listing import (
    at_once,
    encode_partition_metadata,
    ensure_partition_metadata,
    partitions_below,
)
from pyhudi.formats.properties import java_date

CHINA = timezone(timedelta(hours=8), "CST")
T = "20250928205430030"


def partitions_of(state):
    return sorted(path for path, _ in partitions_below(state))


@pytest.mark.parametrize(("partition", "depth"), [("", 0), ("city=chennai", 1), ("2023/04/03/12", 4)])
def test_the_documents_partition_metadata_is_reproduced_byte_for_byte(partition, depth):
    data = encode_partition_metadata(partition, T, java_date(1_759_064_078_000, CHINA))
    wanted = f"#partition metadata\n#Sun Sep 28 20:54:38 CST 2025\ncommitTime={T}\npartitionDepth={depth}\n"
    assert data == wanted.encode()


def test_partition_metadata_is_made_once():
    state = new_state()
    assert ensure_partition_metadata(state, "city=x", T)
    first = state.storage.get("city=x/.hoodie_partition_metadata")
    assert not ensure_partition_metadata(state, "city=x", "20260101000000000")
    assert state.storage.get("city=x/.hoodie_partition_metadata") == first


@pytest.mark.parametrize("partition", ["..", "a/../../b", "/etc"])
def test_a_partition_never_leaves_the_table(partition):
    with pytest.raises(InvalidInput):
        ensure_partition_metadata(new_state(), partition, T)


def test_partitions_are_directories_with_partition_metadata_at_any_depth():
    state = new_state(env=FixedEnv())
    for partition in ("city=b", "city=a", "2023/04/03/12", "2023/04/03/13"):
        ensure_partition_metadata(state, partition, T)
    state.storage.put("city=c/stray.parquet", b"")
    state.storage.put(".dotted/deep/.hoodie_partition_metadata", b"")
    state.storage.put(".hoodie/metadata/files/.hoodie_partition_metadata", b"")
    state.storage.put("other/format/.hoodie_partition_metadata.parquet", b"")
    assert partitions_of(state) == [
        ".dotted/deep",
        "2023/04/03/12",
        "2023/04/03/13",
        "city=a",
        "city=b",
        "other/format",
    ]


def test_a_table_without_partitions_is_one_partition():
    state = new_state()
    assert partitions_of(state) == []
    ensure_partition_metadata(state, "", T)
    assert partitions_of(state) == [""]


@pytest.mark.parametrize(("first", "second"), [("a", "a/new"), ("a/new", "a"), ("2023", "2023/04/03")])
def test_a_partition_inside_another_is_refused_and_found_where_it_is(first, second):
    state = new_state(env=FixedEnv())
    ensure_partition_metadata(state, first, T)
    with pytest.raises(InvalidInput, match="inside another") as raised:
        ensure_partition_metadata(state, second, T)
    assert raised.value.values == {"partition": second, "other": first}
    state.storage.put(f"{second}/.hoodie_partition_metadata", b"")
    assert partitions_of(state) == sorted([first, second])
    assert not ensure_partition_metadata(state, second, T)


def test_the_walk_ends_at_the_root_of_a_table_without_partitions():
    state = new_state()
    ensure_partition_metadata(state, "", T)
    state.storage.put("b/.hoodie_partition_metadata", b"")
    assert partitions_of(state) == [""]


def test_places_are_asked_at_once_and_in_order():
    gate = threading.Barrier(3, timeout=5)
    assert list(at_once(lambda place: gate.wait() >= 0 and place, [3, 1, 2])) == [3, 1, 2]


def test_what_is_asked_inside_does_not_wait_for_its_own_threads():
    def inner(place):
        return sum(at_once(lambda number: number + place, range(3)).values())

    assert at_once(inner, range(40)) == {place: 3 + 3 * place for place in range(40)}


def test_an_error_is_raised_when_nothing_runs_any_more():
    begun, done, gate = [], [], threading.Event()

    def ask(place):
        begun.append(place)
        if place == 0:
            gate.set()
            raise FileMissing("gone")
        gate.wait(5)
        time.sleep(0.05)
        done.append(place)

    with pytest.raises(FileMissing):
        at_once(ask, range(100))
    assert len(done) == len(begun) - 1 < 99


def test_a_forked_process_has_threads_of_its_own():
    at_once(str, range(4))
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, repr(at_once(str, range(2))).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"{0: '0', 1: '1'}"

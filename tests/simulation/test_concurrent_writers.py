"""Real threads and processes on a real directory: nothing acknowledged is lost, nothing is there twice."""

import multiprocessing
import os
import signal
import traceback
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import wait

import pytest
from tests.building import TINY_FILTERS, TRIPS, trip
from tests.faulty import Fault, FaultKind, FaultyStorage
from tests.simulation.world import require_clean

from pyhudi.env import SystemEnv
from pyhudi.errors import ClockBehindTimeline, Conflict
from pyhudi.state.properties_file import open_state
from pyhudi.storage.local import LocalStorage
from pyhudi.table import Table, create_table, open_table

ROUNDS = 2
ONE_ATTEMPT = {**TINY_FILTERS, "hoodie.write.num.retries.on.conflict.failures": 0}
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def path(tmp_path):
    """Return a table of two partitions, each with a counter."""
    path = str(tmp_path / "trips")
    table = create_table(
        path, TRIPS, record_key=["uuid"], partition_by=["city"], ordering=["ts"], options={"hoodie.table.name": "trips"}
    )
    table.upsert([trip("count-a", "a", fare=0.0), trip("count-b", "b", fare=0.0)], options=TINY_FILTERS)
    return path


def retried(write):
    """Write until no writer is in the way; return how often one was."""
    conflicts = 0
    while True:
        try:
            write()
        except Conflict:
            conflicts += 1
        else:
            return conflicts


def work(path, name, city):
    """Count, and leave a token, a few times; give the tokens acknowledged, and how often others were first."""
    table, conflicts, acked = open_table(path), 0, []
    for number in range(ROUNDS):
        counter = f"uuid = 'count-{city}'"
        conflicts += retried(
            lambda where=counter: table.update(set={"fare": "fare + 1"}, where=where, options=ONE_ATTEMPT)
        )
        token = f"{name}-{number}"
        conflicts += retried(lambda key=token: table.upsert([trip(key, city)], options=ONE_ATTEMPT))
        acked.append(token)
    return acked, conflicts


def require_all(path, acked, counted):
    table = open_table(path)
    rows = table.scan(["uuid", "fare"]).to_arrow().to_pylist()
    keys = sorted(row["uuid"] for row in rows)
    assert keys == sorted(["count-a", "count-b", *acked])
    assert {row["uuid"]: row["fare"] for row in rows if row["uuid"] in counted} == counted
    table.upsert([trip("last", "z")], options=TINY_FILTERS)
    require_clean(open_table(path))


def test_threads_on_one_file_group_lose_no_update(path):
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda n: work(path, f"t{n}", "a"), range(3)))
    assert sum(conflicts for _, conflicts in done) > 0
    require_all(path, [token for acked, _ in done for token in acked], {"count-a": 3.0 * ROUNDS, "count-b": 0.0})


def test_threads_on_different_partitions_do_not_meet(path):
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda city: work(path, f"in-{city}", city), "ab"))
    assert [conflicts for _, conflicts in done] == [0, 0]
    require_all(
        path, [token for acked, _ in done for token in acked], {"count-a": 1.0 * ROUNDS, "count-b": 1.0 * ROUNDS}
    )


class OffsetEnv(SystemEnv):
    """The real world, with a clock that is wrong."""

    def __init__(self, offset_ms):
        self._offset_ms = offset_ms

    def now_ms(self):
        return super().now_ms() + self._offset_ms


def count_by(path, offset_ms):
    """Count by such a clock until all is counted; give how often the clock was refused."""
    env, refused = OffsetEnv(offset_ms), 0
    table = Table(open_state(LocalStorage(path, env), env))
    for _ in range(ROUNDS):
        is_counted = False
        while not is_counted:
            try:
                table.update(set={"fare": "fare + 1"}, where="uuid = 'count-a'", options=ONE_ATTEMPT)
            except ClockBehindTimeline:
                refused += 1
                env.sleep(0.1)
            except Conflict:
                continue
            else:
                is_counted = True
    return refused


def test_threads_whose_clocks_are_seconds_apart_lose_no_update(path):
    offsets_ms = (-2_500, 0, 2_500)
    with ThreadPoolExecutor(len(offsets_ms)) as pool:
        refused = list(pool.map(lambda offset_ms: count_by(path, offset_ms), offsets_ms))
    assert refused[0] > 0
    assert refused[2] == 0
    require_all(path, [], {"count-a": float(ROUNDS * len(offsets_ms)), "count-b": 0.0})


@pytest.mark.everyday
def test_upserts_of_one_stored_key_keep_it_single(path):
    table = open_table(path)

    def upsert(number):
        retried(lambda: table.upsert([trip("count-a", "a", ts=2 + number, fare=float(number))], options=TINY_FILTERS))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(upsert, range(6)))
    rows = table.scan(["uuid", "fare"], filter="city = 'a'").to_arrow().to_pylist()
    assert rows == [{"uuid": "count-a", "fare": 5.0}]


def _work_here(path, name, city, wire):
    try:
        wire.send(("done", work(path, name, city)))
    except BaseException:  # whatever is wrong has to be told
        wire.send(("failed", traceback.format_exc()))


def answers_of(processes, wires):
    """Wait for all answers for as long as the processes live: a slow disk is no failure, a dead process is one at once.

    What is sent before a process ends is read in any case; the limit is that of every test.
    """
    answers = []
    for process, wire in zip(processes, wires, strict=True):
        wait([wire, process.sentinel])
        assert wire.poll(), f"{process.name} ended with {process.exitcode} and said nothing"
        ended, answer = wire.recv()
        assert ended == "done", answer
        answers.append(answer)
    return answers


def test_processes_lose_no_update(path):
    asked = [("p0", "a"), ("p1", "a"), ("p2", "b")]
    wires = [SPAWN.Pipe(duplex=False) for _ in asked]
    processes = [
        SPAWN.Process(target=_work_here, args=(path, name, city, theirs), name=name)
        for (name, city), (_, theirs) in zip(asked, wires, strict=True)
    ]
    for process in processes:
        process.start()
    try:
        done = answers_of(processes, [ours for ours, _ in wires])
    finally:
        for process in processes:
            process.kill()  # it has answered, or another has failed
            process.join()
    require_all(
        path, [token for acked, _ in done for token in acked], {"count-a": 2.0 * ROUNDS, "count-b": 1.0 * ROUNDS}
    )


class KillingStorage(FaultyStorage):
    """A store whose crash is a real one."""

    def _die(self):
        os.kill(os.getpid(), signal.SIGKILL)


def _die_writing(path, pattern, operation):
    env = SystemEnv()
    plan = [Fault(kind=FaultKind.CRASH_AFTER, path=pattern, operations=frozenset({operation}), at=1)]
    storage = KillingStorage(LocalStorage(path), plan=plan)
    rows = [trip("count-a", "a", ts=2, fare=7.0), trip("new", "a", fare=7.0)]
    Table(open_state(storage, env)).upsert(rows, options=TINY_FILTERS)


@pytest.mark.all
@pytest.mark.parametrize(
    ("pattern", "operation", "is_committed"),
    [
        ("*.commit.requested", "put", False),
        ("a/*.parquet", "open_output", False),
        ("*_*.commit", "put", True),
        (".hoodie/.temp/*", "delete_tree", True),
    ],
)
def test_a_killed_writer_is_followed_at_once(path, pattern, operation, is_committed):
    process = SPAWN.Process(target=_die_writing, args=(path, pattern, operation))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    table = open_table(path)
    before = {row["uuid"]: row["fare"] for row in table.scan(["uuid", "fare"]).to_arrow().to_pylist()}
    assert before == (
        {"count-a": 7.0, "count-b": 0.0, "new": 7.0} if is_committed else {"count-a": 0.0, "count-b": 0.0}
    )
    table.upsert([trip("next", "z")], options=TINY_FILTERS)
    require_clean(open_table(path))
    assert {row["uuid"] for row in table.scan(["uuid"]).to_arrow().to_pylist()} == {*before, "next"}

"""Small pieces of work that wait are done at once, all others alone, and results keep their order."""

import threading
import time
from functools import partial

import pytest

from pyhudi.tasks.at_once import Portion, done_at_once


def pieces(works, sizes=None):
    return (Portion(size_bytes=1 if sizes is None else sizes[place], work=work) for place, work in enumerate(works))


wait = partial(time.sleep, 0.02)


@pytest.mark.parametrize("most", [1, 2, 4])
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_results_come_in_the_order_of_the_pieces(most, count):
    works = [lambda number=number: number for number in range(count)]
    assert list(done_at_once(pieces(works), most)) == list(range(count))


def test_small_pieces_wait_together_once_one_has_waited():
    meeting = threading.Barrier(4, timeout=30)
    assert len(list(done_at_once(pieces([wait, *[meeting.wait] * 4]), 4))) == 5


def test_pieces_that_do_not_wait_are_done_in_this_thread():
    found = []

    def busy():
        found.append(threading.current_thread())
        end = time.thread_time() + 0.01
        while time.thread_time() < end:
            pass

    list(done_at_once(pieces([busy] * 3), 4))
    assert found[0] == threading.current_thread()


@pytest.mark.parametrize("sizes", [[9, 1, 1, 9, 1, 9, 9, 1], [1, 9, 1], [9], [1], [4, 4, 4, 4, 4]])
def test_pieces_that_are_done_at_once_take_no_more_memory_than_is_told(sizes):
    running, guard, most = [], threading.Lock(), []

    def work(size):
        with guard:
            running.append(size)
            most.append(sum(running))
        with guard:
            running.remove(size)
        return size

    works = [wait, *(lambda size=size: work(size) for size in sizes)]
    assert list(done_at_once(pieces(works, [1, *sizes]), 4, most_bytes=8)) == [None, *sizes]
    assert all(total <= 9 for total in most)


def test_a_large_piece_is_over_before_the_next_is_asked_for():
    asked, done = [], []

    def coming():
        for number in range(3):
            asked.append(list(done))
            yield Portion(size_bytes=9, work=lambda number=number: done.append(number))

    list(done_at_once(coming(), 4, most_bytes=8))
    assert asked == [[], [0], [0, 1]]


def test_an_error_is_raised_when_those_that_have_begun_are_over():
    ended, go = [], threading.Event()

    def slow():
        go.wait(30)
        ended.append("slow")

    def fails():
        go.set()
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        list(done_at_once(pieces([wait, fails, slow, slow]), 2))
    assert ended
    assert threading.active_count() < 50

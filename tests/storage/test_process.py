"""What a process keeps of values that never change."""

import os

from pyhudi.storage.process import RecentlyUsed


def test_the_values_used_last_are_kept():
    kept = RecentlyUsed[str, int](8)
    for number, key in enumerate("abcd"):
        kept.add(key, number, 2)
    assert kept.get("a") == 0
    kept.add("e", 4, 2)
    assert [kept.get(key) for key in "abcde"] == [0, None, 2, 3, 4]


def test_one_value_does_not_displace_many():
    kept = RecentlyUsed[str, int](8)
    kept.add("a", 1, 2)
    assert kept.add("b", 2, 3) == 2
    assert (kept.get("a"), kept.get("b")) == (1, None)


def test_a_value_that_is_added_again_counts_once():
    kept = RecentlyUsed[str, int](8)
    for number in range(9):
        kept.add("a", number, 2)
    kept.add("b", 1, 2)
    assert (kept.get("a"), kept.get("b")) == (8, 1)


def test_what_is_kept_can_be_dropped():
    kept = RecentlyUsed[str, int](8)
    kept.add("a", 1, 2)
    kept.clear()
    for number, key in enumerate("bcde"):
        kept.add(key, number, 2)
    assert [kept.get(key) for key in "abcde"] == [None, 0, 1, 2, 3]


def test_a_forked_child_waits_for_no_thread_of_its_parent():
    kept = RecentlyUsed[str, int](8)
    kept.add("a", 1)
    with kept._lock:
        child = os.fork()
        if not child:
            os._exit(0 if kept.get("a") is None and kept.add("a", 2) == kept.get("a") == 2 else 1)
        _, status = os.waitpid(child, 0)
    assert status == 0
    assert kept.get("a") == 1

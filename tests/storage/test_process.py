"""What a process keeps of values that never change."""

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

from pyhudi.tasks.new_files import new_bucket_file_id, new_file_id
from pyhudi.timeline.instant import InstantTime

INSTANT = InstantTime("20260101000000001")


def test_file_ids_are_the_same_for_every_attempt_and_different_for_every_group():
    ids = {new_file_id(INSTANT, partition, number) for partition in "pq" for number in range(3)}
    assert len(ids) == 6
    assert new_file_id(INSTANT, "p", 0) == new_file_id(INSTANT, "p", 0)
    assert all(one.endswith("-0") and len(one) == 38 for one in ids)


def test_the_file_id_of_a_bucket_begins_with_its_number():
    assert new_bucket_file_id(INSTANT, "p", 7).startswith("00000007-")
    assert new_bucket_file_id(INSTANT, "p", 7) == new_bucket_file_id(INSTANT, "p", 7)

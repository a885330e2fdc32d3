import pyarrow as pa
import pytest

from pyhudi.engine.api import Moves
from pyhudi.index.api import Hashing, Place, Recheck
from pyhudi.index.bloom import BLOOM, GLOBAL_BLOOM
from pyhudi.index.bucket import BUCKET_KIND
from pyhudi.index.simple import GLOBAL_SIMPLE, SIMPLE, SIMPLE_KIND
from pyhudi.kernels.bucket import BucketHash
from pyhudi.options import Settings

BUCKETS = BUCKET_KIND.types["BUCKET"](Settings({"hoodie.bucket.index.num.buckets": "4"}), ("id",))


@pytest.mark.parametrize(
    ("index", "is_global", "is_computed", "is_binding", "sees_all_logs", "recheck"),
    [
        (SIMPLE, False, False, False, False, Recheck.NO_KEY_MOVED),
        (BLOOM, False, False, False, False, Recheck.NO_KEY_MOVED),
        (GLOBAL_SIMPLE, True, False, True, True, Recheck.SAME_KEYS),
        (GLOBAL_BLOOM, True, False, True, True, Recheck.SAME_KEYS),
        (BUCKETS, False, True, True, True, Recheck.NO_KEY_MOVED),
    ],
)
def test_an_index_says_what_writes_have_to_know(index, is_global, is_computed, is_binding, sees_all_logs, recheck):
    assert (index.is_global, index.is_computed, index.is_binding) == (is_global, is_computed, is_binding)
    assert (index.sees_all_logs, index.recheck) == (sees_all_logs, recheck)


def test_an_index_of_partitions_may_look_everywhere():
    assert SIMPLE.everywhere().is_global
    assert BUCKETS.everywhere().place is Place.TABLE
    assert BUCKETS.everywhere().begins_with_log


@pytest.mark.parametrize(("text", "moves"), [("true", Moves.DELETE_AND_INSERT), ("false", Moves.KEEP_PARTITION)])
def test_an_option_says_whether_rows_follow_their_key(text, moves):
    settings = Settings({"hoodie.simple.index.update.partition.path": text})
    assert SIMPLE_KIND.types["GLOBAL_SIMPLE"](settings, ("id",)).moves is moves


def test_a_hash_names_the_place_of_a_key():
    hashing = Hashing(buckets_count=4, key_hash=BucketHash(hash_fields=("id",), key_fields=("id",)))
    assert hashing == BUCKETS.hashing
    places = hashing.place_of(pa.array(["a", "b", "a"])).tolist()
    assert places[0] == places[2]
    assert set(places) <= set(range(4))

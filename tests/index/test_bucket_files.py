"""What the file groups of a bucket index tell of it; whole writes of such tables are in `commit.test_kept_index`."""

import pytest
from tests.building import TINY_FILTERS, trip, trips

from pyhudi.commit.call import WriteCall
from pyhudi.engine.local import LocalEngine
from pyhudi.errors import OptionError
from pyhudi.filegroup.file_index import storage_index
from pyhudi.index.bucket_files import recognised_buckets
from pyhudi.options import Settings
from pyhudi.queries.slices import visible_slices
from pyhudi.timeline.active import load_timeline

TYPE, COUNT, FIELDS = "hoodie.index.type", "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field"


def recognised(engine, rows_count, **options):
    table = engine.create()
    rows = trips(*(trip(f"k{number}") for number in range(rows_count)))
    table.upsert(engine.rows(rows), options={TYPE: "BUCKET", COUNT: 3, **TINY_FILTERS})
    state, settings = table.state, Settings(options)
    call = WriteCall(state=state, settings=settings, engine=LocalEngine(state.storage))
    slices = visible_slices(storage_index(state, load_timeline(state)))
    return recognised_buckets(state, settings, call.keys(), [one.base for one in slices])


def test_many_keys_tell_how_many_buckets_there_are(engine):
    assert recognised(engine, 200) == {TYPE: "BUCKET", COUNT: "3", FIELDS: "uuid"}


def test_few_keys_do_not_tell_and_options_have_to(engine):
    with pytest.raises(OptionError, match="do not tell how many"):
        recognised(engine, 5)
    assert recognised(engine, 5, **{COUNT: "3"})[COUNT] == "3"


@pytest.mark.parametrize("options", [{TYPE: "SIMPLE"}, {COUNT: "4"}, {COUNT: "2"}])
def test_options_that_do_not_fit_are_refused(engine, options):
    with pytest.raises(OptionError):
        recognised(engine, 200, **options)

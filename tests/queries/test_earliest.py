import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip
from tests.queries.cleaning import clean, clean_plan, put_instant, taken_by

from pyhudi.errors import SnapshotExpired
from pyhudi.options import Settings
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.instant import Action, State


@pytest.fixture(params=[6, 8, 9])
def table(request):
    return TableBuilder().create(version=request.param)


def put(table, fare, city="sf"):
    return table.upsert([trip("k", city, fare=fare)], options=TINY_FILTERS)


def test_a_table_without_commits_cannot_be_read_as_of_any(table):
    assert table.earliest_readable_instant is None


def test_where_nothing_was_cleaned_the_first_commit_can_be_read(table):
    first = put(table, 1.0)
    put(table, 2.0)
    assert table.earliest_readable_instant == first.instant


def test_what_a_clean_took_makes_the_moments_unreadable_that_showed_it(table):
    done = [put(table, float(number)) for number in range(5)]
    clean(table, *done[0].files, *done[1].files)
    assert table.earliest_readable_instant == done[2].instant


def test_a_file_that_was_hidden_late_makes_all_moments_until_then_unreadable(table):
    first = put(table, 1.0, "a")
    others = [put(table, float(number), "b") for number in range(3)]
    last = put(table, 2.0, "a")
    clean(table, *first.files)
    assert others
    assert table.earliest_readable_instant == last.instant


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_moments_between_that_can_be_read_do_not_hide_those_that_cannot(version, kind):
    """What can be read and what cannot take turns: of the moments in the middle few files are left."""
    table = TableBuilder().create(version=version, table_type=kind)

    def replaced(fare):
        return table.insert_overwrite_table([trip("k", fare=fare)], options=TINY_FILTERS)

    done = [replaced(0.0), replaced(1.0), table.delete_partitions(["sf"]), replaced(3.0), replaced(4.0)]
    clean(table, *(path for number in (0, 1, 3) for path in done[number].files))
    assert [is_readable(table, one.instant) for one in done] == [False, False, True, False, True]
    assert table.earliest_readable_instant == done[4].instant


def is_readable(table, instant):
    try:
        table.scan(as_of=instant)
    except SnapshotExpired:
        return False
    return True


def test_moments_whose_commits_were_archived_behind_a_savepoint_cannot_be_read(version):
    table = TableBuilder().create(version=version)
    done = [put(table, float(number)) for number in range(5)]
    table.savepoint(done[0].instant)
    completed = table.timeline.completed
    archive_instants(table.state, [completed[one.instant] for one in done[1:3]], Settings(), lambda: None)
    assert table.earliest_readable_instant == done[3].instant


def test_every_commit_from_the_earliest_on_is_readable_and_the_one_before_is_not(version):
    """Whatever cleans took."""
    for taken in ([0], [1], [0, 2], [1, 2, 3], [3]):
        table = TableBuilder().create(version=version)
        done = [put(table, float(number), "ab"[number % 2]) for number in range(6)]
        clean(table, *(path for number in taken for path in done[number].files))
        readable = [is_readable(table, one.instant) for one in done]
        first = [one.instant for one in done].index(table.earliest_readable_instant)
        assert all(readable[first:])
        assert first == 0 or not readable[first - 1]


def test_a_pending_clean_counts_though_the_metadata_table_lists_what_it_has_deleted():
    table = TableBuilder().create(options={"hoodie.metadata.enable": "true"})
    options = TINY_FILTERS | {"hoodie.metadata.enable": "true", "hoodie.clean.automatic": "false"}
    done = [table.upsert([trip("a", fare=float(number))], options=options) for number in range(3)]
    assert table.earliest_readable_instant == done[0].instant
    time = f"{int(table.timeline.instants[-1].requested_time) + 1:017d}"
    put_instant(table.state, time, Action.CLEAN, clean_plan(taken_by(done[0].files)), progress=State.REQUESTED)
    table.state.storage.delete(done[0].files[0])

    assert table.earliest_readable_instant == done[1].instant
    assert table.scan(as_of=done[1].instant).count() == 1

"""A merge inside one task: a stored file group meets source rows."""

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.building import TINY_FILTERS, TRIPS, TableBuilder, trip, trips

from pyhudi.commit.call import WriteCall
from pyhudi.engine.api import BUCKET, KEY, PARTITION, Attempt
from pyhudi.engine.local import LocalEngine
from pyhudi.errors import DuplicateKeys
from pyhudi.filegroup.log_scan import VisibleInstants
from pyhudi.filegroup.model import FileId, PartitionPath
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.filegroup.write_task import FileTask
from pyhudi.formats.parquet import read_footer
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.predicate import parse
from pyhudi.queries.slices import visible_slices
from pyhudi.tasks.clauses import Clause, ClauseKind, MergeClauses, Sides, source_name
from pyhudi.tasks.merge import merge_bucket, merge_buckets
from pyhudi.timeline.instant import InstantTime

NEXT = InstantTime("20270101000000000")
SIDES = Sides(target=TRIPS, source=TRIPS, fixed=("uuid", "city"))
UPDATE = Clause(kind=ClauseKind.UPDATE, assignments=None, condition=None)
INSERT = Clause(kind=ClauseKind.INSERT, assignments=None, condition=None)
GONE = Clause(kind=ClauseKind.DELETE_BY_SOURCE, assignments=None, condition=None)


def clauses(*given, residual=None):
    return MergeClauses.of(given, None if residual is None else parse(residual), SIDES)


def source(*rows):
    found = trips(*rows)
    columns = {source_name(name): found[name] for name in found.column_names}
    return pa.table({**columns, KEY: found["uuid"], PARTITION: found["city"]})


@pytest.fixture
def world():
    """Return a storage, the write's constants, and the file group of keys k0 to k9 in sf."""
    table = TableBuilder().create()
    rows = [trip(f"k{i}", fare=float(i)) for i in range(10)]
    table.upsert(trips(*rows), options=TINY_FILTERS)
    state = table.state
    call = WriteCall(state=state, settings=Settings.of(TINY_FILTERS), engine=LocalEngine(state.storage))
    base = visible_slices(file_index(state, table.timeline))[0].base
    task = FileTask(partition=base.partition, file_id=base.file_id, write_token="0-0-0", base=base)
    return state.storage, call.spec(NEXT, TRIPS), task


def stored(storage, status):
    with storage.open_input(status.path) as file:
        return pa.parquet.read_table(file).to_pylist()


def merge(world, rows, *given, residual=None, task=None):
    storage, spec, file = world
    made = clauses(*given, residual=residual)
    (status,) = merge_bucket(task or file, storage=storage, spec=spec, reads=reads_of(spec), rows=rows, clauses=made)
    return status


def reads_of(spec):
    """Return how stored rows are read."""
    instants = VisibleInstants(completed=frozenset(), hidden=frozenset(), first_write="9", until="", is_named=True)
    return SliceSpec(
        layout=spec.layout, merge=spec.merge, instants=instants, columns=tuple(spec.layout.file_schema.names)
    )


def test_matched_rows_stay_in_place_and_inserts_come_last(world):
    status = merge(world, source(trip("n1"), trip("k3", fare=30.0), trip("n0")), UPDATE, INSERT)
    assert (status.updates_count, status.inserts_count, status.rows_count) == (1, 2, 12)
    rows = stored(world[0], status)
    assert [row["uuid"] for row in rows] == [*(f"k{i}" for i in range(10)), "n1", "n0"]
    assert rows[3]["fare"] == 30.0
    numbers = [row["_hoodie_commit_seqno"] for row in rows if row["_hoodie_commit_time"] == NEXT]
    assert numbers == [f"{NEXT}_0_{row}" for row in range(3)]


def test_the_footer_knows_the_inserted_keys(world):
    status = merge(world, source(trip("zz")), INSERT)
    with world[0].open_input(status.path) as file:
        footer = read_footer(file).key_values
    assert (footer["hoodie_min_record_key"], footer["hoodie_max_record_key"]) == ("k0", "zz")


def test_a_second_attempt_reports_the_first_ones_file(world):
    first = merge(world, source(trip("k3", fare=30.0)), UPDATE)
    again = merge(world, source(trip("k3", fare=30.0)), UPDATE)
    assert again == first
    assert first.updates_count == 1


def test_without_source_rows_only_clauses_by_source_act(world):
    status = merge(world, None, UPDATE, INSERT, GONE)
    assert (status.deletes_count, status.rows_count) == (10, 0)
    assert merge(world, None, UPDATE, INSERT).path == ""


def test_a_new_file_group_takes_what_is_inserted(world):
    task = FileTask(partition=PartitionPath("sf"), file_id=FileId("new-0"), write_token="1-0-0", number=1)
    status = merge(world, source(trip("n")), UPDATE, INSERT, task=task)
    assert (status.inserts_count, status.previous_instant) == (1, "null")
    other = FileTask(partition=PartitionPath("sf"), file_id=FileId("none-0"), write_token="2-0-0", number=2)
    assert merge(world, source(trip("n")), UPDATE, task=other).path == ""


def test_many_source_rows_of_one_key_meet_one_row(world):
    rows = source(*(trip("k5", fare=float(fare)) for fare in range(8)))
    assert merge(world, rows, UPDATE, residual="t.fare = s.fare").updates_count == 1
    with pytest.raises(DuplicateKeys, match="k5"):
        merge(world, rows, UPDATE, residual="s.fare < 2")


def test_every_bucket_of_a_task_gives_a_status(world):
    storage, spec, file = world
    new = FileTask(partition=PartitionPath("sf"), file_id=FileId("new-0"), write_token="1-0-0", number=1)
    rows = source(trip("k1", fare=7.0), trip("n")).append_column(BUCKET, pa.array([0, 1], pa.int32()))
    batches = rows.to_batches(max_chunksize=1)
    made = clauses(UPDATE, INSERT)
    found = merge_buckets(
        Attempt(task=0),
        iter(batches),
        storage=storage,
        spec=spec,
        reads=reads_of(spec),
        files=(file, new),
        clauses=made,
    )
    statuses = pa.Table.from_batches(found).to_pylist()
    assert [(one["updates_count"], one["inserts_count"]) for one in statuses] == [(1, 0), (0, 1)]


def test_rows_found_out_of_order_keep_their_own_values(world):
    rows = source(trip("k5", fare=99.0), trip("k7", fare=7.0, rider="seven"), trip("k5", fare=5.0, rider="five"))
    status = merge(world, rows, UPDATE, residual="t.fare = s.fare")
    assert status.updates_count == 2
    assert [row["rider"] for row in stored(world[0], status)] == [*"rrrrr", "five", "r", "seven", *"rr"]


def test_every_touched_row_has_a_number_of_its_own(world):
    small = Clause(kind=ClauseKind.UPDATE, assignments={"fare": parse("0.0")}, condition=parse("t.fare < 3"))
    left = Clause(kind=ClauseKind.UPDATE_BY_SOURCE, assignments={"fare": parse("1.0")}, condition=None)
    rows = source(*(trip(f"k{i}") for i in range(6)), trip("new"))
    status = merge(world, rows, small, UPDATE, INSERT, left)
    numbers = [row["_hoodie_commit_seqno"] for row in stored(world[0], status)]
    assert set(numbers) == {f"{NEXT}_0_{row}" for row in range(11)}

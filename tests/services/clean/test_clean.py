import json
import os

import pytest
from tests.building import TINY_FILTERS, TableBuilder, listing, trip
from tests.faulty import FaultyStorage
from tests.queries.cleaning import plan_clustering, put_instant
from tests.simulation.watching import deaths
from tests.txn.writing import begun, leftovers, states_of

from pyhudi.errors import CorruptData, NotBuilt, SnapshotExpired
from pyhudi.formats.avro import encode_container
from pyhudi.services.clean.clean import Cleaning
from pyhudi.services.clean.plan import HELD
from pyhudi.state.properties_file import update_properties
from pyhudi.storage.local import LocalStorage
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.cleaning import CleanPlan
from pyhudi.timeline.cleans import last_clean
from pyhudi.timeline.codec import decode_clean_plan, encode_clean_plan
from pyhudi.timeline.instant import Action, Instant, InstantTime, State, file_name

VERSIONS = pytest.mark.parametrize("version", [6, 8, 9])
OFF = {**TINY_FILTERS, "hoodie.clean.automatic": False}
KEEP = {
    "commits": {"hoodie.cleaner.commits.retained": 2},
    "hours": {"hoodie.clean.policy": "KEEP_LATEST_BY_HOURS", "hoodie.clean.hours.retained": 1},
    "versions": {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": 2},
}


@pytest.fixture
def builder():
    return TableBuilder()


def updated(table, count, pause_s=600):
    """Update both partitions so many times; give the results."""
    done = []
    for number in range(count):
        rows = [trip(f"k{one}", "ab"[one % 2], ts=number, fare=float(number)) for one in range(4)]
        done.append(table.upsert(rows, options=OFF))
        table.state.env.sleep(pause_s)
    return done


def data_files(table):
    return {one.path for one in table.state.storage.list("") if one.path.endswith(".parquet")}


@pytest.fixture(params=[6, 8, 9])
def table(request, builder):
    return builder.create(version=request.param)


@pytest.mark.parametrize("policy", KEEP)
def test_each_policy_keeps_what_it_says_and_older_moments_say_so(table, builder, policy):
    done = updated(table, 8)
    before = builder.rows_of(table)
    planned = table.clean(dry_run=True, options=KEEP[policy])
    cleaned = table.clean(options=KEEP[policy])
    assert builder.rows_of(table) == before
    assert (planned.files, planned.bytes) == (cleaned.files, cleaned.bytes)
    readable = []
    for one in done:
        try:
            assert len(builder.rows_of(table, as_of=one.instant)) == 4
            readable.append(one.instant)
        except SnapshotExpired:
            assert not readable, "readable moments come last"
    assert len(readable) == {"commits": 3, "hours": 6, "versions": 2}[policy]
    assert table.earliest_readable_instant == readable[0]
    assert len(cleaned.files) == 2 * (8 - len(readable))
    assert not data_files(table) & set(cleaned.files)
    assert table.clean(options=KEEP[policy]).files == ()


@pytest.mark.parametrize("policy", KEEP)
def test_changes_from_before_what_is_kept_are_refused_or_whole(table, policy):
    done = updated(table, 8)
    table.clean(options=KEEP[policy])
    for at, after in enumerate(done[:-1]):
        for until in done[at + 1 :]:
            try:
                found = table.changes(after.instant, until.instant).to_arrow()
            except SnapshotExpired:
                assert until.instant < table.earliest_readable_instant
            else:
                assert found.num_rows == 4


def test_a_dry_run_says_which_files_and_how_many_bytes_and_changes_nothing(table):
    updated(table, 6)
    before = listing(table)
    planned = table.clean(dry_run=True, options=KEEP["commits"])
    assert listing(table) == before
    assert len(planned.files) == 6
    assert planned.bytes == sum(len(before[path]) for path in planned.files)
    assert planned.instants == ()
    assert planned.earliest
    assert "6 files" in str(planned)


def test_there_is_nothing_to_do_while_few_commits_are_there(table):
    updated(table, 3)
    assert table.clean().files == table.clean(dry_run=True).files == ()
    assert "clean" not in {action for action, _ in states_of(table.state)}


def test_a_plan_that_is_only_stored_is_run_by_the_next_process(table, builder):
    updated(table, 6)
    stored = table.clean(options=KEEP["commits"], schedule=True)
    assert data_files(table) >= set(stored.files)
    assert states_of(table.state)[-1] == ("clean", "requested")
    run = builder.reopen(table).clean()
    assert (run.instants, run.files, run.bytes) == (stored.instants, stored.files, stored.bytes)
    assert not data_files(table) & set(run.files)


@VERSIONS
def test_a_process_that_dies_at_any_put_or_delete_leaves_what_the_next_write_finishes(version):
    builder = TableBuilder()
    ready = builder.create(version=version)
    updated(ready, 4)
    expected = builder.rows_of(ready)
    found = deaths(ready, lambda table: table.clean(options=KEEP["commits"]))
    for table in found:
        assert builder.rows_of(table) == expected
        table.state.env.sleep(121)
        table.upsert([trip("new", "b")], options={**TINY_FILTERS, **KEEP["commits"]})
        assert len(builder.rows_of(table)) == 5
        assert {state for _, state in states_of(table.state)} == {"completed"}
        assert leftovers(table.state) == []
        assert len([path for path in data_files(table) if path.startswith("a/")]) == 2
    assert len(found) > 6


def test_files_that_a_savepoint_names_stay(table, builder):
    done = updated(table, 4)
    saved = {path for path in done[0].files if path.startswith("a/")}
    _savepoint(table, done[0].instant, saved)
    updated(table, 2)
    first = table.clean(options=KEEP["commits"])
    assert saved <= data_files(table)
    is_whole = not table.state.layout.has_completion_times  # the moment may show other files than the savepoint names
    assert set(done[0].files) - saved <= (data_files(table) if is_whole else set(first.files))
    updated(table, 1)
    [instant] = [one for one in load_timeline(table.state).instants if one.action is Action.SAVEPOINT]
    _delete_instant(table, instant)
    assert (set(done[0].files) if is_whole else saved) <= set(table.clean(options=KEEP["commits"]).files)


def test_a_deleted_partition_goes_with_its_last_file_and_can_come_back(table, builder):
    updated(table, 2)
    table.delete_partitions(["a"], options=OFF)
    for number in range(4):
        table.upsert([trip("k1", "b", ts=10 + number)], options=OFF)
    cleaned = table.clean(options=KEEP["commits"])
    assert cleaned.partitions == ("a",)
    assert table.state.storage.list("a") == []
    assert last_clean(table.state, load_timeline(table.state)).partitions["a"].is_deleted
    table.upsert([trip("k0", "a")], options=OFF)
    assert len(builder.rows_of(table, filter="city = 'a'")) == 1
    assert table.inspect.partitions()["partition"].to_pylist() == ["a", "b"]


def test_beside_a_pending_write_an_empty_partition_stays_until_the_next_clean(table):
    """The write may have found the partition's metadata, and would not make it again."""
    updated(table, 2)
    table.delete_partitions(["a"], options=OFF)
    for number in range(4):
        table.upsert([trip("k1", "b", ts=10 + number)], options=OFF)
    table.clean(options=KEEP["commits"], schedule=True)
    with begun(table.state) as txn:
        table.clean()
        assert [one.path for one in table.state.storage.list("a")] == ["a/.hoodie_partition_metadata"]
        assert json.loads(last_clean(table.state, load_timeline(table.state)).extra[HELD]) == ["a"]
        txn.start(None)
    table.upsert([trip("k1", "b", ts=20)], options=OFF)
    assert table.clean(options=KEEP["commits"]).partitions == ("a",)
    assert table.state.storage.list("a") == []


def test_a_write_that_began_before_reads_what_was_there_though_others_have_superseded_it(table):
    updated(table, 3)
    with begun(table.state) as txn:
        needed = {one.base.path for one in _slices(table, txn.snapshot)}
        updated(table, 4, pause_s=1)
        table.clean(options={"hoodie.clean.commits.retained": 1})
        assert needed <= data_files(table)
        table.clean(options={**KEEP["versions"], "hoodie.clean.fileversions.retained": 1})
        assert needed <= data_files(table)
        txn.start(None)


def test_what_a_reader_pinned_stays_until_it_is_done(table, builder):
    done = updated(table, 2)
    with table.pin() as pinned, table.pin(done[0].instant) as older:
        updated(table, 5)
        table.clean(options=KEEP["commits"])
        assert {row[3] for row in builder.rows_of(pinned)} == {1.0}
        assert {row[3] for row in builder.rows_of(older)} == {0.0}
    updated(table, 1)
    table.clean(options=KEEP["commits"])
    with pytest.raises(SnapshotExpired):
        builder.rows_of(table, as_of=done[1].instant)


def test_only_partitions_in_which_something_was_superseded_are_listed(table, builder):
    updated(table, 6)
    table.clean(options=KEEP["commits"])
    for number in range(4):
        table.upsert([trip("k1", "b", ts=10 + number), trip(f"new{number}", f"new{number}")], options=OFF)
    faulty = FaultyStorage(table.state.storage)
    builder.reopen(table, faulty).clean(options=KEEP["commits"])
    assert {one.path for one in faulty.operations if one.name == "list_directory"} & {"a", "b", "", "new0"} == {
        "a",
        "b",
    }


def test_where_cleaning_is_not_incremental_every_partition_is_looked_into(table, builder):
    updated(table, 6)
    faulty = FaultyStorage(table.state.storage)
    options = {**KEEP["commits"], "hoodie.cleaner.incremental.mode": False}
    builder.reopen(table, faulty).clean(options=options)
    assert "" in _listed(faulty)


def test_where_nothing_is_ever_superseded_no_partition_is_listed_and_what_was_looked_at_is_noted(table):
    for number in range(24):
        table.insert([trip(f"k{number}", f"p{number}")], options={**TINY_FILTERS, "hoodie.clean.commits.retained": 2})
    cleans = [one for one in load_timeline(table.state).instants if one.action is Action.CLEAN]
    assert len(cleans) == 2  # after every tenth commit
    assert last_clean(table.state, load_timeline(table.state)).partitions == {}
    assert len(data_files(table)) == 24


@pytest.mark.parametrize(
    "files",
    [
        {"a": ("../../x_0-0-0_20260101000000000.parquet",)},
        {"..": ("x_0-0-0_20260101000000000.parquet",)},
        {"../..": ("x_0-0-0_20260101000000000.parquet",)},
        {"/etc": ("x_0-0-0_20260101000000000.parquet",)},
        {".hoodie": ("hoodie.properties",)},
        {".hoodie/timeline": ("x_0-0-0_20260101000000000.parquet",)},
        {"a": (".hoodie_partition_metadata",)},
        {"a": ("",)},
    ],
)
def test_a_plan_that_names_what_is_no_data_file_deletes_nothing(builder, files):
    table = builder.create()
    updated(table, 1)
    before = data_files(table)
    good = min(before).rsplit("/", 1)
    plan = CleanPlan(
        earliest=None, last_completed="", policy="KEEP_LATEST_COMMITS", files={good[0]: (good[1],), **files}
    )
    with pytest.raises(CorruptData, match="names what is no data file"):
        Cleaning().run(None, None, plan)  # judged before anything is used
    assert data_files(table) == before


def test_a_plan_that_names_files_of_another_table_is_refused(builder):
    table = builder.create()
    plan = CleanPlan(
        earliest=None,
        last_completed="",
        policy="x",
        files={"a": ("s_0-0-0_1.parquet",)},
        bootstrap_files=frozenset("s"),
    )
    with pytest.raises(CorruptData, match="outside the table"):
        Cleaning().run(None, None, plan)
    assert decode_clean_plan(encode_clean_plan(plan, "{}/{}".format, b"n" * 16), "x").bootstrap_files == frozenset()
    assert table.clean().files == ()


def test_a_clean_is_not_made_of_a_table_that_is_not_written(table):
    update_properties(table.state.storage, table.state.env, {"hoodie.table.cdc.enabled": "true"})
    with pytest.raises(NotBuilt, match="change data capture"):
        table.clean()


def test_a_clean_waits_for_a_restore(table):
    updated(table, 6)
    put_instant(table.state, InstantTime("20260101235959000"), Action.RESTORE, progress=State.REQUESTED)
    assert table.clean(options=KEEP["commits"]).files == ()


def test_beside_a_local_file_its_checksum_goes_too(tmp_path, builder):
    table = builder.create(storage=LocalStorage(str(tmp_path)))
    updated(table, 6)
    for path in data_files(table):
        partition, _, name = path.rpartition("/")
        (tmp_path / partition / f".{name}.crc").write_bytes(b"crc")
    cleaned = table.clean(options=KEEP["commits"])
    left = [one for one in os.listdir(tmp_path / "a") if one.endswith(".crc")]
    assert len(left) == 3
    assert len(cleaned.files) == 6


def test_groups_of_a_pending_clustering_stay(builder):
    table = builder.create()
    done = updated(table, 2)
    [path] = [one for one in done[0].files if one.startswith("a/")]
    plan_clustering(table, path)
    for number in range(5):
        table.upsert([trip("k1", "b", ts=10 + number)], options=OFF)
    cleaned = table.clean(options={**KEEP["versions"], "hoodie.clean.fileversions.retained": 1})
    assert cleaned.files
    assert not [one for one in cleaned.files if one.startswith("a/")]


def _listed(faulty):
    return {one.path for one in faulty.operations if one.name == "list_directory"}


def _slices(table, timeline):
    from pyhudi.metadata.listing import file_index
    from pyhudi.queries.slices import visible_slices

    return visible_slices(file_index(table.state, timeline))


def _savepoint(table, instant, paths):
    """Put a completed savepoint of a commit that names these files."""
    text = "string"
    part = {
        "type": "record",
        "name": "HoodieSavepointPartitionMetadata",
        "fields": [
            {"name": "partitionPath", "type": text},
            {"name": "savepointDataFile", "type": {"type": "array", "items": text}},
        ],
    }
    schema = {
        "type": "record",
        "name": "HoodieSavepointMetadata",
        "fields": [{"name": "partitionMetadata", "type": {"type": "map", "values": part}}],
    }
    files = {}
    for path in paths:
        where, name = path.rsplit("/", 1)
        files.setdefault(where, []).append(name)
    said = {where: {"partitionPath": where, "savepointDataFile": names} for where, names in files.items()}
    data = encode_container(schema, {"partitionMetadata": said}, b"n" * 16)
    newest = load_timeline(table.state).instants[-1].completion_time
    put_instant(table.state, instant, Action.SAVEPOINT, data, done=newest)


def _delete_instant(table, instant: Instant):
    table.state.storage.delete(
        f"{table.state.layout.timeline_path}/{file_name(instant, table.state.layout.timeline_layout)}"
    )

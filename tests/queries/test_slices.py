"""The file slices and rows that another reader, hudi-rs, finds in tables on disk."""

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from hudi import HudiReadOptions, HudiTableBuilder
from tests.building import SMALL_FILES, TINY_FILTERS, TRIPS, TableBuilder, sorted_rows, trip, trips
from tests.new_states import new_state
from tests.queries.cleaning import put_instant
from tests.timeline.test_history import archive
from tests.txn.writing import committed, metadata_of, path_of

from pyhudi.errors import CorruptData, NotBuilt, OptionError
from pyhudi.filegroup.model import PartitionPath
from pyhudi.metadata.listing import file_index
from pyhudi.queries.slices import table_schema, visible_slices
from pyhudi.queries.snapshot import pin_requested
from pyhudi.schema.types import arrow_to_avro
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.storage.local import LocalStorage
from pyhudi.table import Table
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.codec import encode_commit
from pyhudi.timeline.instant import Action, State
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation
from pyhudi.timeline.view import as_of, completed_writes

OPTIONS = {**SMALL_FILES, **TINY_FILTERS}
STYLE = "hoodie.datasource.write.hive_style_partitioning"


@pytest.fixture
def built(tmp_path):
    """Make tables on disk."""

    class OnDisk(TableBuilder):
        def place(self):
            return LocalStorage(str(tmp_path / "trips"), self.env)

    return OnDisk()


def history(engine, **said):
    table = engine.create(**said)
    rows = [trip(f"k{i:02}", ["sf", "oslo", "rome"][i % 3]) for i in range(60)]
    table.upsert(trips(*rows), options=OPTIONS)
    table.upsert(
        trips(*(trip(f"k{i:02}", ["sf", "oslo", "rome"][i % 3], ts=2, fare=9.0) for i in range(8))), options=OPTIONS
    )
    table.delete(keys=["k00", "k33"])
    table.insert_overwrite(trips(trip("z", "rome")))
    table.update(set={"rider": "'u'"}, where="fare > 5")
    table.delete(where="uuid = 'k30'")
    table.bulk_insert(trips(trip("bulk", "rome"), trip("more", "lima")), options=TINY_FILTERS)
    return table


def peer(table, **options):
    return HudiTableBuilder.from_base_uri(table.state.storage.url.removeprefix("file://")).with_options(options).build()


@pytest.mark.parametrize("said", [{}, {"partition_by": None}, {"options": {STYLE: True}}])
def test_hudi_rs_finds_the_same_slices_and_reads_the_same_rows(built, version, said):
    table = history(built, version=version, **said)
    other = peer(table)
    ours = {
        (one["partition"], one["file_id"], one["base_instant"], one["base_file"], one["base_size_bytes"])
        for one in table.inspect.file_slices().to_pylist()
    }
    theirs = {
        (one.partition_path, one.file_id, one.creation_instant_time, one.base_file_relative_path(), one.base_file_size)
        for one in other.get_file_slices()
    }
    assert ours == theirs
    assert len(ours) > (1 if said.get("partition_by", True) is None else 4)
    found = pa.Table.from_batches(other.read())
    assert sorted_rows(found.select(table.scan(meta=True).schema.names)) == sorted_rows(
        table.scan(meta=True).to_arrow()
    )


def test_hudi_rs_reads_rows_without_stored_keys(built, version):
    table = built.create(version=version, options={"hoodie.populate.meta.fields": False})
    table.upsert(trips(trip("a"), trip("b", "oslo")))
    table.upsert(trips(trip("a", ts=2)))
    found = pa.Table.from_batches(peer(table).read()).select(TRIPS.names)
    assert sorted_rows(found) == built.rows_of(table)


def test_slices_of_some_partitions_are_listed_alone(engine, version):
    table = history(engine, version=version)
    some = visible_slices(file_index(table.state, table.timeline), [PartitionPath("rome"), PartitionPath("rome")])
    assert {one.group.partition for one in some} == {"rome"}
    everywhere = visible_slices(file_index(table.state, table.timeline))
    assert [one for one in everywhere if one.group.partition == "rome"] == some
    assert everywhere == sorted(everywhere, key=lambda one: (one.group.partition, one.group.file_id))


def test_the_schema_is_the_newest_commits_and_before_it_the_tables_own(engine, version):
    table = engine.create(version=version)
    assert table_schema(table.state, table.timeline) == TRIPS
    first = table.upsert(engine.rows(trips(trip("a"))))
    wider = TRIPS.append(pa.field("tip", pa.float64()))
    table.upsert(engine.rows(trips(trip("a", tip=1.0), schema=wider)))
    assert table_schema(table.state, table.timeline) == wider
    assert table_schema(table.state, as_of(table.timeline, first.completion_time)) == TRIPS


def schema_of(columns):
    return json.dumps(arrow_to_avro(columns, "trips_record", "hoodie.trips", null_first=True))


def rearranged(table, time, columns, operation=WriteOperation.CLUSTER):
    """Put a completed service on the timeline that moved rows of some columns."""
    metadata = CommitMetadata(operation=operation, extra={"schema": schema_of(columns)}, replaced={})
    action = Action.REPLACECOMMIT if operation is WriteOperation.CLUSTER else Action.COMMIT
    metadata = metadata if operation is WriteOperation.CLUSTER else replace(metadata, replaced=None)
    put_instant(table.state, time, action, encode_commit(metadata, table.state.layout.timeline_layout, b"s" * 16))


WIDER = TRIPS.append(pa.field("tip", pa.float64()))


@pytest.mark.parametrize(
    "operation", [WriteOperation.CLUSTER, WriteOperation.COMPACT, WriteOperation.LOG_COMPACT, WriteOperation.INDEX]
)
def test_a_service_that_moves_rows_never_takes_a_column_away(engine, version, operation):
    table = engine.create(version=version)
    result = table.upsert(engine.rows(trips(trip("a", tip=1.0), schema=WIDER)))
    rearranged(table, f"{int(result.completion_time) + 1000:017d}", TRIPS, operation)
    assert table_schema(table.state, table.timeline) == WIDER
    assert engine.rows_of(table, "uuid", "tip") == [("a", 1.0)]


def test_where_every_write_is_archived_a_service_tells_the_columns(engine, version):
    table = engine.create(version=version)
    rearranged(table, "20260101000000000", WIDER)
    assert table_schema(table.state, table.timeline) == WIDER


def test_a_table_that_tells_no_schema_is_corrupt(engine):
    table = engine.create()
    update_properties(table.state.storage, table.state.env, {"hoodie.table.create.schema": None})
    with pytest.raises(CorruptData, match="schema"):
        _ = engine.reopen(table).schema


@pytest.mark.parametrize("version", [8, 9])
def test_an_update_that_a_compaction_overtook_is_kept_when_both_are_archived(version):
    state = new_state(version)
    first, update, compaction, done = (f"2025010{day}000000000" for day in (1, 2, 3, 4))
    committed(state, partition="oslo")
    for time in (first, compaction):
        state.storage.put(path_of(time), b"data")
    log = f"sf/.g_{update}.log.1_0-0-0"
    state.storage.put(log, b"data")
    state.storage.put("sf/.hoodie_partition_metadata", b"")
    archive(state, (first, first, "commit", b"", b"", 1), (update, done, "deltacommit", b"", b"", 1))
    [found] = visible_slices(file_index(state, load_timeline(state)), [PartitionPath("sf")])
    assert (found.base.instant, [one.path for one in found.logs]) == (compaction, [log])


@pytest.mark.parametrize("ending", ["orc", "lance", "hfile"])
def test_base_files_in_another_format_are_refused_by_its_name(engine, ending):
    table = engine.create()
    table.upsert(trips(trip("a")))
    storage = table.state.storage
    [path] = [one.path for one in storage.list("") if one.path.endswith(".parquet")]
    other = path.removesuffix("parquet") + ending
    storage.put(other, storage.get(path))
    storage.delete(path)
    for verb in (table.scan, lambda: table.upsert(trips(trip("a"))), lambda: table.delete(where="fare > 0")):
        with pytest.raises(NotBuilt, match=f"in {ending.upper()} .*{other}"):
            verb()
    assert table.inspect.file_slices()["base_file"].to_pylist() == [other]


def three_states(engine, version):
    table = engine.create(version=version)
    return table, [table.upsert(engine.rows(trips(trip("a", ts=ts))), options=OPTIONS).instant for ts in (1, 2, 3)]


def test_hudis_as_of_is_refused_at_and_behind_a_pending_write_which_may_yet_be_seen(engine, version):
    table, instants = three_states(engine, version)
    between = f"{int(instants[1]) + 1:017d}"
    assert between < instants[2]
    put_instant(table.state, between, Action.COMMIT, progress=State.REQUESTED)
    for time in (between, instants[2], "2999-01-01"):
        with pytest.raises(OptionError, match=between):
            pin_requested(table.state, time)
    seen = pin_requested(table.state, instants[1])
    assert [one.requested_time for one in completed_writes(seen)] == instants[:2]
    assert engine.rows_of(table, "ts", as_of=instants[2]) == [(3,)]


def test_hudis_as_of_passes_over_a_pending_clustering_which_leaves_rows_as_they_are(engine):
    table, instants = three_states(engine, 9)
    put_instant(table.state, f"{int(instants[1]) + 1:017d}", Action.CLUSTERING, progress=State.REQUESTED)
    assert [one.requested_time for one in completed_writes(pin_requested(table.state, "2999-01-01"))] == instants


def with_ids(version_id, **ids):
    """Spell a schema with column ids."""
    fields = [{"id": number, "name": name, "optional": True, "type": "string"} for name, number in ids.items()]
    return {"max_column_id": 9, "version_id": version_id, "type": "record", "fields": fields}


def test_columns_that_were_renamed_under_schema_on_read_are_refused(engine, version):
    before, after = with_ids(0, uuid=1, driver=2), with_ids(1, uuid=1, rider=2)
    table = engine.create(version=version)
    history = json.dumps({"schemas": [after, before]}).encode()
    table.state.storage.put(".hoodie/.schema/20250101000000000.schemacommit", history)
    first = table.upsert(trips(trip("a")), commit_metadata={"latest_schema": json.dumps(before)}).instant
    assert table.scan().to_arrow().num_rows == 1
    table.upsert(trips(trip("b")), commit_metadata={"latest_schema": json.dumps(after)})
    with pytest.raises(NotBuilt, match=r"renamed.*driver.*rider"):
        table.scan()
    with pytest.raises(NotBuilt, match="renamed"):
        table.upsert(trips(trip("c")))
    assert table.scan(as_of=first).to_arrow().num_rows == 1
    rearranged(table, "29990101000000000", TRIPS)
    with pytest.raises(NotBuilt, match="renamed"):
        table.scan()


def test_hudi_rs_travels_to_the_same_rows(built, version):
    table = history(built, version=version)
    other = peer(table)
    for instant in table.inspect.commits()["instant"].to_pylist():
        ours = table.scan(as_of=instant, meta=True).to_arrow()
        theirs = pa.Table.from_batches(other.read(HudiReadOptions().with_as_of_timestamp(instant)))
        assert sorted_rows(theirs.select(ours.column_names)) == sorted_rows(ours)


@pytest.mark.parametrize("action", ["commit", "replacecommit"])
def test_a_completed_instant_of_no_bytes_is_corrupt_by_name(engine, version, action):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))))
    table.insert_overwrite(engine.rows(trips(trip("z"))))
    storage, directory = table.state.storage, table.state.layout.timeline_path
    [name] = [one for one in storage.list_names(directory) if one.endswith(f".{action}")]
    storage.put(f"{directory}/{name}", b"")
    verbs = [table.scan, lambda: table.changes(until="2999-01-01"), lambda: table.lookup(["a"])]
    verbs += [lambda: table.upsert(engine.rows(trips(trip("a")))), lambda: table.delete(where="fare > 0")]
    for verb in verbs if action == "replacecommit" else [lambda: table.inspect.commits()]:
        with pytest.raises(CorruptData, match="empty") as refused:
            verb()
        assert refused.value.values["file"].endswith(name)


def bootstrapped(table, time):
    """Make what a bootstrap leaves of the only base file: of metadata, it would have no columns of the rows."""
    state = table.state
    [path] = [one.path for one in state.storage.list("sf") if one.path.endswith(".parquet")]
    renamed = f"{path.rpartition('_')[0]}_{time}.parquet"
    state.storage.put(renamed, state.storage.get(path))
    for gone in (path, *(one.path for one in state.storage.list(".hoodie") if path[-25:-8] in one.path)):
        state.storage.delete(gone)
    update_properties(state.storage, state.env, {"hoodie.bootstrap.base.path": "/data/parquet"})
    action = Action.DELTACOMMIT if state.config.table_type == "MERGE_ON_READ" else Action.COMMIT
    put_instant(
        state,
        time,
        action,
        encode_commit(metadata_of(renamed), state.layout.timeline_layout, b"s" * 16),
        done="20250101000000000",
    )
    return renamed


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_a_bootstrap_of_metadata_is_refused_by_name_to_every_reader(version, table_type):
    table = TableBuilder(table_type).create(version=version, options={"hoodie.metadata.enable": False})
    table.upsert(trips(trip("a")), options={"hoodie.metadata.enable": False})
    path = bootstrapped(table, "00000000000001")
    table = Table(open_state(table.state.storage, table.state.env))
    for read in (
        lambda: table.scan().to_arrow(),
        lambda: table.scan(mode="read_optimized").to_arrow(),
        table.count,
        lambda: table.lookup(["a"]),
        lambda: table.changes(None).to_arrow(),
    ):
        with pytest.raises(NotBuilt, match=f"bootstrapped.*{path}.*/data/parquet"):
            read()
    [problem] = table.check().problems.to_pylist()
    assert (problem["kind"], problem["path"]) == ("unreadable file", path)


def test_a_bootstrap_that_copied_rows_is_read(version):
    table = TableBuilder().create(version=version, options={"hoodie.metadata.enable": False})
    table.upsert(trips(trip("a")), options={"hoodie.metadata.enable": False})
    bootstrapped(table, "00000000000002")
    table = Table(open_state(table.state.storage, table.state.env))
    assert table.scan().to_arrow()["uuid"].to_pylist() == ["a"]

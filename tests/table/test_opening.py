import json
import subprocess
import sys

import pyarrow as pa
import pytest
from tests.building import TRIPS, counts, trip, trips
from tests.fixed_env import FixedEnv

import pyhudi.table
from pyhudi.errors import (
    CorruptData,
    InvalidInput,
    OptionError,
    SchemaMismatch,
    TableExists,
    TableNotFound,
    Unsupported,
)
from pyhudi.state.properties_file import PROPERTIES_PATH, update_properties
from pyhudi.storage.opening import open_storage
from pyhudi.table import create_table, open_table, opening, table_exists, write_table
from pyhudi.timeline.active import load_timeline, read_commit_metadata
from pyhudi.timeline.view import completed_writes

WRITE = "hoodie.datasource.write."
SAID = {"record_key": ["uuid"], "partition_by": ["city"], "ordering": ["ts"]}


@pytest.mark.parametrize("module", ["pyhudi.table", "pyhudi.predicate.arrow.casting"])
def test_the_table_is_there_without_loading_pandas_or_clients_of_stores(module):
    code = f"import sys, {module}; print(sorted({{'pandas', 'pyspark', 'obstore'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_table_is_created_opened_and_written(path):
    assert not table_exists(path)
    table = create_table(path, TRIPS, name="trips", **SAID, env=FixedEnv())
    assert table_exists(path)
    assert repr(table).startswith("Table('trips', 'memory://facade-")
    table.upsert([trip("a"), trip("b", "oslo")])
    again = open_table(path, env=table.state.env)
    assert again.scan(["uuid"]).to_arrow()["uuid"].to_pylist() == ["b", "a"]
    assert again.schema == TRIPS
    assert again.config.table_version == 9
    assert again.latest_instant == table.latest_instant
    assert [one.action for one in again.timeline.instants] == ["commit"]


def test_a_table_is_called_like_the_last_part_of_its_path(path):
    assert create_table(path, TRIPS).config.name == path.rsplit("/", 1)[-1]


def test_one_name_stands_for_a_list_of_one(path):
    assert create_table(path, TRIPS, record_key="uuid", partition_by="city").config.record_key == ("uuid",)


def test_creating_twice_is_refused_or_opens(path):
    first = create_table(path, TRIPS, **SAID)
    with pytest.raises(TableExists, match="if_exists"):
        create_table(path, TRIPS, **SAID)
    assert create_table(path, TRIPS, **SAID, if_exists="open").config == first.config


@pytest.mark.parametrize(
    ("said", "error", "says"),
    [
        ({"record_key": ["nope"]}, InvalidInput, "nope"),
        ({"ordering": ["nope"]}, InvalidInput, "nope"),
        ({"partition_by": ["nope"]}, InvalidInput, "nope"),
        ({"table_version": 7}, InvalidInput, "version"),
        ({"table_version": 11}, (InvalidInput, Unsupported), "version"),
        ({"table_type": "fast"}, InvalidInput, "cow or mor"),
        ({"options": {f"{WRITE}recordkey.field": "rider"}, "record_key": ["uuid"]}, OptionError, "rider"),
        ({"options": {"hoodie.tabel.name": "x"}}, OptionError, "hoodie.table.name"),
        ({"options": {"hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}}, OptionError, "ordering"),
        ({"options": {f"{WRITE}keygenerator.type": "TIMESTAMP"}, "partition_by": ["ts"]}, OptionError, "timestamp"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_is_not_created(path, said, error, says):
    with pytest.raises(error, match=says):
        create_table(path, TRIPS, **said)
    assert not table_exists(path)


def test_write_table_creates_appends_and_overwrites(path):
    rows = trips(trip("a"), trip("b", "oslo"))
    assert counts(write_table(path, rows, **SAID, name="trips")) == (2, 0, 0)
    assert counts(write_table(path, trips(trip("a", ts=2), trip("c")), commit_metadata={"by": "me"})) == (1, 1, 0)
    assert counts(write_table(path, trips(trip("z")), mode="overwrite")) == (1, 0, 0)
    table = open_table(path)
    assert table.scan(["uuid"]).to_arrow()["uuid"].to_pylist() == ["z"]
    assert table.config.ordering_fields == ("ts",)
    with pytest.raises(InvalidInput, match="mode"):
        write_table(path, rows, mode="ignore")


def test_write_table_takes_the_table_that_somebody_else_makes_at_the_same_time(path, monkeypatch):
    look, is_done = opening.has_properties, []

    def just_too_early(storage):
        found = look(storage)
        if not is_done:
            is_done.append(True)
            create_table(path, TRIPS, **SAID)
        return found

    monkeypatch.setattr(opening, "has_properties", just_too_early)
    assert counts(write_table(path, trips(trip("a")), **SAID)) == (1, 0, 0)
    with pytest.raises(TableExists, match="if_exists"):
        create_table(path, TRIPS, **SAID)


def test_write_table_makes_a_table_of_dicts(path):
    result = write_table(path, [{"uuid": "a", "n": 1}, {"uuid": "b", "x": 0.5}], record_key=["uuid"])
    assert result.inserted == 2
    assert open_table(path).schema.names == ["uuid", "n", "x"]
    with pytest.raises(InvalidInput, match="holds dicts"):
        write_table(f"{path}-2", [{"uuid": "a"}, 7], record_key=["uuid"])


def test_write_table_takes_rows_that_were_read_from_another_table(path):
    source = create_table(f"{path}-source", TRIPS, **SAID)
    source.upsert([trip("a")])
    rows = source.scan(meta=True).to_arrow().append_column("_hoodie_is_deleted", pa.array([False]))
    write_table(path, rows, **SAID)
    assert open_table(path).schema == TRIPS


def test_what_is_no_table_is_not_opened(path, tmp_path):
    for where in (path, str(tmp_path), str(tmp_path / "nowhere")):
        with pytest.raises(TableNotFound) as failure:
            open_table(where)
        assert where.rsplit("/", 1)[-1] in str(failure.value)


def test_a_table_of_a_newer_version_is_not_opened(path):
    table = create_table(path, TRIPS)
    update_properties(table.state.storage, table.state.env, {"hoodie.table.version": "12"})
    with pytest.raises(Unsupported, match="12"):
        open_table(path)


def test_corrupt_properties_are_named(path):
    table = create_table(path, TRIPS, env=FixedEnv())
    table.state.storage.put(PROPERTIES_PATH, b"hoodie.table.name=x\nhoodie.table.checksum=1\n")
    with pytest.raises(CorruptData, match=r"hoodie\.properties"):
        open_table(path, env=FixedEnv())


def test_the_facade_exports_what_the_surface_names():
    for name in pyhudi.table.__all__:
        assert hasattr(pyhudi.table, name)


def test_the_create_schema_is_the_tables_avro_schema(path):
    table = create_table(path, TRIPS, name="trips", **SAID)
    schema = json.loads(table.config.create_schema)
    assert [field["name"] for field in schema["fields"]] == TRIPS.names
    assert open_storage(path).get(PROPERTIES_PATH)


def test_a_table_may_have_a_name_that_avro_does_not_allow(path):
    table = create_table(path, TRIPS, **SAID | {"name": "my-trips"})
    table.upsert([trip("a")])
    (commit,) = completed_writes(load_timeline(table.state))
    stored = read_commit_metadata(table.state, commit).extra["schema"]
    for text in (table.config.create_schema, stored):
        schema = json.loads(text)
        assert (schema["name"], schema["namespace"]) == ("my__trips_record", "hoodie.my__trips")


def test_columns_that_differ_by_case_only_make_no_table(path):
    with pytest.raises(SchemaMismatch, match="uuid: differs from UUID by case only"):
        create_table(path, pa.schema([("UUID", pa.string()), ("uuid", pa.string())]))
    with pytest.raises(SchemaMismatch, match="by case only"):
        write_table(path, [{"id": 1, "Id": 2}], record_key=["id"])
    assert not table_exists(path)


STAYS = {"hoodie.index.type": "GLOBAL_BLOOM", "hoodie.bloom.index.update.partition.path": "false"}


@pytest.mark.parametrize("version", [6, 9])
@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_a_handle_reads_rows_that_another_one_lets_stay_in_their_partition(tmp_path, version, table_type):
    create_table(
        str(tmp_path),
        pa.schema([("k", pa.string()), ("ts", pa.int64()), ("city", pa.string())]),
        record_key="k",
        partition_by="city",
        ordering="ts",
        table_type=table_type,
        table_version=version,
    )
    old = [open_table(str(tmp_path)) for _ in range(5)]
    table = open_table(str(tmp_path))
    first = table.upsert([{"k": "a", "ts": 1, "city": "oslo"}], options=STAYS).instant
    table.upsert([{"k": "a", "ts": 2, "city": "lima"}], options=STAYS)
    moved = "city = 'lima'"
    assert old[0].scan(filter=moved).to_arrow()["ts"].to_pylist() == [2]
    assert old[1].changes(after=first, filter=moved).to_arrow()["ts"].to_pylist() == [2]
    assert old[2].lookup(["lima"], by="city")["ts"].to_pylist() == [2]
    with old[3].pin() as pinned:
        assert pinned.scan(filter=moved).to_arrow()["ts"].to_pylist() == [2]
    assert old[4].check().ok
    assert all(one.config == table.config for one in old)


def test_a_handle_tells_of_an_index_that_another_one_made(path):
    table = create_table(path, TRIPS, **SAID)
    table.upsert([trip("a")], options={"hoodie.metadata.enable": "true"})
    old, checking = open_table(path), open_table(path)
    table.create_index("record_index")
    assert "record_index" in old.inspect.indexes()["name"].to_pylist()
    assert checking.check().ok
    assert "record_index" in checking.config.metadata_partitions

"""What a call may ask of a table: when it makes one, and when there is one already."""

from functools import partial

import pyarrow as pa
import pytest
from tests.building import TRIPS, counts, trip, trips

from pyhudi.errors import (
    HudiError,
    InvalidInput,
    KeyMissing,
    OptionError,
    SchemaMismatch,
    StorageUnavailable,
    TableExists,
)
from pyhudi.state.properties_file import update_properties
from pyhudi.table import create_table, open_table, opening, table_exists, write_table

WRITE = "hoodie.datasource.write."
SAID = {"record_key": ["uuid"], "partition_by": ["city"], "ordering": ["ts"]}
LOCK = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
ZOOKEEPER = "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": 3}
TIMES = {
    f"{WRITE}keygenerator.type": "TIMESTAMP",
    "hoodie.keygen.timebased.timestamp.type": "DATE_STRING",
    "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd",
    "hoodie.keygen.timebased.output.dateformat": "yyyy",
}


# a first write


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (trips(trip(None)), SAID),
        (trips(trip("")), SAID),
        (trips(trip("a")), {**SAID, "record_key": ["nope"]}),
        (trips(trip("a")), {**SAID, "options": {"hoodie.parquet.max.file.size": "much"}}),
        (trips(trip("a")), {**SAID, "options": {"hoodie.index.type": "FASTEST"}}),
        (trips(trip("a")), {**SAID, "options": {**BUCKETS, "hoodie.bucket.index.hash.field": "fare"}}),
        (trips(trip("a")), {**SAID, "options": {f"{WRITE}operation": "delete"}}),
        (trips(trip("a", "no date")), {"partition_by": ["city"], "options": TIMES}),
        (trips(trip("a", "no date")), {**SAID, "options": TIMES}),
        ([], {}),
        (pa.table({}), {}),
        ([{}], {}),
    ],
    ids=str,
)
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_first_write_that_fails_leaves_no_table(tmp_path, rows, said, mode):
    path = tmp_path / "t"
    with pytest.raises(HudiError):
        write_table(str(path), rows, mode=mode, **said)
    assert not table_exists(str(path))
    assert not path.exists()


def test_a_table_without_columns_is_never_made(path):
    with pytest.raises(InvalidInput, match="columns"):
        create_table(path, pa.schema([]))
    with pytest.raises(InvalidInput, match="columns"):
        write_table(path, pa.table({"_hoodie_record_key": ["a"]}))
    assert not table_exists(path)


def test_a_first_write_makes_its_table_with_what_the_options_keep(path):
    options = {**BUCKETS, "pyhudi.fence": "on", "hoodie.parquet.small.file.limit": 0}
    assert counts(write_table(path, trips(trip("a"), trip("b", "oslo")), **SAID, options=options)) == (2, 0, 0)
    config = open_table(path).config
    assert (config.is_fenced, config.index["hoodie.index.type"]) == (True, "BUCKET")
    assert "hoodie.parquet.small.file.limit" not in config.properties


@pytest.mark.parametrize("theirs", [SAID, {"record_key": ["uuid"]}])
def test_a_first_write_beside_another_takes_the_same_table_and_refuses_another(path, monkeypatch, theirs):
    look, is_done = opening.has_properties, []

    def just_too_early(storage):
        found = look(storage)
        if not is_done:
            is_done.append(True)
            create_table(path, TRIPS, **theirs)
        return found

    monkeypatch.setattr(opening, "has_properties", just_too_early)
    if theirs is SAID:
        assert counts(write_table(path, trips(trip("a")), **SAID)) == (1, 0, 0)
    else:
        with pytest.raises(TableExists, match="another"):
            write_table(path, trips(trip("a")), **SAID)


# options of a new table


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({f"{WRITE}operation": "upsert"}, "each write"),
        ({"hoodie.memory.merge.max.size": 1}, "each write"),
        ({"hoodie.bucket.index.num.buckets": 3}, "hoodie.index.type"),
        ({"hoodie.write.lock.filesystem.path": "/tmp/locks"}, "hoodie.write.lock.provider"),
        ({"hoodie.write.lock.provider": "InProcessLockProvider"}, "each write"),
    ],
    ids=str,
)
@pytest.mark.parametrize("is_there", [False, True])
def test_an_option_that_a_table_does_not_keep_is_refused(path, option, said, is_there):
    if is_there:
        create_table(path, TRIPS, **SAID)
    with pytest.raises(OptionError, match=said) as told:
        create_table(path, TRIPS, **SAID, options=option, if_exists="open")
    assert told.value.values["key"] in option
    assert table_exists(path) is is_there


def test_a_table_keeps_the_options_of_its_writes_that_it_is_made_with(path):
    options = {
        "hoodie.compact.inline": True,
        "hoodie.parquet.max.file.size": 1_000_000,
        "hoodie.metadata.enable": False,
    }
    create_table(path, TRIPS, **SAID, options=options)
    table = create_table(path, TRIPS, **SAID, options={"hoodie.compact.inline": "TRUE"}, if_exists="open")
    shown = [one for one in table.options().to_pylist() if one["where_from"] == "table"]
    assert {one["key"]: one["value"] for one in shown} == {
        "hoodie.compact.inline": "true",
        "hoodie.metadata.enable": "false",
        "hoodie.parquet.max.file.size": "1000000",
    }
    table.upsert([trip("a")])
    assert table.config.metadata_partitions == ()
    for other in ({"hoodie.parquet.max.file.size": 5}, {"hoodie.keep.max.commits": 40}):
        with pytest.raises(OptionError, match="set_options"):
            create_table(path, TRIPS, **SAID, options=other, if_exists="open")


def test_a_table_is_made_under_a_lock_that_only_writers_can_reach(path):
    of_locks = "hoodie.write.lock."
    declared = {f"{of_locks}provider": ZOOKEEPER, f"{of_locks}zookeeper.base_path": "/hudi"}
    own = {f"{of_locks}zookeeper.url": "127.0.0.1:9", f"{of_locks}zookeeper.connection_timeout_ms": 100}
    with pytest.raises(StorageUnavailable, match="check the url"):
        create_table(path, TRIPS, **SAID, options=declared | own)
    assert not table_exists(path)
    options = {"hoodie.metadata.enable": False, **declared, **own}
    kept = create_table(path, TRIPS, **SAID, options=options).state.config.properties
    assert declared.items() <= kept.items()
    assert own.keys().isdisjoint(kept)


def test_an_option_that_a_table_keeps_is_in_its_properties(path):
    options = {
        f"{WRITE}hive_style_partitioning": True,
        "hoodie.database.name": "rides",
        "hoodie.write.lock.provider": LOCK,
        "hoodie.write.lock.filesystem.expire": 5,
        "pyhudi.fence": "on",
        **BUCKETS,
    }
    table = create_table(path, TRIPS, **SAID, options=options)
    kept = table.config.properties
    assert kept[f"{WRITE}hive_style_partitioning"] == "true"
    assert {key: kept[key] for key in options if key in kept and key != f"{WRITE}hive_style_partitioning"} == {
        "hoodie.database.name": "rides",
        "hoodie.write.lock.provider": LOCK,
        "hoodie.write.lock.filesystem.expire": "5",
        "pyhudi.fence": "on",
        "hoodie.index.type": "BUCKET",
        "hoodie.bucket.index.num.buckets": "3",
    }
    assert create_table(path, TRIPS, **SAID, options=options, if_exists="open").config == table.config


# arguments and a table that is there


DIFFERENT = [
    {"record_key": ["rider"]},
    {"record_key": []},
    {"record_key": "rider"},
    {"partition_by": ["rider"]},
    {"partition_by": []},
    {"ordering": ["fare"]},
    {"name": "other"},
]


@pytest.mark.parametrize("said", DIFFERENT, ids=str)
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_write_table_refuses_arguments_that_contradict_the_table(path, said, mode):
    create_table(path, TRIPS, **SAID, name="trips")
    with pytest.raises(OptionError, match=next(iter(said))):
        write_table(path, trips(trip("a")), mode=mode, **said)
    assert open_table(path).latest_instant is None


MORE = [
    {"table_type": "mor"},
    {"table_version": 8},
    {"options": {f"{WRITE}hive_style_partitioning": True}},
    {"options": {"hoodie.write.lock.provider": LOCK}},
    {"options": {"pyhudi.fence": "on"}},
    {"options": BUCKETS},
    {"options": {"hoodie.keygen.timebased.timezone": "UTC"}},
]


@pytest.mark.parametrize("said", DIFFERENT + MORE, ids=str)
def test_a_table_is_opened_only_as_what_it_is(path, said):
    create_table(path, TRIPS, **SAID, name="trips")
    with pytest.raises(OptionError) as told:
        create_table(path, TRIPS, **said, if_exists="open")
    assert "table" in told.value.values


def test_a_table_is_opened_by_the_arguments_that_made_it(path):
    said = {**SAID, "name": "trips", "table_type": "cow", "table_version": 8}
    made = create_table(path, TRIPS, **said)
    assert create_table(path, TRIPS, **said, if_exists="open").config == made.config
    assert counts(write_table(path, trips(trip("a")), **SAID, name="trips")) == (1, 0, 0)


def test_a_table_is_opened_by_a_schema_whose_columns_it_has(path):
    create_table(path, TRIPS, **SAID)
    write_table(path, trips(trip("a")).append_column("tip", pa.array([1.0])))
    create_table(path, TRIPS, **SAID, if_exists="open")
    with pytest.raises(SchemaMismatch, match="fee"):
        create_table(path, TRIPS.append(pa.field("fee", pa.int64())), **SAID, if_exists="open")
    with pytest.raises(SchemaMismatch, match="fare"):
        create_table(path, TRIPS.set(TRIPS.get_field_index("fare"), pa.field("fare", pa.string())), if_exists="open")


def test_times_that_the_table_spells_otherwise_are_refused(path):
    create_table(path, TRIPS, record_key="uuid", partition_by="city", options=TIMES)
    write_table(path, trips(trip("a", "2026-01-02")), options=TIMES)
    other = {"hoodie.keygen.timebased.output.dateformat": "yyyy-MM"}
    with pytest.raises(OptionError, match="dateformat"):
        write_table(path, trips(trip("b", "2026-01-02")), options=other)


# verbs and the operation that options name


VERBS = {
    "upsert": lambda table, **how: table.upsert(trips(trip("a", ts=2)), **how),
    "insert": lambda table, **how: table.insert(trips(trip("b")), **how),
    "bulk_insert": lambda table, **how: table.bulk_insert(trips(trip("b")), **how),
    "delete": lambda table, **how: table.delete(keys=["a"], **how),
    "insert_overwrite": lambda table, **how: table.insert_overwrite(trips(trip("b")), **how),
    "insert_overwrite_table": lambda table, **how: table.insert_overwrite_table(trips(trip("b")), **how),
    "delete_partition": lambda table, **how: table.delete_partitions(["sf"], **how),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_refuses_options_that_name_another_operation(path, verb):
    table = create_table(path, TRIPS, **SAID)
    table.upsert(trips(trip("a")))
    before = table.latest_instant
    for operation in VERBS:
        options = {f"{WRITE}operation": operation.upper()}
        if operation != verb:
            with pytest.raises(OptionError, match="operation"):
                VERBS[verb](table, options=options)
    assert open_table(path).latest_instant == before
    VERBS[verb](table, options={f"{WRITE}operation": verb})
    assert open_table(path).latest_instant != before


def test_a_condition_deletes_and_updates_by_their_own_operations(path):
    table = create_table(path, TRIPS, **SAID)
    table.upsert(trips(trip("a")))
    for options, call in (
        ({f"{WRITE}operation": "upsert"}, lambda **how: table.delete(where="uuid = 'a'", **how)),
        ({f"{WRITE}operation": "insert"}, lambda **how: table.update(set={"fare": 2.0}, **how)),
        ({f"{WRITE}operation": "delete"}, lambda **how: table.merge(trips(trip("a")), "t.uuid = s.uuid", **how)),
    ):
        with pytest.raises(OptionError, match="operation"):
            call(options=options)


@pytest.mark.parametrize(
    ("argument", "option"),
    [
        ({"duplicates": "drop"}, {"hoodie.datasource.insert.dup.policy": "fail"}),
        ({"isolation": "serializable"}, {"pyhudi.isolation": "write_serializable"}),
    ],
)
def test_an_argument_and_an_option_that_contradict_each_other_are_refused(path, argument, option):
    table = create_table(path, TRIPS, **SAID)
    table.upsert(trips(trip("a")))
    calls = {"duplicates": partial(table.insert, trips(trip("a"))), "isolation": partial(table.delete, keys=["a"])}
    (name,) = argument
    with pytest.raises(OptionError, match="contradict each other"):
        calls[name](**argument, options=option)


def test_a_null_key_is_named_before_a_table_is_made(path):
    with pytest.raises(KeyMissing):
        write_table(path, trips(trip("a"), trip(None)), **SAID)


def test_a_table_that_keeps_no_such_property_is_left_as_it_is(path):
    table = create_table(path, TRIPS, **SAID)
    update_properties(table.state.storage, table.state.env, {"hoodie.database.name": "rides"})
    with pytest.raises(OptionError, match="rides"):
        create_table(path, TRIPS, options={"hoodie.database.name": "other"}, if_exists="open")


def test_a_first_write_generates_keys(path):
    table = create_table(f"{path}-empty", TRIPS)
    table.insert(trips(trip("a")))
    write_table(path, trips(trip("a"), trip("a", "oslo")), partition_by="city", mode="overwrite")
    assert open_table(path).count() == 2


BYTES = pa.table({"id": ["a", "b"], "v": [b"\x7f", b"\x80"], "n": [1, 1]})


@pytest.mark.parametrize("version", [6, 8, 9])
def test_bytes_order_copy_on_write_tables_with_sign_and_no_others(path, version):
    said = {"record_key": ["id"], "table_version": version}
    for ordering in (["v"], ["n", "v"]):
        with pytest.raises(InvalidInput, match=r"merge-on-read.*ordering=\['v'\]"):
            create_table(path, BYTES.schema, ordering=ordering, table_type="mor", **said)
    assert not table_exists(path)
    table = create_table(path, BYTES.schema, ordering=["v"], **said)
    table.upsert(BYTES)
    table.upsert(pa.table({"id": ["a", "b"], "v": [b"\x80", b"\x7f"], "n": [2, 2]}))
    assert table.scan(["n"]).to_arrow()["n"].to_pylist() == [1, 2]


NESTED = pa.schema(
    [
        ("uuid", pa.string()),
        ("at", pa.struct([("x", pa.int64())])),
        ("tags", pa.list_(pa.string())),
        ("by", pa.map_(pa.string(), pa.int64())),
        ("ts", pa.int64()),
    ]
)


@pytest.mark.parametrize("column", ["at", "tags", "by"])
@pytest.mark.parametrize("role", ["record_key", "partition_by", "ordering"])
def test_columns_of_several_values_make_no_key_path_or_order(role, column):
    said = {"record_key": "uuid", "ordering": "ts", role: column}
    with pytest.raises(InvalidInput, match=f"{role}.*{column}"):
        create_table(f"memory://nested-{role}-{column}", NESTED, **said)


def test_a_field_of_a_struct_may_be_a_key():
    table = create_table("memory://nested-field", NESTED, record_key="at.x", ordering="ts")
    row = {"uuid": "a", "at": {"x": 1}, "tags": ["t"], "by": {"k": 1}, "ts": 1}
    table.upsert([row])
    assert table.upsert([{**row, "uuid": "b", "ts": 2}]).updated == 1


@pytest.mark.parametrize("table_type", ["cow", "mor"])
def test_a_delete_marker_is_a_column_from_the_beginning(table_type):
    schema = pa.schema([("uuid", pa.string()), ("ts", pa.int64()), ("_hoodie_is_deleted", pa.bool_())])
    table = create_table(
        f"memory://marked-{table_type}", schema, record_key="uuid", ordering="ts", table_type=table_type
    )
    assert table.schema.names == ["uuid", "ts", "_hoodie_is_deleted"]
    row = {"uuid": "a", "ts": 1, "_hoodie_is_deleted": False}
    table.upsert([row, {**row, "uuid": "b"}])
    assert table.upsert([{**row, "ts": 2, "_hoodie_is_deleted": True}]).deleted == 1
    assert table.scan().to_arrow().to_pylist() == [{**row, "uuid": "b"}]
    table.upsert([{**row, "ts": 3}])
    assert sorted(table.scan().to_arrow()["uuid"].to_pylist()) == ["a", "b"]


def test_a_delete_marker_is_true_or_false():
    with pytest.raises(InvalidInput, match="_hoodie_is_deleted"):
        create_table("memory://marker", pa.schema([("uuid", pa.string()), ("_hoodie_is_deleted", pa.int32())]))


def test_rows_that_make_a_table_do_not_forbid_nulls_but_in_its_key():
    inner = pa.list_(pa.field("element", pa.int64(), False))
    schema = pa.schema([pa.field("uuid", pa.string(), False), pa.field("v", pa.int64(), False), ("l", inner)])
    rows = pa.Table.from_pylist([{"uuid": "a", "v": 1, "l": [1]}], schema=schema)
    write_table("memory://loose", rows, record_key="uuid")
    table = open_table("memory://loose")
    assert [one.nullable for one in table.schema] == [False, True, True]
    assert table.upsert([{"uuid": "a", "v": None, "l": [None]}]).updated == 1


def test_a_schema_that_is_given_forbids_nulls():
    schema = pa.schema([("uuid", pa.string()), pa.field("v", pa.int64(), False)])
    table = create_table("memory://strict", schema, record_key="uuid")
    with pytest.raises(SchemaMismatch, match="v"):
        table.upsert([{"uuid": "a", "v": None}])


def test_a_table_may_keep_that_it_takes_nulls_as_ordering_values(path):
    said = {"record_key": ["id"], "ordering": ["n"]}
    table = create_table(path, BYTES.schema, options={"pyhudi.ordering.nulls": "allow"}, **said)
    rows = pa.table({"id": ["a"], "v": [b""], "n": pa.array([None], pa.int64())})
    table.upsert(rows)
    assert open_table(path).scan(["n"]).to_arrow()["n"].to_pylist() == [None]
    open_table(path).set_options({"pyhudi.ordering.nulls": None})
    with pytest.raises(InvalidInput, match="null in an ordering field"):
        open_table(path).upsert(rows)

import pytest
from tests.building import SMALL_FILES, TINY_FILTERS, TRIPS, TableBuilder, counts, listing, trip, trips
from tests.faulty import FaultyStorage

from pyhudi.errors import ExpressionError, InvalidInput, SchemaMismatch

TABLE_TYPES = ["cow", "mor"]


def filled(engine, **said):
    table = engine.create(**said)
    rows = [trip(f"k{i}", ["sf", "oslo"][i % 2], ts=i, fare=float(i), rider=f"r{i % 3}") for i in range(6)]
    table.upsert(engine.rows(trips(*rows)))
    return table


def test_rows_are_deleted_where_a_predicate_is_true(engine, version):
    table = filled(engine, version=version)
    result = table.delete(where="fare > 3 and city = 'sf'")
    assert counts(result) == (0, 0, 1)
    assert len(result.files) == 1
    assert engine.rows_of(table, "uuid") == [("k0",), ("k1",), ("k2",), ("k3",), ("k5",)]
    assert counts(table.delete("fare is null")) == (0, 0, 0)


def test_a_file_may_lose_all_its_rows(engine, version):
    table = filled(engine, version=version)
    assert counts(table.delete(where="city = 'sf'")) == (0, 0, 3)
    assert engine.rows_of(table, "city") == [("oslo",)] * 3
    table.upsert(engine.rows(trips(trip("k0"))))
    assert engine.rows_of(table, "uuid", filter="city = 'sf'") == [("k0",)]


def test_rows_are_updated_where_a_predicate_is_true(engine, version):
    table = filled(engine, version=version)
    result = table.update(set={"fare": "fare * 10", "rider": "upper(rider)"}, where="rider = 'r1'")
    assert counts(result) == (0, 2, 0)
    assert engine.rows_of(table, "uuid", "fare", "rider", filter="fare >= 10") == [
        ("k1", 10.0, "R1"),
        ("k4", 40.0, "R1"),
    ]
    instants = {row["uuid"]: row["_hoodie_commit_time"] for row in table.scan(meta=True).to_arrow().to_pylist()}
    assert {uuid for uuid, instant in instants.items() if instant == result.instant} == {"k1", "k4"}


def test_an_update_without_a_condition_changes_every_row(engine):
    table = filled(engine)
    assert counts(table.update(set={"rider": "null"})) == (0, 6, 0)
    assert engine.rows_of(table, "rider") == [(None,)] * 6


def test_an_update_of_nothing_writes_no_file(engine, version):
    table = filled(engine, version=version)
    assert table.update(set={"fare": "0.0"}, where="fare > 100").files == ()


@pytest.mark.parametrize("is_told", [True, False])
def test_only_files_are_opened_whose_statistics_a_row_may_match(is_told):
    builder = TableBuilder()
    table = builder.create()
    told = {"hoodie.metadata.enable": is_told, **TINY_FILTERS}
    for number in range(4):
        table.insert(
            trips(trip(f"k{number}", ["sf", "oslo"][number % 2], fare=float(number))),
            options={**told, "hoodie.parquet.small.file.limit": 0},
        )
    faulty = FaultyStorage(table.state.storage)
    watched = builder.reopen(table, faulty)
    changes = [
        lambda: watched.update(set={"rider": "'x'"}, where="fare > 2.5"),
        lambda: watched.delete(where="fare > 100"),
        lambda: watched.delete(where="fare < 0.5"),
        lambda: watched.delete(where="fare > 100"),
    ]
    opened = []
    for change in changes:
        faulty.forget()
        result = change()
        written = set(result.files)
        opened.append(len(opened_files(faulty) - written))
    # What the delete left without rows has no statistics, as in Apache Hudi's tables: it alone is looked into.
    assert opened == ([1, 0, 1, 1] if is_told else [4, 4, 4, 4])
    assert sorted(builder.rows_of(table, "uuid", "rider")) == [("k1", "r"), ("k2", "r"), ("k3", "x")]


def opened_files(faulty):
    return {one.path for one in faulty.operations if one.name == "open_input" and one.path.endswith(".parquet")}


def test_an_updated_row_can_be_upserted_again(engine):
    table = filled(engine)
    table.update(set={"fare": "fare + 1"})
    assert counts(table.upsert(engine.rows(trips(trip("k0", ts=9, fare=0.5))))) == (0, 1, 0)
    assert engine.rows_of(table, "fare", filter="uuid = 'k0'") == [(0.5,)]


def test_only_partitions_that_may_match_are_opened(engine):
    table = filled(engine)
    faulty = FaultyStorage(table.state.storage)
    engine.reopen(table, faulty).delete(where="city = 'oslo' and fare > 100")
    assert faulty.count("open_input", path="oslo/*.parquet") > 0
    assert faulty.count("open_input", path="sf/*.parquet") == 0


@pytest.mark.parametrize(
    ("changes", "where", "error", "says"),
    [
        ({"nope": "1"}, None, InvalidInput, "nope"),
        ({"uuid": "'x'"}, None, InvalidInput, "key or partition"),
        ({"city": "'x'"}, None, InvalidInput, "key or partition"),
        ({"fare": "nope + 1"}, None, ExpressionError, "nope"),
        ({"fare": "1.0"}, "fare + 1", ExpressionError, "true or false"),
        ({"fare": "1.0"}, "fare >", ExpressionError, "."),
        ({"fare": "rider"}, None, SchemaMismatch, "fare"),
    ],
)
def test_a_wrong_update_is_refused_and_leaves_the_rows_alone(engine, changes, where, error, says):
    table = filled(engine)
    before = listing(table)
    with pytest.raises(error, match=says):
        table.update(set=changes, where=where)
    assert listing(table) == before


def test_values_are_stored_in_the_columns_type(engine):
    table = filled(engine)
    table.update(set={"fare": "ts", "ts": "ts + 1"}, where="uuid = 'k2'")
    assert engine.rows_of(table, "ts", "fare", filter="uuid = 'k2'") == [(3, 2.0)]
    assert table.schema == TRIPS


def test_many_file_groups_are_rewritten_at_once(engine, version):
    table = engine.create(version=version)
    options = {**SMALL_FILES, **TINY_FILTERS}
    table.upsert(engine.rows(trips(*(trip(f"k{i}", ts=i) for i in range(40)))), options=options)
    result = table.delete(where="ts % 2 = 0")
    assert counts(result) == (0, 0, 20)
    assert len(result.files) == 4
    assert len(engine.rows_of(table, "uuid")) == 20


@pytest.mark.parametrize("index", ["SIMPLE", "BLOOM"])
def test_a_row_that_kept_its_partition_is_found_by_its_new_value(engine, version, index):
    """Under a global index that updates a record where it is."""
    kind, moves = f"GLOBAL_{index}", f"hoodie.{index.lower()}.index.update.partition.path"
    staying = {"hoodie.index.type": kind, moves: False}
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a", "sf"), trip("b", "oslo"))), options=staying)
    table.upsert(engine.rows(trips(trip("a", "rome", ts=2))), options=staying)
    table = engine.reopen(table)
    assert engine.rows_of(table, "uuid", filter="city = 'rome'") == [("a",)]
    assert engine.rows_of(table, "uuid", filter="_hoodie_partition_path = 'sf'") == [("a",)]
    assert engine.rows_of(table, "uuid", filter="city = 'sf'") == []
    table.update(set={"rider": "'new'"}, where="city = 'rome'")
    assert engine.rows_of(table, "uuid", "rider") == [("a", "new"), ("b", "r")]
    table.delete(where="city = 'rome'")
    assert engine.rows_of(table, "uuid") == [("b",)]


def test_a_rewrite_is_requested_started_and_completed(engine, version):
    """What it is going to write is said before it is written."""
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("b"))))
    done = table.update(set={"fare": "9.0"}, where="uuid = 'a'")
    names = table.state.storage.list_names(table.state.layout.timeline_path)
    states = sorted(name.rsplit(".", 1)[1] for name in names if name.startswith(done.instant))
    assert states == sorted([str(table.timeline.completed[done.instant].action), "inflight", "requested"])

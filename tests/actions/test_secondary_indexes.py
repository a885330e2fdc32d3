"""Secondary indexes are exact under every action, and leave out files."""

import itertools
import json

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import InvalidInput
from pyhudi.index.required_values import values_required
from pyhudi.index.secondary import secondary_values
from pyhudi.metadata.definitions import DEFINITIONS_PATH
from pyhudi.metadata.listing import file_index
from pyhudi.metadata.reader import Wanted, read_entries
from pyhudi.metadata.secondary_places import keys_of_values
from pyhudi.metadata.state import open_metadata
from pyhudi.predicate import binary, column, literal
from pyhudi.state.properties_file import open_state
from pyhudi.timeline.active import load_timeline

SCHEMA = pa.schema([("id", pa.string()), ("city", pa.string()), ("ts", pa.int64()), ("rider", pa.string())])
APART = {"hoodie.parquet.small.file.limit": "0"}
NUMBERS = itertools.count()
VALUES = ("r0", "r1", "r2", "r3", "x", "y$\\", "none")
X = "secondary_index_rider"


class Trips:
    """A table and what must be in it."""

    def __init__(self, kind, version):
        self.rows = {}
        self.table = pyhudi.create_table(
            f"memory://secondary/{next(NUMBERS)}",
            SCHEMA,
            name="t",
            record_key=["id"],
            partition_by=["city"],
            ordering=["ts"],
            table_type=kind,
            table_version=version,
        )
        for number in range(3):
            self.put(*((f"k{number}{n}", "ab"[n % 2], f"r{(number + n) % 4}" if n else None) for n in range(4)))
        self.table.create_index("record_index")
        self.table.create_index("secondary", "rider")

    def put(self, *rows, ts=1):
        made = [{"id": key, "city": city, "ts": ts, "rider": rider} for key, city, rider in rows]
        self.table.upsert(made, options=APART)
        self.rows |= {one["id"]: one for one in made}

    def drop(self, *keys):
        self.table.delete(keys=list(keys), options=APART)
        self.rows = {key: row for key, row in self.rows.items() if key not in keys}

    def opened(self):
        state = open_state(self.table.state.storage, self.table.state.env)
        return open_metadata(state, load_timeline(state))

    def judge(self):
        """Compare the index with the rows, entry by entry, and reads by it with them."""
        opened = self.opened()
        for value in VALUES:
            wanted = sorted(key for key, row in self.rows.items() if row["rider"] == value)
            told = keys_of_values(opened, X, pa.array([value]))
            assert sorted(told.to_pylist()) == wanted, value
            found = self.table.scan(filter=binary("=", column("rider"), literal(value))).to_arrow()
            assert sorted(found["id"].to_pylist()) == wanted, value
        entries = read_entries(opened, X, Wanted()).newest(opened.state.config.table_version)
        assert entries.num_rows == len(self.rows)
        assert self.table.check().problems.to_pylist() == []


OLDER = [pytest.param(one, marks=pytest.mark.all) for one in (("cow", 8), ("mor", 9))]


@pytest.fixture(params=[("cow", 9), ("mor", 8), *OLDER], ids=str)
def trips(request):
    return Trips(*request.param)


def test_an_index_is_exact_under_every_action(trips):
    trips.judge()
    trips.put(("k00", "a", "x"), ("k11", "b", "y$\\"), ("n1", "a", "r0"), ts=2)
    trips.judge()
    trips.put(("k00", "a", "r3"), ("k01", "b", None), ts=3)  # twice updated, and a value that goes
    trips.drop("k02", "n1")
    trips.judge()
    if trips.table.config.table_type == "MERGE_ON_READ":
        trips.table.compact()
        trips.judge()
    trips.table.cluster()
    trips.judge()
    done = trips.table.upsert([{"id": "k20", "city": "a", "ts": 9, "rider": "x"}], options=APART)
    trips.table.rollback(done.instant, completed=True)
    trips.judge()
    trips.table.insert_overwrite([{"id": "z1", "city": "b", "ts": 1, "rider": "x"}])
    trips.rows = {key: row for key, row in trips.rows.items() if row["city"] != "b"}
    trips.rows["z1"] = {"rider": "x"}
    trips.judge()
    trips.table.delete_partitions(["b"])
    trips.rows.pop("z1")
    trips.judge()


def test_a_restore_builds_it_again():
    trips = Trips("cow", 9)
    savepoint = trips.table.history()["instant"][0].as_py()
    trips.table.savepoint(savepoint)
    trips.table.upsert([{"id": "k20", "city": "a", "ts": 9, "rider": "x"}], options=APART)
    trips.table.restore(savepoint)
    assert trips.table.scan(filter="rider = 'x'").count() == 0
    assert trips.table.scan(filter="rider = 'r1'").count() == sum(r["rider"] == "r1" for r in trips.rows.values())


def test_files_are_left_out_that_bounds_do_not_leave_out():
    trips = Trips("cow", 9)
    trips.put(("m1", "a", "a"), ("m2", "a", "z"), ts=2)
    trips.put(("m3", "a", "k"), ts=2)
    scan = trips.table.scan(filter="rider = 'k'")
    assert str(scan.explain()).split("file groups: ")[1].startswith("1 of ")
    before = str(trips.table.scan(filter="rider = 'k'", as_of=trips.table.latest_instant).explain())
    assert "file groups" in before
    index = file_index(trips.table.state, load_timeline(trips.table.state))
    required = values_required(binary("=", column("rider"), literal("k")), SCHEMA)
    ((definition, values),) = secondary_values(required, index.indexes())
    assert index.places_of_values(definition.partition, values)["key"].to_pylist() == ["m3"]


def test_a_definition_is_as_apache_hudi_has_it():
    trips = Trips("cow", 9)
    defined = json.loads(trips.table.state.storage.get(DEFINITIONS_PATH))["indexDefinitions"]
    assert defined[X] == {
        "indexName": X,
        "indexType": "secondary_index",
        "indexFunction": "identity",
        "sourceFields": ["rider"],
        "indexOptions": {},
        "version": "V2",
    }


def test_what_cannot_be_is_refused():
    trips = Trips("cow", 9)
    with pytest.raises(InvalidInput, match="drop these first"):
        trips.table.drop_index("record_index")
    trips.table.drop_index("rider")
    trips.table.drop_index("record_index")
    with pytest.raises(InvalidInput, match="rests on the record index"):
        trips.table.create_index("secondary", "rider")
    assert trips.table.scan(filter="rider = 'r1'").count() == sum(r["rider"] == "r1" for r in trips.rows.values())


def test_a_secondary_index_that_is_planned_rests_on_the_record_index_too():
    trips = Trips("cow", 9)
    trips.table.drop_index("rider")
    trips.table.create_index("secondary", "rider", schedule=True)
    with pytest.raises(InvalidInput, match="drop these first"):
        trips.table.drop_index("record_index")
    trips.put(("k00", "a", "r1"), ts=2)
    trips.table.index()
    assert trips.table.scan(filter="rider = 'r1'").count() == sum(r["rider"] == "r1" for r in trips.rows.values())
    assert trips.table.check().ok


def test_a_plan_whose_record_index_is_gone_shows_no_secondary_index():
    trips = Trips("cow", 9)
    trips.table.drop_index("rider")
    trips.table.create_index("secondary", "rider", schedule=True)
    row = {"id": "k9", "city": "a", "ts": 1, "rider": "r1"}
    trips.table.upsert([row], options={"hoodie.metadata.enable": False})  # drops the metadata table
    trips.table.repair("files")
    with pytest.raises(InvalidInput, match="which the table has no more"):
        trips.table.index()
    assert X not in pyhudi.open_table(trips.table.path).config.partitions_kept_up
    assert trips.table.check().ok
    trips.table.drop_index("rider")
    assert trips.table.check().ok

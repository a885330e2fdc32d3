"""Random histories of writes against a dictionary: snapshots, time travel and changes."""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.building import SMALL_FILES, TINY_FILTERS, TableBuilder, trip, trips

CITIES = ("sf", "oslo", "rome")
KINDS = ("SIMPLE", "BLOOM", "BUCKET")

rows = st.lists(
    st.builds(
        trip,
        st.integers(0, 19).map("k{:02}".format),
        st.sampled_from(CITIES),
        ts=st.integers(1, 4),
        fare=st.integers(0, 9).map(float),
    ),
    max_size=25,
)
steps = st.one_of(
    st.tuples(st.just("upsert"), rows),
    st.tuples(st.just("upsert"), rows),
    st.tuples(st.just("insert"), rows),
    st.tuples(st.just("delete_keys"), st.lists(st.integers(0, 19).map("k{:02}".format), min_size=1, max_size=4)),
    st.tuples(st.just("delete_where"), st.integers(0, 9)),
    st.tuples(st.just("update"), st.integers(0, 9)),
    st.tuples(st.just("overwrite"), rows.filter(len)),
    st.tuples(st.just("overwrite_table"), rows.filter(len)),
    st.tuples(st.just("delete_partition"), st.sampled_from(CITIES)),
)


@dataclass
class Oracle:
    """What the table should hold: (partition, key) -> (row, number of the commit that wrote it)."""

    is_partitioned: bool
    number: int = 0
    rows: dict = field(default_factory=dict)

    def place(self, row):
        return (row["city"] if self.is_partitioned else "", row["uuid"])

    def upsert(self, batch, into=None):
        newest = {}
        for row in batch:
            if row["ts"] >= newest.get(self.place(row), row)["ts"]:
                newest[self.place(row)] = row
        for place, row in newest.items():
            if place not in self.rows or row["ts"] >= self.rows[place][0]["ts"]:
                self.rows[place] = (row, self.number)

    def insert(self, batch):
        stored = dict(self.rows)
        self.upsert([row for row in batch if self.place(row) not in stored])

    def delete(self, goes):
        self.rows = {place: found for place, found in self.rows.items() if not goes(place, found[0])}

    def update(self, fare):
        for place, (row, _) in list(self.rows.items()):
            if row["fare"] > fare:
                self.rows[place] = ({**row, "rider": "u"}, self.number)

    def overwrite(self, batch, *, is_whole_table):
        partitions = {self.place(row)[0] for row in batch}
        self.delete(lambda place, _: is_whole_table or place[0] in partitions)
        self.upsert(batch)

    def visible(self, after=-1):
        return sorted((tuple(row.values()) for row, number in self.rows.values() if number > after), key=repr)


def apply(table, oracle, step, options):
    verb, given = step
    match verb:
        case "upsert":
            oracle.upsert(given)
            return table.upsert(trips(*given), options=options)
        case "insert":
            oracle.insert(given)
            return table.insert(trips(*given), options=options, duplicates="drop")
        case "delete_keys":
            oracle.delete(lambda place, _: place[1] in given)
            return table.delete(keys=given, options=options)
        case "delete_where":
            oracle.delete(lambda _, row: row["fare"] < given - 7)
            return table.delete(where=f"fare < {given - 7}", options=options)
        case "update":
            oracle.update(given)
            return table.update(set={"rider": "'u'"}, where=f"fare > {given}", options=options)
        case "overwrite" | "overwrite_table":
            oracle.overwrite(given, is_whole_table=verb == "overwrite_table")
            write = table.insert_overwrite if verb == "overwrite" else table.insert_overwrite_table
            return write(trips(*given), options={**options, "hoodie.combine.before.insert": True})
    return delete_partition(table, oracle, given, options)


def delete_partition(table, oracle, city, options):
    if city not in table.inspect.partitions()["partition"].to_pylist():
        return None
    oracle.delete(lambda place, _: place[0] == city)
    return table.delete_partitions([city], options=options)


def contents(scan):
    return sorted((tuple(row.values()) for row in scan.to_arrow().to_pylist()), key=repr)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from([6, 9]), st.booleans(), st.sampled_from(KINDS), st.lists(steps, min_size=1, max_size=7), st.data()
)
def test_a_history_of_writes_is_what_a_dictionary_holds(version, is_partitioned, kind, history, data):
    table = TableBuilder().create(version=version, partition_by=["city"] if is_partitioned else None)
    options = {**SMALL_FILES, **TINY_FILTERS, "hoodie.index.type": kind, "hoodie.bucket.index.num.buckets": 3}
    oracle, commits, states = Oracle(is_partitioned), [], []
    for step in history:
        result = apply(table, oracle, step, options)
        if result is None:
            continue
        commits.append(result.instant)
        states.append((oracle.visible(), dict(oracle.rows)))
        assert contents(table.scan()) == oracle.visible()
        oracle.number += 1
    if not commits:
        return
    assert table.scan().count() == len(oracle.rows)
    for instant, (expected, _) in zip(commits, states, strict=True):
        assert contents(table.scan(as_of=instant)) == expected
    first = data.draw(st.integers(0, len(commits) - 1))
    last = data.draw(st.integers(first, len(commits) - 1))
    at_last = Oracle(is_partitioned, rows=states[last][1])
    assert contents(table.changes(after=commits[first], until=commits[last])) == at_last.visible(after=first)

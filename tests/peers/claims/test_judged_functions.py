"""Which functions Apache Hudi takes in an expression index."""

import pytest
from tests.peers.crafted import asked_of
from tests.peers.peer import PeerError

TAKEN = {
    "lower": "note",
    "upper": "note",
    "length": "note",
    "trim": "note",
    "ltrim": "note",
    "rtrim": "note",
    "substring": "note pos=1 len=2",
    "regexp_extract": "note pattern=(.) idx=1",
    "regexp_replace": "note pattern=a replacement=b",
    "year": "day",
    "month": "day",
    "day": "day",
    "hour": "at",
    "date_add": "day days=1",
    "date_sub": "day days=1",
    "date_format": "at format=yyyy",
    "from_unixtime": "ts format=yyyy",
    "unix_timestamp": "at",
    "to_date": "note format=yyyy",
    "to_timestamp": "note format=yyyy",
}
"""Functions with a column and options."""
UNKNOWN = (
    *("abs", "ceil", "floor", "round", "hash", "md5", "bucket", "concat", "coalesce", "initcap", "reverse", "substr"),
    *("date_trunc", "dayofmonth", "dayofweek", "quarter", "minute", "second"),
)
TABLE = "expressions"


@pytest.fixture
def indexed(craft):
    """Return a function that indexes a column by a function, and says what was wrong."""
    table = craft(**{"hoodie.metadata.enable": "true"})
    run = table.peer.run
    run(f"drop table if exists {TABLE}")
    run(
        f"create table {TABLE} (id string, ts bigint, note string, at timestamp, day date) using hudi "
        f"location '{table.path}' tblproperties (primaryKey = 'id', hoodie.write.table.version = '{table.version}', "
        "hoodie.write.auto.upgrade = 'false')"
    )
    for setting in ("hoodie.metadata.enable=true", "hoodie.embed.timeline.server=false"):
        run(f"set {setting}")
    run("set hoodie.write.lock.provider=org.apache.hudi.client.transaction.lock.InProcessLockProvider")
    run(f"insert into {TABLE} values ('a', 1, 'abc', timestamp'2024-01-02 03:04:05', date'2024-01-02')")

    def index(function, spelled):
        column, *options = spelled.split()
        told = "".join(", {} = '{}'".format(*option.split("=")) for option in options)
        try:
            run(f"create index x on {TABLE} using column_stats ({column}) options (expr = '{function}'{told})")
            run(f"drop index x on {TABLE}")
        except PeerError as error:
            return str(error)
        return None

    yield index
    run("reset")


@asked_of(9, "1.0.2")
def test_an_expression_index_takes_these_functions(indexed):
    assert {function: indexed(function, spelled) for function, spelled in TAKEN.items()} == dict.fromkeys(TAKEN)


@asked_of(9, "1.0.2")
def test_an_expression_index_knows_no_other_function(indexed):
    for function in UNKNOWN:
        assert f"Unsupported Spark function: {function}" in indexed(function, "note")


@asked_of(9, "1.0.2")
def test_column_stats_refuse_identity_and_split(indexed):
    assert "Column stats index without expression" in indexed("identity", "note")
    assert "Failed to index partition" in indexed("split", "note pattern=b")

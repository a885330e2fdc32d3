"""Tables that Apache Hudi registered in a Hive metastore are found there by their provider and location."""

import pytest
from tests.peers.peer import Peer
from tests.spark.apart import run_apart

PROPERTIES = "TBLPROPERTIES (type = '{type}', primaryKey = 'id', orderingFields = 'ts')"


@pytest.mark.timeout(900)
def test_tables_of_apache_hudi_are_found_in_a_metastore(tmp_path):
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={tmp_path}/metastore;create=true",
    }
    with Peer(settings=settings) as peer:
        peer.run(f"CREATE DATABASE theirs LOCATION '{tmp_path}/theirs'")
        for kind in ("cow", "mor"):
            columns = "(id INT, fare DOUBLE, ts BIGINT, city STRING) USING hudi PARTITIONED BY (city)"
            where = f"LOCATION '{tmp_path}/theirs/{kind}'"
            peer.run(f"CREATE TABLE theirs.{kind} {columns} {PROPERTIES.format(type=kind)} {where}")
            peer.run(f"INSERT INTO theirs.{kind} VALUES (1, 1.0, 1, 'oslo'), (2, 2.0, 1, 'lima')")
            peer.run(f"UPDATE theirs.{kind} SET fare = 1.5, ts = 2 WHERE id = 1")
    assert run_apart("tests.spark.on_hive", tmp_path, "found").stdout.endswith("done\n")

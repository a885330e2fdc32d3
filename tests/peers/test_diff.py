"""The tool that lays two tables side by side."""

import pytest
from tests.building import TINY_FILTERS, TRIPS, trip, trips
from tests.peers.diff import differences, main

from pyhudi.table import create_table


def make(path, fare):
    table = create_table(
        str(path),
        TRIPS,
        name="trips",
        record_key=["uuid"],
        partition_by=["city"],
        ordering=["ts"],
        options={"hoodie.metadata.enable": False},
    )
    table.upsert(trips(trip("a", "sf", fare=1.0), trip("b", "oslo", fare=1.0)), options=TINY_FILTERS)
    table.upsert(trips(trip("a", "sf", ts=2, fare=fare)), options=TINY_FILTERS)
    return path


def test_the_same_history_twice_differs_in_what_is_measured_or_drawn(tmp_path):
    one, other = make(tmp_path / "one", 2.0), make(tmp_path / "other", 2.0)
    fields = {line.partition(":")[0].rpartition("/")[2] for line in differences(one, other)}
    drawn = {"pyhudi.nonce"}
    measured = {"total_write_bytes", "file_size_in_bytes"}
    assert {field for field in fields if not field.endswith("_time")} <= drawn | measured


def test_a_row_that_differs_is_named_and_so_is_a_missing_file(tmp_path, capsys):
    one, other = make(tmp_path / "one", 2.0), make(tmp_path / "other", 3.0)
    create = next((other / "oslo").glob("*.parquet"))
    create.unlink()
    assert main([str(one), str(other)]) == 1
    told = capsys.readouterr().out
    assert "/rows/sf/a/fare: 2.0 | 3.0" in told
    assert "/partitions/oslo: " in told


def test_a_table_does_not_differ_from_itself(tmp_path, capsys):
    path = str(make(tmp_path / "one", 2.0))
    assert main([path, path]) == 0
    assert capsys.readouterr().out == "the tables do not differ\n"


@pytest.mark.parametrize("version", [6, 8])
def test_versions_differ_in_what_they_say(tmp_path, version):
    old = create_table(str(tmp_path / "old"), TRIPS, name="trips", record_key=["uuid"], table_version=version)
    old.upsert(trips(trip("a")), options=TINY_FILTERS)
    new = create_table(str(tmp_path / "new"), TRIPS, name="trips", record_key=["uuid"])
    new.upsert(trips(trip("a")), options=TINY_FILTERS)
    assert any(
        line.startswith("/properties/hoodie.table.version:") for line in differences(tmp_path / "old", tmp_path / "new")
    )

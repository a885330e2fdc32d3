import json

import pytest
from tests.building import TableBuilder, trip

from pyhudi.errors import NotBuilt


@pytest.mark.parametrize("kind", ["parquet", "avro"])
def test_blocks_and_records_are_shown(runner, kind):
    table = TableBuilder("mor").create()
    options = {"hoodie.logfile.data.block.format": kind}
    table.upsert([trip("a"), trip("b")], options=options)
    table.upsert([trip("a", ts=2, fare=2.0)], options=options)
    table.delete(keys=["b"], options=options)
    runner.tables["logs"] = table
    blocks = runner.call("show_logfile_metadata", "logs", log_file_path_pattern="sf/.*log*")
    assert [(row["block_type"], row["record_count"]) for row in blocks] == [
        (f"{kind.upper()}_DATA_BLOCK", 1),
        ("DELETE_BLOCK", 1),
    ]
    assert json.loads(blocks[0]["header_metadata"])["INSTANT_TIME"] == blocks[0]["instant_time"]
    assert blocks[0]["footer_metadata"] == "{}"
    (record,) = runner.call("show_logfile_records", "logs", log_file_path_pattern=f"{table.path}/sf/.*log*")
    assert json.loads(record["records"])["fare"] == 2.0
    assert json.loads(record["records"])["_hoodie_record_key"] == "a"


def test_records_end_with_the_limit(runner, mor):
    pattern = {"log_file_path_pattern": "*/.*log*"}
    assert len(runner.call("show_logfile_records", "mor", **pattern)) == 2
    assert len(runner.call("show_logfile_records", "mor", **pattern, limit=1)) == 1
    assert len(runner.call("show_logfile_records", "mor", **pattern, limit=-1)) == 2
    assert len(runner.call("show_logfile_metadata", "mor", **pattern, limit=1)) == 1


def test_a_pattern_that_fits_no_log_shows_nothing(runner):
    assert runner.call("show_logfile_records", "mor", log_file_path_pattern="nope/*") == []


def test_merged_records_are_those_of_a_query(runner):
    with pytest.raises(NotBuilt, match="SELECT"):
        runner.call("show_logfile_records", "mor", log_file_path_pattern="*", merge=True)

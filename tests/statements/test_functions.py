import pyarrow as pa
import pytest
from tests.statements.procedures.conftest import builder, cow, mor, plain, runner

from pyhudi.errors import InvalidInput, NotBuilt, TableNotFound
from pyhudi.statements.functions import FUNCTIONS, read_function

__all__ = ["builder", "cow", "mor", "plain", "runner"]


def read(runner, name, *arguments):
    """Carry out what a function gives, in this process."""
    found = read_function(runner, name, arguments)
    return found if isinstance(found, pa.Table) else found.scan(runner.open(found.location)).to_arrow()


def test_a_query_reads_what_is_merged_or_base_files_alone(runner):
    assert read(runner, "hudi_query", "mor", "snapshot").num_rows == 3
    merged, stored = (read(runner, "HUDI_QUERY", "mor", mode) for mode in ("snapshot", "read_optimized"))
    assert sorted(merged["fare"].to_pylist()) == [1.0, 2.0, 3.0]
    assert sorted(stored["fare"].to_pylist()) == [1.0, 1.0, 1.0]
    assert merged.column_names[0] == "_hoodie_commit_time"


def test_changes_are_read_between_two_times(runner, cow):
    done = cow.history()["completion_time"].to_pylist()
    assert read(runner, "hudi_table_changes", "cow", "latest_state", "earliest").num_rows == 3
    assert read(runner, "hudi_table_changes", "cow", "latest_state", done[1])["uuid"].to_pylist() == ["b"]
    assert read(runner, "hudi_table_changes", "cow", "latest_state", done[2], done[1])["uuid"].to_pylist() == ["a"]


def test_a_read_has_the_options_of_the_data_source(runner):
    found = read_function(runner, "hudi_table_changes", ["cow", "latest_state", "earliest", "20270101000000000"])
    assert found.location == "/lake/cow"
    assert found.options == {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": "earliest",
        "hoodie.datasource.read.end.instanttime": "20270101000000000",
    }


def test_the_timeline_says_what_commits_wrote(runner, cow):
    cow.savepoint(cow.latest_instant)
    rows = read(runner, "hudi_query_timeline", "cow", "false").to_pylist()
    assert [row["Action"] for row in rows] == ["commit", "commit", "commit", "savepoint"]
    assert [row["Total_Records_Written"] for row in rows] == [3, 2, 1, -1]
    assert [row["Total_Files_Updated"] for row in rows] == [0, 1, 1, -1]
    assert rows[0]["File_Name"].endswith(".commit")


def test_the_timeline_shows_archived_instants_where_it_is_asked_to(runner, plain):
    for number in range(3):
        plain.upsert([{"uuid": "a", "ts": 5 + number, "rider": "r", "fare": 1.0, "city": "sf"}])
    before = read(runner, "hudi_query_timeline", "plain", True)["Timestamp"].to_pylist()
    options = {"hoodie.keep.min.commits": 2, "hoodie.keep.max.commits": 3, "hoodie.clean.commits.retained": 1}
    plain.archive(options=options)
    assert read(runner, "hudi_query_timeline", "plain", "TRUE")["Timestamp"].to_pylist() == before
    assert read(runner, "hudi_query_timeline", "plain", "false").num_rows < len(before)


def test_slices_are_listed_with_their_logs(runner):
    rows = read(runner, "hudi_filesystem_view", "mor").to_pylist()
    assert [(row["Partition_Path"], row["Log_File_Count"]) for row in rows] == [("la", 1), ("sf", 1)]
    assert all(row["Log_File_Size"] == row["Log_File_Unscheduled"] > 0 for row in rows)
    assert read(runner, "hudi_filesystem_view", "mor", "l*").num_rows == 1


@pytest.mark.parametrize("name", ["cow", "mor"])
def test_records_of_the_metadata_table_tell_files_and_statistics(runner, name):
    found = read(runner, "hudi_metadata", name)
    assert "time64" not in str(found.schema), "Spark has no such type"
    rows = found.to_pylist()
    partitions = {row["key"]: dict(row["filesystemMetadata"]) for row in rows if row["type"] in {1, 2}}
    assert set(partitions) == {"__all_partitions__", "sf", "la"}
    files = runner.open(f"/lake/{name}").inspect.files().to_pylist()
    told = {file: said["size"] for key in ("sf", "la") for file, said in partitions[key].items()}
    assert told == {row["path"].rsplit("/", 1)[-1]: row["size_bytes"] for row in files}
    stats = [row["ColumnStatsMetadata"] for row in rows if row["type"] == 3]
    assert {"fare", "uuid"} <= {one["columnName"] for one in stats}
    assert {row["type"] for row in rows} == {1, 2, 3, 6}
    assert "time64" not in str(read(runner, "hudi_metadata", name).schema.field("ColumnStatsMetadata"))


def test_a_table_without_a_metadata_table_has_no_records(runner, plain):
    with pytest.raises(InvalidInput, match="create_metadata_table"):
        read_function(runner, "hudi_metadata", ["plain"])


@pytest.mark.parametrize(
    ("name", "arguments", "kind", "message"),
    [
        ("hudi_nope", ["cow"], InvalidInput, "no such table function"),
        ("hudi_query", ["cow"], InvalidInput, r"takes \(table, mode\)"),
        ("hudi_query", ["cow", "snapshot", "more"], InvalidInput, r"takes \(table, mode\)"),
        ("hudi_query", ["cow", 3], InvalidInput, "texts in quotes"),
        ("hudi_query", ["cow", "incremental"], InvalidInput, "hudi_table_changes"),
        ("hudi_table_changes", ["cow", "cdc", "earliest"], NotBuilt, "latest_state"),
        ("hudi_table_changes", ["cow", "both", "earliest"], InvalidInput, "latest_state or cdc"),
        ("hudi_query_timeline", ["cow", "yes"], InvalidInput, "'true' or 'false'"),
        ("hudi_query_timeline", ["nope", "true"], TableNotFound, "no Hudi table"),
    ],
)
def test_wrong_calls_say_what_is_taken(runner, name, arguments, kind, message):
    with pytest.raises(kind, match=message):
        read_function(runner, name, arguments)


def test_there_are_five():
    assert len(FUNCTIONS) == 5

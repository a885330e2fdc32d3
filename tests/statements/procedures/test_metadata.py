import pytest
from tests.building import trip
from tests.statements.procedures.conftest import WITH_METADATA

from pyhudi.errors import InvalidInput


def test_a_metadata_table_is_built_and_dropped(runner, plain):
    (row,) = runner.call("create_metadata_table", "plain")
    assert row["result"].startswith("Created Metadata Table in")
    assert runner.call("show_metadata_table_partitions", "plain") == [{"partition": "sf"}]
    with pytest.raises(InvalidInput, match="has a metadata table"):
        runner.call("create_metadata_table", "plain")
    assert "Removed" in runner.call("delete_metadata_table", "plain")[0]["result"]


@pytest.mark.parametrize(
    "name", ["show_metadata_table_partitions", "show_metadata_table_stats", "show_metadata_table_files"]
)
def test_a_table_without_one_says_what_builds_it(runner, plain, name):
    with pytest.raises(InvalidInput, match="create_metadata_table"):
        runner.call(name, "plain")


def test_one_is_opened_or_built(runner, plain):
    assert "Opened" in runner.call("init_metadata_table", "cow", True)[0]["result"]
    assert "Initialized" in runner.call("init_metadata_table", "cow")[0]["result"]
    with pytest.raises(InvalidInput, match="create_metadata_table"):
        runner.call("init_metadata_table", "plain", read_only=True)
    assert "Initialized" in runner.call("init_metadata_table", "plain")[0]["result"]


def test_files_are_those_of_a_partition(runner, cow):
    names = {row["file_path"] for row in runner.call("show_metadata_table_files", "cow", partition="la")}
    stored = [row for row in cow.inspect.files().to_pylist() if row["partition"] == "la"]
    assert names == {row["path"].rsplit("/", 1)[-1] for row in stored}
    assert runner.call("show_metadata_table_files", "cow") == []


def test_its_own_files_are_counted(runner):
    stats = {row["stat_key"]: int(row["stat_value"]) for row in runner.call("show_metadata_table_stats", "cow")}
    assert stats["files.logFileCount"] + stats["files.baseFileCount"] > 0
    assert stats["files.totalLogFileSizeInBytes"] + stats["files.totalBaseFileSizeInBytes"] > 0


def test_files_are_compared_with_storage(runner, cow):
    assert runner.call("validate_metadata_table_files", "cow") == []
    rows = runner.call("validate_metadata_table_files", "cow", True)
    assert len(rows) == cow.inspect.files().num_rows
    assert all(row["fs_size"] == row["metadata_size"] for row in rows)
    path = cow.inspect.files()["path"].to_pylist()[0]
    cow.state.storage.delete(path)
    (row,) = runner.call("validate_metadata_table_files", "cow")
    assert (row["is_present_in_fs"], row["is_present_in_metadata"], row["fs_size"]) == (False, True, 0)
    assert row["file_name"] == path.rsplit("/", 1)[-1]


def test_bounds_are_shown_of_the_newest_base_files(runner, cow):
    rows = runner.call("show_metadata_table_column_stats", "cow", targetColumns="fare,uuid")
    newest = {one["base_file"].rsplit("/", 1)[-1]: one["partition"] for one in cow.inspect.file_slices().to_pylist()}
    assert {(newest[row["file_name"]], row["column_name"], row["min_value"], row["max_value"]) for row in rows} == {
        ("la", "fare", "3.0", "3.0"),
        ("sf", "fare", "1.0", "2.0"),
        ("la", "uuid", "b", "b"),
        ("sf", "uuid", "a", "c"),
    }
    assert {row["null_number"] for row in rows} == {0}
    assert len(runner.call("show_metadata_table_column_stats", "cow", partition="la", targetColumns="fare")) == 1
    assert len(runner.call("show_metadata_table_column_stats", "cow")) == 10
    with pytest.raises(InvalidInput, match="no such columns"):
        runner.call("show_metadata_table_column_stats", "cow", targetColumns="nope")


def test_the_overlap_of_files_is_counted_at_each_bound(runner, builder):
    table = runner.tables["spread"] = builder.create()
    for bounds in ((1, 5), (3, 8), (7, 8), (20, 21)):  # a file each
        rows = [trip(f"{bounds[0]}-{at}", ts=at, rider=f"r{at:02}") for at in bounds]
        table.insert(rows, options={**WITH_METADATA, "hoodie.parquet.small.file.limit": 0})
    table.insert([trip("z", city="la", ts=4)])
    rows = runner.call("show_metadata_column_stats_overlap", "spread", targetColumns="ts,rider")
    assert [(row["Partition path"], row["Field name"]) for row in rows] == [
        ("la", "rider"),
        ("sf", "rider"),
        ("la", "ts"),
        ("sf", "ts"),
    ]
    # 1 is in one file, 3 and 5 in two, 7 and 8 in two, 20 and 21 in one
    assert list(rows[3].values()) == ["sf", "ts", 11 / 7, 2, 4, 2, 2, 2, 2, 7]
    assert list(rows[1].values())[2:] == list(rows[3].values())[2:]
    assert list(rows[2].values()) == ["la", "ts", 1.0, 1, 1, 1, 1, 1, 1, 1]
    named = runner.call("show_metadata_column_stats_overlap", "spread", partition="s,x", targetColumns="ts")
    assert named == rows[3:]
    assert (
        runner.call("show_metadata_column_stats_overlap", "spread", targetColumns="ts", filter="`Field name` = 'x'")
        == []
    )
    assert {row["Field name"] for row in runner.call("show_metadata_column_stats_overlap", "spread")} == set(
        table.schema.names
    )
    with pytest.raises(InvalidInput, match="no such columns"):
        runner.call("show_metadata_column_stats_overlap", "spread", targetColumns="nope")


def test_files_of_logs_count_among_the_files_of_a_partition(runner, mor):
    (row,) = runner.call("show_metadata_column_stats_overlap", "mor", partition="la", targetColumns="fare")
    assert (row["Total file number"], row["Maximum file overlap"], row["Total value number"]) == (1, 1, 1)


def test_a_table_without_a_metadata_table_has_no_overlap_to_show(runner, plain):
    with pytest.raises(InvalidInput, match="create_metadata_table"):
        runner.call("show_metadata_column_stats_overlap", "plain")

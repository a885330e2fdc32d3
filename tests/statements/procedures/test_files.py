import pytest
from tests.building import trip

from pyhudi.errors import InvalidInput, NotBuilt, TableNotFound


def test_properties_are_listed_by_key(runner, cow):
    rows = runner.call("show_table_properties", "cow", limit=-1)
    assert {row["key"]: row["value"] for row in rows} == dict(cow.config.properties)
    assert len(runner.call("show_table_properties", "cow")) == 10


def test_sizes_are_described_by_commit_and_together(runner, cow):
    rows = runner.call("stats_file_sizes", "cow")
    files = cow.inspect.files()
    assert [row["commit_time"] for row in rows] == [*sorted(set(files["instant"].to_pylist())), "ALL"]
    whole = rows[-1]
    sizes = sorted(files["size_bytes"].to_pylist())
    assert (whole["min"], whole["max"], whole["num_files"]) == (sizes[0], sizes[-1], len(sizes))
    assert whole["avg"] == sum(sizes) / len(sizes)
    assert rows[1]["std_dev"] == 0.0


def test_quantiles_lie_between_two_sizes_as_those_of_a_sample(runner, cow):
    first = runner.call("stats_file_sizes", "cow")[0]
    assert first["num_files"] == 2
    assert first["50th"] == (first["min"] + first["max"]) / 2
    assert (first["10th"], first["95th"]) == (first["min"], first["max"])


def test_sizes_are_those_of_partitions_that_fit(runner):
    assert runner.call("stats_file_sizes", "cow", "l*")[-1]["num_files"] == 2
    with pytest.raises(InvalidInput, match="as many levels"):
        runner.call("stats_file_sizes", "cow", "*/*")


def test_writes_are_compared_with_updates(runner):
    rows = runner.call("stats_wa", "cow")
    assert [row["write_amplification_factor"] for row in rows] == ["0", "2.00", "1.00", "3.00"]
    assert rows[-1] == {
        "commit_time": "Total",
        "total_upserted": 2,
        "total_written": 6,
        "write_amplification_factor": "3.00",
    }


def test_only_commits_of_base_files_are_compared(runner):
    assert [row["commit_time"] for row in runner.call("stats_wa", "mor")] == ["Total"]


def test_a_path_of_a_table_is_counted(runner, cow):
    (whole,) = runner.call("show_fs_path_detail", "/lake/cow/")
    inner = runner.call("show_fs_path_detail", "/lake/cow", is_sub=True)
    assert whole["storage_size"] == sum(row["storage_size"] for row in inner)
    assert whole["file_num"] == sum(row["file_num"] for row in inner)
    assert [row["storage_size"] for row in inner] == sorted((row["storage_size"] for row in inner), reverse=True)
    (part,) = runner.call("show_fs_path_detail", "/lake/cow/la")
    assert (part["path_num"], part["file_num"]) == (1, 3)
    assert part["storage_size(unit)"].endswith("KB")
    with pytest.raises(TableNotFound, match="in no table"):
        runner.call("show_fs_path_detail", "/lake/nope")


def test_damaged_base_files_are_found(runner, cow):
    assert runner.call("show_invalid_parquet", "/lake/cow") == []
    paths = {path.split("/")[0]: path for path in cow.inspect.files()["path"].to_pylist()}
    for path in paths.values():
        cow.state.storage.put(path, b"no parquet at all")
    found = [row["path"] for row in runner.call("show_invalid_parquet", "/lake/cow")]
    assert sorted(found) == sorted(f"{cow.path}/{path}" for path in paths.values())
    assert len(runner.call("show_invalid_parquet", "/lake/cow/la")) == 1
    assert len(runner.call("show_invalid_parquet", "/lake/cow", partitions="sf")) == 1
    assert runner.call("show_invalid_parquet", "/lake/cow", instants="20200101000000000") == []
    with pytest.raises(NotBuilt, match="deletes no file"):
        runner.call("show_invalid_parquet", "/lake/cow", needDelete=True)


def test_all_slices_are_listed_newest_first(runner, cow):
    rows = runner.call("show_fsview_all", "cow")
    assert [row["partition"] for row in rows] == ["la", "la", "sf", "sf"]
    assert rows[0]["base_instant"] > rows[1]["base_instant"]
    assert rows[0]["data_file"].startswith(f"{cow.path}/la/")
    assert len(runner.call("show_fsview_all", "cow", path_regex="s*")) == 2


def test_a_view_ends_before_an_instant_or_with_it(runner, cow):
    times = cow.history()["instant"].to_pylist()
    assert len(runner.call("show_fsview_all", "cow", max_instant=times[1])) == 2
    assert len(runner.call("show_fsview_all", "cow", max_instant=times[1], include_max=True)) == 3
    assert runner.call("show_fsview_all", "cow", max_instant=times[2]) == []


def test_newest_slices_show_their_logs(runner, mor):
    rows = runner.call("show_fsview_latest", "mor")
    assert [row["num_delta_files"] for row in rows] == [1, 1]
    assert all(row["delta_files_compaction_unscheduled"].startswith("[HoodieLogFile(pathStr=") for row in rows)
    assert all(row["delta_files_compaction_scheduled"] == "[]" for row in rows)
    assert all(row["delta_to_base_radio_compaction_scheduled"] > 0 for row in rows)
    assert len(runner.call("show_fsview_latest", "mor", partition_path="la")) == 1
    with pytest.raises(InvalidInput, match="leave one out"):
        runner.call("show_fsview_latest", "mor", partition_path="la", path_regex="sf")


def test_a_slice_of_logs_alone_has_no_ratio(runner, mor):
    from tests.building import TableBuilder

    table = TableBuilder("mor").create(options={"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"})
    table.upsert([trip("a")])
    runner.tables["logs"] = table
    (row,) = runner.call("show_fsview_latest", "logs")
    assert row["data_file"] == "" or row["delta_to_base_radio_compaction_scheduled"] == 0.0


def test_files_of_pending_writes_are_not_shown(runner):
    with pytest.raises(NotBuilt, match="not completed"):
        runner.call("show_fsview_all", "cow", include_in_flight=True)


def test_a_file_is_there_or_was_deleted_or_is_not_known(runner, cow):
    (oldest,) = [row for row in cow.inspect.files().to_pylist() if row["partition"] == "la"][:1]
    name = oldest["path"].rsplit("/", 1)[-1]
    named = {"table": "cow", "partition": "la", "file": name}
    (there,) = runner.call("show_file_status", **named)
    assert (there["status"], there["full_path"]) == ("exist", f"{cow.path}/la/{name}")
    done = cow.clean(
        options={"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.clean.fileversions.retained": 1}
    )
    gone = done.files[0].rsplit("/", 1)
    (row,) = runner.call("show_file_status", table="cow", partition=gone[0], file=gone[1])
    assert (row["status"], row["action"], row["timeline"]) == ("deleted", "clean", "active")
    assert row["instant"] == done.instants[0]
    (unknown,) = runner.call("show_file_status", table="cow", partition="la", file="nope.parquet")
    assert unknown["status"] == "unknown"


def test_a_file_that_a_rollback_deleted_is_named(runner, cow):
    newest = cow.latest_instant
    (name,) = [path for path in cow.inspect.files()["path"].to_pylist() if path.endswith(f"_{newest}.parquet")]
    cow.rollback(newest, completed=True)
    (row,) = runner.call("show_file_status", table="cow", partition="la", file=name.rsplit("/", 1)[-1])
    assert (row["status"], row["action"]) == ("deleted", "rollback")


def test_a_file_that_a_restore_deleted_is_named(runner, cow):
    times = cow.history()["instant"].to_pylist()
    (name,) = [path for path in cow.inspect.files()["path"].to_pylist() if path.endswith(f"_{times[0]}.parquet")]
    cow.restore(times[1])
    (row,) = runner.call("show_file_status", table="cow", partition="la", file=name.rsplit("/", 1)[-1])
    assert (row["status"], row["action"]) == ("deleted", "restore")

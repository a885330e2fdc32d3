import json

from tests.cli.fake_table import ROWS

from pyhudi.cli.main import main


def test_show_says_what_the_table_is(table, capsys):
    assert main(["show", "trips"]) == 0
    shown = capsys.readouterr().out
    assert "COPY_ON_WRITE" in shown
    assert "fare: double" in shown


def test_show_as_json_is_one_document(table, capsys):
    assert main(["show", "trips", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["record key"] == ["id"]
    assert facts["size (bytes)"] == 30


def test_the_timeline_keeps_the_last_rows(table, capsys):
    assert main(["timeline", "trips", "-n", "1"]) == 0
    shown = capsys.readouterr().out
    assert "20260101000000002" in shown
    assert "20260101000000001" not in shown
    assert "last 1 of 3" in shown


def test_commits_show_their_extra_metadata_only_as_json(table, capsys):
    assert main(["commits", "trips", "-n", "1"]) == 0
    shown = capsys.readouterr().out
    assert "first 1 of 3" in shown
    assert "extra_metadata" not in shown
    assert main(["commits", "trips", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["extra_metadata"] == {"schema": "{}"}


def test_files_are_listed_as_json(table, capsys):
    assert main(["files", "trips", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[1] == {"path": "y.parquet", "size_bytes": 20}


def test_read_passes_on_what_it_is_asked(table, capsys):
    assert main(["read", "trips", "-c", "id, fare", "-w", "fare > 1", "--as-of", "2026-01-01", "--json"]) == 0
    assert table.scans[0].asked == {
        "columns": ["id", "fare"],
        "filter": "fare > 1",
        "as_of": "2026-01-01",
        "limit": 21,
        "meta": False,
    }
    assert json.loads(capsys.readouterr().out)[2] == {"id": "c", "fare": None}


def test_read_leaves_meta_columns_out_unless_they_are_asked_for(table):
    assert main(["read", "trips"]) == 0
    assert main(["read", "trips", "--meta"]) == 0
    assert [scan.asked["meta"] for scan in table.scans] == [False, True]


def test_read_stops_at_the_limit_and_says_so(table, capsys):
    assert main(["read", "trips", "-n", "2"]) == 0
    shown = capsys.readouterr().out
    assert "there are more" in shown
    assert "c" not in shown.split("\n")[3]


def test_bytes_are_shown_as_hex(table, capsys):
    assert main(["read", "trips", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["raw"] == "01"


def test_changes_passes_on_what_it_is_asked(table, capsys):
    said = ["--after", "20260101000000001", "--until", "2026-01-02", "-c", "id", "-w", "fare > 1", "--meta", "-n", "0"]
    assert main(["changes", "trips", *said, "--json"]) == 0
    assert table.scans[0].asked == {
        "after": "20260101000000001",
        "until": "2026-01-02",
        "columns": ["id"],
        "filter": "fare > 1",
        "limit": None,
        "meta": True,
    }
    assert json.loads(capsys.readouterr().out) == [{"id": "a"}, {"id": "b"}, {"id": "c"}]


def test_lookup_prints_the_rows_of_some_keys(table, capsys):
    assert main(["lookup", "trips", "a", "c", "-c", "id,fare", "--json"]) == 0
    assert table.looked_up == (["a", "c"], ["id", "fare"], False)
    assert [row["id"] for row in json.loads(capsys.readouterr().out)] == ["a", "c"]


def test_lookup_by_a_column_reads_values_as_its_type(table, capsys):
    fare = str(ROWS["fare"][0].as_py())
    assert main(["lookup", "trips", fare, "--by", "fare", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["id"] == ROWS["id"][0].as_py()
    assert table.looked_up[0] == [ROWS["fare"][0].as_py()]
    assert main(["lookup", "trips", "dear", "--by", "fare"]) == 2
    assert "no value of the column" in capsys.readouterr().err
    assert main(["lookup", "trips", "1", "--by", "gone"]) == 2

"""A check compares the bloom filters of the metadata table with the keys of files."""

import pyarrow as pa
from tests.building import TableBuilder
from tests.metadata.checking import rows
from tests.metadata.partitions.test_bloom_filters import new_table, told

from pyhudi.filegroup.key_filter import BloomSpec
from pyhudi.formats.bloom import encode_bloom
from pyhudi.metadata.partitions import bloom_filters
from pyhudi.options import Settings
from pyhudi.queries import check_filters


def problems(table):
    return TableBuilder().reopen(table).check()


def test_a_filter_that_denies_a_key_of_its_file_is_found_and_repaired(monkeypatch):
    table = new_table()
    assert problems(table).problems.num_rows == 0
    other = encode_bloom(BloomSpec.of(Settings()).build(pa.array(["z"])))
    of_file = bloom_filters.filter_of
    monkeypatch.setattr(bloom_filters, "filter_of", lambda file, kind, text: of_file(file, kind, other))
    table.upsert(rows("a", ts=2))
    monkeypatch.undo()
    found = problems(table)
    assert found.problems["kind"].to_pylist() == ["bloom filters"]
    assert found.problems["found"].to_pylist() == ["one that denies 1 of 1 keys"]
    assert found.to_repair == ("bloom_filters",)
    TableBuilder().reopen(table).repair()
    assert told(TableBuilder().reopen(table)) == 3
    assert problems(table).problems.num_rows == 0


def test_a_filter_that_is_none_and_filters_of_files_that_are_gone_are_found(monkeypatch):
    table = new_table()
    read = check_filters.newest_filters

    def damaged(*given):
        keys, values = read(*given)
        texts = pa.array([b"###"] * len(keys), pa.binary())
        fields = [values.field("type"), values.field("timestamp"), texts, values.field("isDeleted")]
        names = ["type", "timestamp", "bloomFilter", "isDeleted"]
        broken = pa.StructArray.from_arrays(fields, names)
        return pa.concat_arrays([keys, pa.array(["x" * 36])]), pa.concat_arrays([broken, broken.slice(0, 1)])

    monkeypatch.setattr(check_filters, "newest_filters", damaged)
    found = problems(table)
    assert found.problems["kind"].to_pylist() == ["bloom filters"] * 3
    assert "1 others" in found.problems["found"].to_pylist()

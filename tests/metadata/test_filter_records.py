"""Records of bloom filters: what is told of files, and what is folded of it."""

from pyhudi.metadata.filter_records import deleted_filters, file_filters, filter_of, filter_records

NAME = "f-0_1-2-3_20260101000000000.parquet"


def test_a_record_has_the_text_of_the_filter_and_the_instant_of_the_file():
    records = filter_records("bloom_filters", file_filters([filter_of(("sf", NAME), "SIMPLE", "AAAA")]))
    assert records.values.to_pylist() == [
        {"type": "SIMPLE", "timestamp": "20260101000000000", "bloomFilter": b"AAAA", "isDeleted": False}
    ]
    assert [len(key) for key in records.keys.to_pylist()] == [36]


def test_of_deleted_files_only_base_files_had_filters():
    gone = deleted_filters({"": [NAME, ".f-0_20260101000000000.log.1_1-2-3"]})
    assert gone.select(["partition", "name", "isDeleted"]).to_pylist() == [
        {"partition": "", "name": NAME, "isDeleted": True}
    ]
    assert gone["bloomFilter"].to_pylist() == [b""]

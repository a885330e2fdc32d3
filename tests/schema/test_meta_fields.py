import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.schema.meta_fields import META_FIELDS, META_SCHEMA, OPERATION, seqno, with_meta_fields, without_meta_fields


def test_meta_fields_come_first_in_the_order_of_the_files() -> None:
    schema = with_meta_fields(pa.schema([("id", pa.int64()), ("_hoodie_file_name", pa.string())]))
    assert schema.names == [
        "_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_record_key", "_hoodie_partition_path",
        "_hoodie_file_name", "id",
    ]  # fmt: skip
    assert all(field.type == pa.string() and field.nullable for field in META_SCHEMA)
    assert with_meta_fields(schema) == schema


def test_meta_fields_are_left_out_of_schemas_batches_and_tables() -> None:
    table = pa.table({name: ["x"] for name in (*META_FIELDS, OPERATION)} | {"id": [1]})
    assert without_meta_fields(table).to_pydict() == {"id": [1]}
    assert without_meta_fields(table.to_batches()[0]).to_pydict() == {"id": [1]}
    assert without_meta_fields(table.schema).names == ["id"]
    plain = table.select(["id"])
    assert without_meta_fields(plain) is plain


@given(st.integers(0, 9999), st.integers(0, 10**12), st.integers(0, 50))
def test_sequence_numbers_count_rows(task: int, start: int, count: int) -> None:
    numbers = seqno("20250928205430030", task, start, count)
    assert numbers.type == pa.string()
    assert numbers.to_pylist() == [f"20250928205430030_{task}_{start + n}" for n in range(count)]

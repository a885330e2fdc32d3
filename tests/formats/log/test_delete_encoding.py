import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.log.samples import Counted, golden_logs
from tests.formats.log.test_deletes import ROWS, content

from pyhudi.errors import InvalidInput, LimitExceeded
from pyhudi.formats.log import DELETES, BlockKind, decode_deletes, encode_deletes, read_blocks


def table(rows):
    return pa.Table.from_pylist(rows, DELETES)


@pytest.mark.parametrize("name", ["mor_logs-v6", "mor_logs-v8", "mor_late-v9", "cow_secondary_index-v9"])
def test_deletes_of_golden_tables_are_written_back_to_the_byte(name):
    found = 0
    for data in golden_logs(name).values():
        for block in read_blocks(Counted(data), len(data)):
            if block.kind is BlockKind.DELETE:
                assert encode_deletes(decode_deletes(block.read_content())) == block.read_content()
                found += 1
    assert found


@given(st.lists(ROWS, max_size=5), st.integers(0, 3))
def test_what_is_written_is_what_avro_writes(rows, begin):
    deletes = decode_deletes(content(rows))
    assert encode_deletes(deletes) == content(rows)
    assert encode_deletes(deletes.slice(begin)) == content(rows[begin:])
    assert encode_deletes(pa.concat_tables([deletes, deletes])) == content(rows + rows)


def test_many_deletes_are_written_by_columns():
    keys = [f"key-{number}" for number in range(70_000)]
    rows = table([{"record_key": key, "partition_path": "p", "ordering": {"IntWrapper": {"value": 0}}} for key in keys])
    assert encode_deletes(rows) == content([(key, "p", ("IntWrapper", 0)) for key in keys])


@pytest.mark.parametrize("ordering", [{"IntWrapper": {"value": None}}, {"BytesWrapper": {"value": None}}])
def test_a_wrapper_has_a_value(ordering):
    with pytest.raises(InvalidInput, match="without a value"):
        encode_deletes(table([{"record_key": "a", "partition_path": "", "ordering": ordering}]))


def test_other_columns_are_refused():
    with pytest.raises(InvalidInput, match="other columns"):
        encode_deletes(pa.table({"record_key": ["a"]}))


def test_a_block_of_too_many_deletes_is_refused():
    key = pa.array(["x" * (1 << 20)])
    ordering = pa.nulls(1, DELETES.field("ordering").type)
    one = pa.table([key, pa.array([""]), ordering], schema=DELETES)
    with pytest.raises(LimitExceeded, match="too many deletes"):
        encode_deletes(pa.concat_tables([one] * 1100))

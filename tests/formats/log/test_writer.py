import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.log.samples import Counted, golden_logs

from pyhudi.errors import InvalidInput, LimitExceeded
from pyhudi.formats.log import BlockKind, HeaderKey, NewBlock, encode_blocks, read_blocks, rollback_block

KINDS = [one for one in BlockKind if one is not BlockKind.CORRUPT]
NEW_BLOCKS = st.builds(
    NewBlock,
    kind=st.sampled_from(KINDS),
    headers=st.dictionaries(st.sampled_from(HeaderKey), st.text(st.characters(codec="utf-8"))),
    content=st.binary() | st.just(b"#HUDI#"),
)


@given(st.lists(NEW_BLOCKS))
def test_what_is_written_is_read(blocks):
    data = encode_blocks(blocks)
    found = list(read_blocks(Counted(data), len(data)))
    assert [NewBlock(kind=one.kind, headers=one.headers, content=one.read_content()) for one in found] == blocks
    assert [list(one.headers) for one in found] == [list(one.headers) for one in blocks]


def test_a_view_of_wider_items_counts_its_bytes():
    content = memoryview(b"12345678").cast("q")
    data = encode_blocks([NewBlock(kind=BlockKind.AVRO, headers={}, content=content)])
    (found,) = read_blocks(Counted(data), len(data))
    assert found.read_content() == b"12345678"


def test_corrupt_blocks_are_not_written():
    with pytest.raises(InvalidInput):
        encode_blocks([NewBlock(kind=BlockKind.CORRUPT, headers={})])


def test_blocks_that_apache_hudi_cannot_read_are_not_written():
    content = memoryview(np.broadcast_to(np.uint8(0), 1 << 31))
    with pytest.raises(LimitExceeded, match="too large"):
        encode_blocks([NewBlock(kind=BlockKind.AVRO, headers={}, content=content)])


def test_rollback_blocks_are_those_of_apache_hudi():
    logs = [data for path, data in golden_logs("mor_rolled_back-v6").items() if path.endswith("_1-0-1")]
    assert logs
    for data in logs:
        (found,) = read_blocks(Counted(data), len(data))
        assert encode_blocks([rollback_block(found.instant, found.header(HeaderKey.TARGET_INSTANT_TIME))]) == data

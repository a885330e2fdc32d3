"""Every HFile of the golden tables: base files of their metadata tables, and content of log blocks."""

import re

import pytest
from tests.formats.hfile.reference import HEADER, all_rows, blocks, real_hfiles
from tests.golden.catalogue import kept_tables

from pyhudi.formats.hfile import HFile, KeyForm, block, open_hfile, write_hfile
from pyhudi.formats.hfile.checksum import crc32c_chunks

TABLES = [table for table in kept_tables() if re.search(r"metadata|index|hfile", table.name)]
NATIVE = b"\0\0\0\3"


@pytest.fixture(params=TABLES, ids=lambda table: table.name)
def hfiles(request, unpacked):
    """Return the HFiles of a table."""
    found = list(real_hfiles(unpacked(request.param)))
    assert found
    return found


def opened(data: bytes) -> HFile:
    return open_hfile(lambda offset, length: data[offset : offset + length], len(data))


def test_entries_are_those_of_a_walk_through_the_bytes(hfiles):
    for name, data in hfiles:
        file, rows = opened(data), all_rows(data)
        table = file.read()
        assert list(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)) == rows, name
        assert file.entries == len(rows)
        for key, value in rows[::7]:
            assert file.lookup([key]).to_pylist() == [{"key": key, "value": value}], name
        assert (file.meta_block("bloomFilter") is not None) == ("bloomFilterTypeCode" in file.file_info), name


def test_what_was_read_is_written_to_the_same_bytes(hfiles, monkeypatch):
    """What Apache Hudi 1.2 wrote, to the same file, given its packed bytes; what HBase wrote, to the same blocks."""
    for name, data in hfiles:
        file = opened(data)
        table, info = file.read(), dict(file.file_info)
        meta = {"bloomFilter": file.meta_block("bloomFilter")} if "bloomFilterTypeCode" in info else {}
        is_native = data[-4:] == NATIVE
        streams = dict(packed_payloads(data))
        monkeypatch.setattr(block, "_packed", lambda payload, streams=streams: streams[bytes(payload)])
        again = write_hfile(
            table["key"],
            table["value"],
            file_info=info,
            meta_blocks=meta,
            block_bytes=1 << 20,
            key_form=KeyForm.ROW if is_native else KeyForm.WHOLE,
            created_ms=int.from_bytes(info["hfile.CREATE_TIME_TS"]),
        )
        if is_native:
            assert again == data, name
        else:
            assert [one[:2] for one in blocks(again)] == [one[:2] for one in blocks(data)], name


def test_checksums_are_those_that_hbase_wrote(hfiles):
    for name, data in hfiles:
        at = 0
        while at < len(data) - 4096:
            _, stored, _, _, kind, chunk, content = HEADER.unpack_from(data, at)
            end = at + HEADER.size + stored
            if kind:
                found = crc32c_chunks(data[at : at + content], chunk).astype(">u4").tobytes()
                assert found == data[at + content : end], name
            else:
                assert not any(data[at + content : end]), name
            at = end


def packed_payloads(data: bytes):
    at = 0
    for _, payload, _ in blocks(data):
        _, stored, _, _, _, _, content = HEADER.unpack_from(data, at)
        yield payload, data[at + HEADER.size : at + content]
        at += HEADER.size + stored

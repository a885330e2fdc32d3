"""File objects that stores hand out for writing."""

import io
import os

import pytest

from pyhudi.errors import StorageUnavailable, Unsupported
from pyhudi.storage.sinks import DescriptorSink, MemorySink


def test_a_memory_sink_keeps_its_bytes_when_closed_and_refuses_too_many():
    sink = MemorySink(limit_bytes=10)
    assert sink.write(b"12345") == 5
    sink.close()
    assert sink.getvalue() == b"12345"
    sink.write(memoryview(b"67890"))
    with pytest.raises(Unsupported):
        sink.write(b"x")


def test_a_descriptor_sink_speaks_in_our_errors_and_is_quiet_once_abandoned():
    reading, writing = os.pipe()
    os.close(writing)
    raw = DescriptorSink(reading, lambda error: StorageUnavailable("x", code=error.errno))
    sink = io.BufferedWriter(raw, 10)
    with pytest.raises(StorageUnavailable):
        sink.write(b"x" * 100)
    raw.abandon()
    sink.close()
    os.fstat(reading)
    os.close(reading)


def test_a_descriptor_sink_knows_its_position(tmp_path):
    with (tmp_path / "a").open("wb") as file:
        sink = DescriptorSink(file.fileno(), lambda error: StorageUnavailable("x"))
        assert sink.writable()
        sink.write(b"123")
        assert sink.tell() == 3

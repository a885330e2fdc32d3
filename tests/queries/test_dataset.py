"""Datasets of Arrow over base files."""

import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pytest
from tests.building import trip, trips

from pyhudi.errors import CorruptData

_READ = """
import sys
import pyarrow as pa
import pyhudi
from pyhudi.errors import CorruptData

table = pyhudi.create_table(sys.argv[1], pa.schema([("k", pa.string())]), record_key=["k"])
written = table.bulk_insert([{"k": "a"}])
dataset = table.scan().to_pyarrow_dataset()
table.state.storage.delete(written.files[0])
failures = 0
for _ in range(1_000):
    try:
        dataset.scanner().to_reader().read_all()
    except CorruptData:
        failures += 1
print(failures)
"""


def test_file_that_cannot_be_opened_is_an_error_of_the_stream(tmp_path: Path) -> None:
    """With the reader of Arrow's own scanner the process stands still, sooner or later."""
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(tmp_path / "t")], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.stdout, done.stderr) == ("1000\n", "")


def test_footer_that_is_cut_is_named(engine):
    table = engine.create()
    [path] = table.bulk_insert(engine.rows(trips(trip("k1")))).files
    table.state.storage.put(path, table.state.storage.get(path)[:100])

    with pytest.raises(CorruptData, match=path):
        table.scan().to_pyarrow_dataset()


def test_scanner_takes_what_arrows_own_takes(engine):
    table = engine.create()
    table.bulk_insert(engine.rows(trips(trip("k1", fare=1.0), trip("k2", fare=2.0))))
    scanner = table.scan().to_pyarrow_dataset().scanner(["uuid"], pc.field("fare") > 1)

    assert scanner.to_reader().read_all().to_pylist() == scanner.to_table().to_pylist() == [{"uuid": "k2"}]

"""What writes of streams take in memory: each in a process of its own, by the most that the system gave it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.allocators import GIVES_BACK

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not tell")

SCRIPT = """
import sys
import pyarrow as pa
import pyhudi

SCHEMA = pa.schema([("uuid", pa.string()), ("ts", pa.int64()), ("city", pa.string()), ("note", pa.string())])
OPTIONS = {"pyhudi.memory.bytes": 16 << 20, "hoodie.parquet.block.size": 4 << 20,
           "hoodie.parquet.max.file.size": 1 << 30}
ROWS, STEP, WIDTH = 150_000, 1_000, 1_000


def batches(start=0, count=ROWS, ts=1, step=STEP, width=WIDTH, cities=1):
    for first in range(start, start + count, step):
        rows = range(first, first + step)
        notes = [f"{row:010}" * (width // 10) for row in rows]
        yield pa.record_batch([[f"k{row:09}" for row in rows], [ts] * step, [f"c{row % cities}" for row in rows],
                               notes], schema=SCHEMA)


def grown(write):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = peak()
    result = write()
    print((peak() - before) >> 20, result)


def peak():
    [line] = [one for one in open("/proc/self/status") if one.startswith("VmHWM")]
    return int(line.split()[1]) << 10


def table(**options):
    return pyhudi.create_table(sys.argv[1], SCHEMA, record_key=["uuid"], partition_by=["city"], ordering=["ts"],
                               options=options)


"""
FEW = "t = table(); t.insert(batches(0, 5_000))\n"
WRITES = {
    "new rows go to a small file": FEW + "grown(lambda: t.insert(batches(10**6), options=OPTIONS))",
    "a small file takes an upsert": FEW + "grown(lambda: t.upsert(batches(ts=2), options=OPTIONS))",
    "new rows go to new files": "t = table(); grown(lambda: t.insert(batches(), options=OPTIONS))",
    "one row a key goes to a new file": "t = table()\n"
    "grown(lambda: t.insert(batches(), options=OPTIONS | {'hoodie.combine.before.insert': 'true'}))",
    "keys are looked up": "t = table(); t.bulk_insert(batches(0, 20_000)); t.bulk_insert(batches(20_000, 20_000))\n"
    "grown(lambda: t.upsert(batches(ts=2), options=OPTIONS))",
    "keys are looked up everywhere": "how = {'hoodie.index.type': 'GLOBAL_SIMPLE'}; t = table(**how)\n"
    "t.bulk_insert(batches(0, 5_000, cities=3), options=how)\n"
    "grown(lambda: t.upsert(batches(ts=2, cities=3), options=OPTIONS | how))",
    "rows go to logs": "how = {'hoodie.index.type': 'BUCKET', 'hoodie.bucket.index.num.buckets': 1}\n"
    "t = pyhudi.create_table(sys.argv[1], SCHEMA, record_key=['uuid'], table_type='mor', options=how)\n"
    "t.upsert(batches(0, 1_000), options=how); grown(lambda: t.insert(batches(1_000, 149_000), options=OPTIONS | how))",
    "rows fill each other": "how = {'hoodie.datasource.write.payload.class':"
    " 'org.apache.hudi.common.model.PartialUpdateAvroPayload'}; t = table(**how)\n"
    "t.insert(batches(0, 5_000), options=how)\n"
    "given = lambda: (one for ts in (2, 3) for one in batches(ts=ts, count=ROWS // 2))\n"
    "grown(lambda: t.upsert(given(), options=OPTIONS))",
    "a scanner is read": "import pyarrow.dataset as ds; t = table()\n"
    "pa.parquet.write_table(pa.Table.from_batches(batches()), sys.argv[1] + '.parquet', row_group_size=5_000)\n"
    "quiet = ds.ParquetFragmentScanOptions(pre_buffer=False)\n"
    "given = ds.dataset(sys.argv[1] + '.parquet').scanner(batch_size=1_000, batch_readahead=2, fragment_readahead=1,"
    " fragment_scan_options=quiet)\n"
    "grown(lambda: t.insert(given, options=OPTIONS))",
    "a dataset is read": "import pyarrow.dataset as ds, pyarrow.parquet as pq; t = table()\n"
    "with pq.ParquetWriter(sys.argv[1] + '.parquet', SCHEMA) as out:\n"
    "    for batch in batches(step=5_000): out.write_batch(batch)\n"
    "grown(lambda: t.insert(ds.dataset(sys.argv[1] + '.parquet'), options=OPTIONS))",
}
MOST_MIB = 110
"""Of 150 MB of rows; a process that gathers them grows by twice that."""
MOST_WIDE_MIB = 12 * 64


def run(tmp_path, body):
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT + body],
        input="",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | GIVES_BACK | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2_000:]
    return [int(line.split()[0]) for line in ran.stdout.splitlines()]


@pytest.mark.parametrize("name", WRITES)
def test_rows_of_a_stream_take_the_memory_that_is_told(tmp_path, name):
    body = WRITES[name].replace("sys.argv[1]", repr(str(tmp_path / "t")))
    script_at = f"sys.argv = ['x', {str(tmp_path / 't')!r}]\n"
    [grown] = run(tmp_path, script_at + body)
    assert grown < MOST_MIB, f"{name}: {grown} MiB"


def test_values_of_a_megabyte_are_written_and_read_some_at_a_time(tmp_path):
    """A batch of such rows, and a row group, take 64 MB of 2.5 GB."""
    body = (
        f"sys.argv = ['x', {str(tmp_path / 't')!r}]; t = table()\n"
        "grown(lambda: t.insert(batches(0, 2_500, step=10, width=1_000_000),\n"
        "    options={'pyhudi.memory.bytes': 256 << 20, 'hoodie.parquet.block.size': 64 << 20}))\n"
        "grown(lambda: sum(len(batch) for batch in t.scan().to_batches()))\n"
    )
    written, read = run(tmp_path, body)
    assert written < MOST_WIDE_MIB
    assert read < MOST_WIDE_MIB

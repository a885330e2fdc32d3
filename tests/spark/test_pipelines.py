"""A pipeline of Spark reads Hudi tables and materialises into them, without install."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from tests.spark.needing import needs_pyspark

import pyhudi

FLOWS = Path(__file__).parent / "pipeline_flows.py"
SPEC = "name: chain\nstorage: file://{folder}/storage\nlibraries:\n  - glob:\n      include: flows/**\n"
SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64())])


def run(folder):
    """Run the pipeline once, in a process of its own."""
    environment = {**os.environ, "PYHUDI_PIPELINE": str(folder)}
    path = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    done = subprocess.run(
        ["spark-pipelines", "run", "--spec", str(folder / "spark-pipeline.yml")],
        cwd=folder,
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]


@pytest.mark.all
@needs_pyspark("4.1", "declarative pipelines")
@pytest.mark.timeout(600)
def test_a_pipeline_reads_tables_and_adds_to_tables(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / "flows").mkdir()
    shutil.copy(FLOWS, tmp_path / "flows" / "flows.py")
    (tmp_path / "spark-pipeline.yml").write_text(SPEC.format(folder=tmp_path))
    table = pyhudi.create_table(f"{tmp_path}/first", SCHEMA, record_key=["id"], ordering=["n"])
    for n in (1, 2):
        table.upsert([{"id": key, "n": n} for key in range(n, n + 3)])
        run(tmp_path)
        rows = table.scan().to_arrow().sort_by("id")
        for name in ("viewed", "streamed", "sunk"):
            assert pyhudi.open_table(f"{tmp_path}/{name}").scan().to_arrow().sort_by("id").equals(rows), name

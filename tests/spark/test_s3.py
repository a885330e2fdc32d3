import json

import boto3
import pytest
from tests.spark.apart import run_apart
from tests.storage.conftest import s3_server  # noqa: F401 - a fixture

KEY, SECRET = "SENTINELKEY00AAA", "s3nt1nel+secret/value=00"


@pytest.fixture(scope="module")
def session(s3_server, tmp_path_factory):  # noqa: F811 - the fixture imported above
    """Run a Spark session on the server; give what it found, what it said, its event log and the objects left."""
    folder = tmp_path_factory.mktemp("s3")
    done = run_apart("tests.spark.on_s3", folder, s3_server, KEY, SECRET)
    events = "".join(path.read_text() for path in (folder / "events").rglob("*") if path.is_file())
    names = {"aws_access_key_id": "dummy", "aws_secret_access_key": "dummy", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=s3_server, **names)
    objects = {
        item["Key"]: client.get_object(Bucket="bucket", Key=item["Key"])["Body"].read()
        for page in client.get_paginator("list_objects_v2").paginate(Bucket="bucket", Prefix="lake/")
        for item in page["Contents"]
    }
    return {"found": json.loads(done.stdout), "said": done.stderr, "events": events, "objects": objects}


def test_spark_writes_and_reads_a_table_that_only_tasks_can_reach(session):
    found = session["found"]
    assert found["written"] == [40, 10, 10]
    assert found["rows"] == found["local"] == 50
    assert found["newer"] == sorted(f"k{i}" for i in range(30, 50))
    assert found["read"] == 20


def test_errors_are_ours_and_say_what_is_wrong(session):
    errors = session["found"]["texts"]["errors"]
    kinds = {name: kind for name, (kind, _, _) in errors.items()}
    assert kinds == {
        "no table": "TableNotFound",
        "no bucket": kinds["no bucket"],
        "option": "OptionError",
        "task": "InternalError",
        "corrupt": "PythonException",  # the frame is Spark's, and so are its errors
        "corrupt write": "CorruptData",
    }
    assert kinds["no bucket"] != "none"


def test_credentials_are_in_nothing_that_is_shown_or_kept(session):
    texts = session["found"]["texts"]
    assert "SQLExecutionStart" in session["events"]
    assert "MapInArrow" in session["events"]
    assert "ObjectStorage('s3://bucket/lake/trips')" in json.dumps(texts)
    for name, text in {**texts, "stderr": session["said"], "events": session["events"]}.items():
        assert not _shows_a_secret(json.dumps(text)), name
    for name, data in session["objects"].items():
        assert KEY.encode() not in data, name
        assert SECRET.encode() not in data, name


def _shows_a_secret(text):
    return KEY in text or SECRET in text or SECRET.partition("/")[0] in text

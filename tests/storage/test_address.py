"""What users type."""

import os
from pathlib import Path

import pytest

from pyhudi.errors import InvalidInput
from pyhudi.storage.address import Address, StoreKind, parse_address


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("s3://b/t", "s3://b/t"),
        ("s3a://b/a/t/", "s3://b/a/t"),
        ("s3n://b/t", "s3://b/t"),
        ("S3://b", "s3://b"),
        ("gs://b/t", "gs://b/t"),
        ("gcs://b/t", "gs://b/t"),
        ("az://c/t", "az://c/t"),
        ("abfss://c@acc.dfs.core.windows.net/p/t", "abfss://c@acc.dfs.core.windows.net/p/t"),
        ("abfs://c@acc.dfs.core.windows.net/t", "abfss://c@acc.dfs.core.windows.net/t"),
        ("wasbs://c@acc.blob.core.windows.net/t", "abfss://c@acc.dfs.core.windows.net/t"),
        ("abfss://c/t", "az://c/t"),
        ("memory://m/t/", "memory://m/t"),
        ("hdfs://node:8020/t", "hdfs://node:8020/t"),
        ("hdfs:///t", "hdfs:///t"),
        ("file:///x/y", "file:///x/y"),
        ("file:/x/y", "file:///x/y"),
        ("file://localhost/x", "file:///x"),
        ("/x/../y//z/", "file:///y/z"),
        ("/x/a%20b c", "file:///x/a%20b c"),
        ("file:///x/a%20b", "file:///x/a%20b"),
        ("s3://b/day=1/a%20b ü", "s3://b/day=1/a%20b ü"),
    ],
)
def test_an_address_has_one_normal_spelling(typed: str, url: str):
    assert parse_address(typed).url == url
    assert parse_address(url).url == url


def test_the_parts_of_an_azure_address_are_kept():
    assert parse_address("abfss://c@acc.dfs.core.windows.net/p/t") == Address(
        kind=StoreKind.AZURE, container="c", account="acc", path="p/t"
    )


def test_paths_may_be_relative_at_home_or_path_objects(monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    assert parse_address("trips").path == os.path.join(tmp_path, "trips")
    assert parse_address("file:trips").path == os.path.join(tmp_path, "trips")
    assert parse_address("~/trips").path == "/home/me/trips"
    assert parse_address(Path("trips")).path == os.path.join(tmp_path, "trips")
    assert parse_address("trips:2026").path == os.path.join(tmp_path, "trips:2026")


@pytest.mark.parametrize(
    "typed",
    ["", "  ", "s3://", "s3:///t", "s3:/b/t", "ftp://h/t", "https://b.s3.amazonaws.com/t", "s3://b/../t", "s3://b/a//t",
     "s3://b/./t", "file://host/x", "/x\x00y", "gs:///x"],
)  # fmt: skip
def test_what_is_no_address_is_refused(typed: str):
    with pytest.raises(InvalidInput):
        parse_address(typed)


@pytest.mark.parametrize(
    "typed",
    ["s3://KEY:SENTINEL@bucket/t", "s3://SENTINEL@bucket/t", "az://c/t?sv=1&sig=SENTINEL",
     "abfss://c:SENTINEL@acc.dfs.core.windows.net/t", "s3://b/t?X-Amz-Signature=SENTINEL"],
)  # fmt: skip
def test_credentials_in_an_address_are_refused_and_not_repeated(typed: str):
    with pytest.raises(InvalidInput, match="storage_options") as raised:
        parse_address(typed)
    assert "SENTINEL" not in str(raised.value) + repr(raised.value) + repr(raised.value.values)

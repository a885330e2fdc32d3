"""Whatever stands in a table's files, a call gives rows or an error that says which file is wrong; it never hangs."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.errors import CorruptData, InvalidInput, LimitExceeded
from pyhudi.state import properties_file
from pyhudi.storage.local.store import LocalStorage
from pyhudi.timeline.codec import decode_commit, encode_commit

COLUMNS = pa.schema([("id", pa.string()), ("city", pa.string()), ("n", pa.int64())])
ROWS = [{"id": "1", "city": "sf", "n": 1}]
DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000
DIGITS = "9" * 5_000
THREE = "\u0663"

LISTED = {"hoodie.metadata.enable": False}
"""Directories are listed, where a metadata table would tell the files."""
READ = [lambda table: table().schema, lambda table: table().scan().to_arrow()]
WRITE = [lambda table: table().upsert(ROWS)]
LOOK = [lambda table: table().inspect.commits()]


@pytest.fixture(params=[6, 9])
def path(request, tmp_path) -> str:
    path = str(tmp_path / "t")
    said = {"record_key": ["id"], "partition_by": ["city"], "ordering": ["n"], "table_version": request.param}
    pyhudi.create_table(path, COLUMNS, name="t", options={"pyhudi.fence": "on", **LISTED}, **said)
    pyhudi.open_table(path).upsert(ROWS)
    return path


def timeline_of(path: str) -> Path:
    below = Path(path, ".hoodie/timeline")
    return below if below.exists() else below.parent


def commit_of(path: str) -> Path:
    return max(timeline_of(path).glob("*.commit"))


def put(file: Path | str, data: str | bytes) -> str:
    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return file.name


def committed(path: str, **said: object) -> str:
    """Let the newest commit say something else."""
    file = commit_of(path)
    metadata = decode_commit(file.read_bytes(), file.name)
    extra = {**metadata.extra, **said.pop("extra", {})}
    layout = 1 if timeline_of(path).name == ".hoodie" else 2
    return put(file, encode_commit(replace(metadata, extra=extra, **said), layout, bytes(16)))


def with_property(path: str, key: str, value: str) -> str:
    file = Path(path, ".hoodie/hoodie.properties")
    kept = [line for line in file.read_text().splitlines() if not line.startswith(f"{key}=")]
    return put(file, "\n".join([*kept, f"{key}={value}"]))


def an_instant(time: str):
    def damage(path: str) -> str:
        return put(timeline_of(path) / f"{time}.commit.requested", "")

    return damage


def a_schema(avro: str):
    return lambda path: committed(path, extra={"schema": avro})


def a_record(*fields: str) -> str:
    return f'{{"type":"record","name":"r","fields":[{",".join(fields)}]}}'


def sparse(size_bytes: int, file_of):
    def damage(path: str) -> str:
        os.truncate(file_of(path), size_bytes)
        return Path(file_of(path)).name

    return damage


def properties_of(path: str) -> str:
    return f"{path}/.hoodie/hoodie.properties"


DAMAGES = {
    "deep JSON": (lambda path: put(commit_of(path), DEEP), READ),
    "many digits": (lambda path: put(commit_of(path), f'{{"compacted":{DIGITS}}}'), READ),
    "a number beyond 64 bits": (
        lambda path: put(commit_of(path), '{"partitionToWriteStats":{"sf":[{"numWrites":%s}]}}' % ("9" * 4_000)),
        LOOK,
    ),
    "half a surrogate pair": (lambda path: put(commit_of(path), '{"extraMetadata":{"schema":"\\ud800"}}'), READ),
    "a commit of 3 GB": (sparse(3 << 30, commit_of), READ),
    "properties of 3 GB": (sparse(3 << 30, properties_of), READ),
    "the last instant": (an_instant("99991231235959999"), READ + WRITE),
    "the year 10000": (an_instant("100000101000000000"), READ + WRITE),
    "the 30th of February": (an_instant("20260230000000000"), READ + WRITE),
    "200 digits": (an_instant("9" * 200), READ + WRITE),
    "a schema without fields": (a_schema('{"type":"record"}'), READ),
    "a deep schema": (a_schema("[" * 100_000), READ),
    "a schema of unions": (a_schema(a_record('{"name":"f","type":["int","string"]}')), READ),
    "a schema of a column twice": (a_schema(a_record(*['{"name":"f","type":"int"}'] * 2)), READ),
    "a schema of unnamed columns": (a_schema(a_record('{"name":7,"type":"int"}')), READ),
    "a schema of no Unicode": (a_schema(a_record('{"name":"\\ud800","type":"int"}')), READ),
    "a version of many digits": (lambda path: with_property(path, "hoodie.table.version", DIGITS), READ),
    "a partition field that is a path": (
        lambda path: with_property(path, "hoodie.table.partition.fields", "../../x"),
        READ,
    ),
    "a record key that is a path": (lambda path: with_property(path, "hoodie.table.recordkey.fields", "/etc"), READ),
    "an ordering field that is no column": (
        lambda path: with_property(path, "hoodie.table.ordering.fields", "nosuch"),
        WRITE,
    ),
    "a superscript digit in the fence": (lambda path: put(f"{path}/.hoodie/.fence/\u00b2", "{}"), WRITE),
    "a slot of other digits": (lambda path: put(f"{path}/.hoodie/.fence/{THREE * 20}", "{}"), WRITE),
    "the last slot": (lambda path: put(f"{path}/.hoodie/.fence/{'9' * 20}", '{"rollback":"1"}'), WRITE),
    "a deep slot": (lambda path: put(f"{path}/.hoodie/.fence/{'9' * 19}8", DEEP), WRITE),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_hostile_metadata_is_corrupt_data_that_names_the_file(path, damage, monkeypatch):
    monkeypatch.setattr(properties_file, "_PAUSE_S", 0.0)
    break_it, calls = DAMAGES[damage]
    name = break_it(path)
    for call in calls:
        with pytest.raises(CorruptData) as raised:
            call(lambda: pyhudi.open_table(path))
        assert name in str(raised.value)


def test_a_file_date_beyond_the_calendar_is_corrupt_data(path):
    file = commit_of(path)
    legacy = file.with_name(f"{file.name[:17]}.commit")
    file.rename(legacy)
    os.utime(legacy, (1 << 38, 1 << 38))
    if legacy.stat().st_mtime < 1 << 38:
        pytest.skip("this file system has no such date")
    with pytest.raises(CorruptData, match=legacy.name):
        pyhudi.open_table(path).scan()


@pytest.mark.parametrize(
    "history",
    [
        {"_version_": DIGITS},
        {"_version_": "\u00b2"},
        {"_version_": "1", "manifest_1": DEEP},
        {"_version_": "1", "manifest_1": '{"files":[{"fileName":"../../../x"}]}'},
        {"_version_": "1", "manifest_1": '{"files":[{"fileName":7}]}'},
        {"manifest_\u0663": "{}", "manifest_1": '{"files":[{"fileName":"x","fileLen":12}]}', "x": "PAR1junkPAR1"},
    ],
    ids=str,
)
def test_a_hostile_history_is_corrupt_data_that_names_the_file(tmp_path, history):
    path = str(tmp_path / "t")
    pyhudi.write_table(path, ROWS, name="t", record_key=["id"], options=LISTED)
    file = next(Path(path).glob("*.parquet"))
    shutil.copy(file, file.with_name("old-0_0-0-0_20200101000000000.parquet"))  # archived, or left behind?
    names = [put(f"{path}/.hoodie/timeline/history/{name}", data) for name, data in history.items()]
    with pytest.raises(CorruptData, match=names[-1]):
        pyhudi.open_table(path).scan().to_arrow()


def deep(top: str, levels: int) -> None:
    os.makedirs(top)
    fd = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)


def remove(top: str) -> None:
    """Remove a chain of directories that is too deep for the interpreter's own way."""
    while os.path.isdir(f"{top}/d"):
        os.rename(f"{top}/d", f"{top}.rest")
        os.rmdir(top)
        os.rename(f"{top}.rest", top)
    os.rmdir(top)


@pytest.mark.parametrize(
    ("below", "call"),
    [
        ("deep", lambda table: table.scan()),
        ("deep", lambda table: table.state.storage.list("")),
        (".hoodie/.temp/20200101000000000", lambda table: table.upsert(ROWS)),
    ],
)
def test_directories_5_000_deep_are_refused(path, below, call):
    top = f"{path}/{below}"
    deep(top, 5_000)
    try:
        with pytest.raises(LimitExceeded, match="too deep"):
            call(pyhudi.open_table(path))
    finally:
        remove(top)


def test_no_partition_is_made_that_is_too_deep_to_be_listed(path):
    with pytest.raises(InvalidInput, match="levels"):
        pyhudi.open_table(path).upsert([{"id": "2", "city": "a/" * 200 + "b", "n": 1}])
    assert pyhudi.open_table(path).scan().to_arrow().num_rows == 1


def test_a_directory_of_no_use_may_be_as_deep_as_it_likes(path):
    deep(f"{path}/.hoodie/other", 5_000)
    try:
        pyhudi.open_table(path).upsert(ROWS)
        assert LocalStorage(path).list_directory(".hoodie/other").directories
    finally:
        remove(f"{path}/.hoodie/other")

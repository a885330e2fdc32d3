"""Logs that a commit wrote are read whole, or the file is named; what a dead writer left behind is passed over."""

import pytest
from tests.building import trip, trips

from pyhudi.errors import CorruptData, Unsupported
from pyhudi.formats.log import read_blocks
from pyhudi.formats.log.block import MAGIC
from pyhudi.timeline.active import read_commit_metadata

TABLE_TYPES = ("mor",)
UNCHECKED = {"pyhudi.check.files": False}
LISTED = {"hoodie.metadata.enable": False}


@pytest.fixture(params=["by the metadata table", "by listing"])
def table(engine, version, request):
    """Return a table of one file group with two logs: an update, and behind it a delete."""
    made = engine.create(version=version)
    options = LISTED if request.param == "by listing" else {}
    made.upsert(engine.rows(trips(*(trip(key, ts=1) for key in "abcd"))), options=options)
    made.upsert(engine.rows(trips(trip("a", ts=2, fare=2.0))), options=options)
    made.delete(keys=["b"], options=options)
    return made


NOW = [("a", 2.0), ("c", 1.0), ("d", 1.0)]


def logs_of(table):
    found = table.inspect.files().to_pylist()
    return sorted(one["path"] for one in found if one["kind"] == "log")


def verbs_of(engine, table, options=None):
    rows = engine.rows(trips(trip("a", ts=3), trip("b", ts=3)))
    return {
        "scan": lambda: engine.read(table.scan(options=options)),
        "changes": lambda: engine.read(table.changes(after="2020-01-01", options=options)),
        "lookup": lambda: engine.read(table.lookup(["a", "b"])),
        "log compact": lambda: table.log_compact(
            options={**(options or {}), "hoodie.log.compaction.blocks.threshold": 1}
        ),
        "compact": lambda: table.compact(options=options),
        "upsert": lambda: table.upsert(rows, options=options),
        "delete": lambda: table.delete(where="fare > 0", options=options),
    }


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


def in_length(data):
    return flip(data, len(MAGIC) + 7)


def a_byte_more(data):
    """Return a log of which a byte more stands between head and tail."""
    return data[:40] + b"x" + data[40:]


def in_tail(data):
    return flip(data, len(data) - 1)


def in_content(data):
    """Return a log whose frame is whole, and its content not: parquet without magic, deletes of no version."""
    if b"PAR1" in data:
        return data.replace(b"PAR1", b"QAR1")
    (block,) = read_blocks(lambda offset, length: data[offset : offset + length], len(data))
    return flip(data, block.content_at + 7)


@pytest.mark.parametrize("harm", [in_length, a_byte_more, in_tail])
@pytest.mark.parametrize("number", [0, 1])
def test_a_block_that_a_commit_wrote_and_that_cannot_be_read_is_named(engine, table, harm, number):
    path = logs_of(table)[number]
    table.state.storage.put(path, harm(table.state.storage.get(path)))
    for name, verb in verbs_of(engine, table).items():
        with pytest.raises(CorruptData) as refused:
            verb()
        assert path in refused.value.values.values(), name
    assert all(one.is_completed for one in table.timeline.instants if one.action == "deltacommit")


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("verb", ["scan", "changes", "lookup", "log compact", "compact", "delete"])
def test_what_reads_rows_of_a_damaged_block_names_its_file(engine, table, verb, number):
    path = logs_of(table)[number]
    table.state.storage.put(path, in_content(table.state.storage.get(path)))
    with pytest.raises(CorruptData) as refused:
        verbs_of(engine, table)[verb]()
    assert path in refused.value.values.values()


def test_what_a_dead_writer_appended_is_passed_over_at_version_6(engine, table, version):
    if version != 6:
        pytest.skip("only there do writers append to logs of others")
    path = logs_of(table)[1]
    data = table.state.storage.get(path)
    table.state.storage.put(path, data + data[:60])
    assert engine.rows_of(table, "uuid", "fare") == NOW
    table.compact()
    assert engine.rows_of(table, "uuid", "fare") == NOW


def test_bytes_behind_a_log_of_one_commit_are_named(engine, table, version):
    if version == 6:
        pytest.skip("there writers append to logs of others")
    path = logs_of(table)[1]
    data = table.state.storage.get(path)
    table.state.storage.put(path, data + data[:60])
    for verb in verbs_of(engine, table).values():
        with pytest.raises(CorruptData) as refused:
            verb()
        assert path in refused.value.values.values()


def test_a_log_that_is_gone_is_named(engine, table):
    path = logs_of(table)[0]
    table.state.storage.delete(path)
    for name, verb in verbs_of(engine, table).items():
        with pytest.raises(CorruptData, match="missing") as refused:
            verb()
        assert path in refused.value.values.values(), name


def test_a_log_that_goes_while_it_is_read_is_named(engine, table):
    scan = table.scan()
    path = logs_of(table)[0]
    table.state.storage.delete(path)
    with pytest.raises(CorruptData, match="missing") as refused:
        engine.read(scan)
    assert path in refused.value.values.values()


@pytest.mark.parametrize(
    ("whole", "broken"), [(b"\0\0\0\x01\0\0\0\x11", b"\0\0\0M\0\0\0\x11"), (b"\0\0\0\x010", b"\0\0\0\x01x")]
)
def test_a_damaged_header_of_a_command_names_its_file(engine, whole, broken):
    table = engine.create(version=6)
    table.upsert(engine.rows(trips(*(trip(key, ts=1) for key in "abcd"))))
    table.upsert(engine.rows(trips(trip("a", ts=2, fare=2.0))))
    table.rollback(list(table.timeline.completed)[-1], completed=True)
    (command,) = [path for path in logs_of(table) if path.endswith("1-0-1")]
    data = table.state.storage.get(command)
    assert data.count(whole) == 1
    table.state.storage.put(command, data.replace(whole, broken))
    for name, verb in verbs_of(engine, table).items():
        with pytest.raises((CorruptData, Unsupported)) as refused:
            verb()
        assert command in refused.value.values.values(), name


def test_the_commit_says_how_much_of_each_log_is_its_own(table):
    sizes = {one["path"]: one["size_bytes"] for one in table.inspect.files().to_pylist()}
    for one in table.timeline.completed.values():
        for stats in read_commit_metadata(table.state, one).stats.values():
            assert all(sizes[stat.path] == stat.file_size_in_bytes for stat in stats)

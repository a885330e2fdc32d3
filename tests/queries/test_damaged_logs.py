"""Logs that a commit wrote are read whole, or the file is named; what a dead writer left behind is passed over."""

from dataclasses import replace

import pytest
from tests.building import TableBuilder, trip, trips

from pyhudi.errors import CorruptData, HudiError, Unsupported
from pyhudi.filegroup.reader import read_slice
from pyhudi.formats.log import HeaderKey, read_blocks
from pyhudi.formats.log.block import MAGIC
from pyhudi.metadata.listing import file_index
from pyhudi.options import Settings
from pyhudi.queries.slice_rows import slice_spec
from pyhudi.queries.slices import table_schema, visible_slices
from pyhudi.timeline.active import load_timeline, read_commit_metadata

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


def reader_of(table):
    """Return what reads the one slice of a table: its rows, or None where that is an error."""
    state = table.state
    timeline = load_timeline(state)
    spec = slice_spec(state, table_schema(state, timeline), timeline, Settings.of(LISTED))
    spec = replace(spec, columns=("uuid", "ts", "fare"))
    (one,) = visible_slices(file_index(state, timeline))

    def read():
        try:
            batches = list(read_slice(one, storage=state.storage, spec=spec))
        except HudiError:
            return None
        return sorted(row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True))

    return read


@pytest.mark.parametrize("block_format", ["parquet", "avro"])
@pytest.mark.parametrize("stored_version", [6, 9])
def test_a_bit_that_is_flipped_in_a_header_is_an_error_or_changes_no_row(stored_version, block_format):
    table = TableBuilder("mor").create(version=stored_version)
    options = {**LISTED, "hoodie.logfile.data.block.format": block_format}
    table.upsert(trips(*(trip(key, ts=1) for key in "abcd")), options=options)
    table.upsert(trips(trip("a", ts=2, fare=2.0)), options=options)
    table.delete(keys=["b"], options=options)
    table.upsert(trips(trip("c", ts=3, fare=3.0)), options=options)
    read = reader_of(table)
    for log in logs_of(table)[:2]:
        data = table.state.storage.get(log)
        (block,) = read_blocks(lambda offset, length, data=data: data[offset : offset + length], len(data))
        right, wrong = read(), []
        for place in places_of(data, block, block_format):
            table.state.storage.put(log, flip(data, place))
            if read() not in (right, None):
                wrong.append(place)
        table.state.storage.put(log, data)
        assert (wrong, len(right)) == ([], 3), log


def places_of(data, block, block_format):
    """Return the places in a header, and some in its schema; names in that of Avro have nothing to compare with."""
    schema = block.headers[HeaderKey.SCHEMA].encode()
    at = data.index(schema)
    among = range(at, at + len(schema), 9) if block_format == "parquet" else ()
    return [*range(at), *among, *range(at + len(schema), block.content_at)]


def test_the_commit_says_how_much_of_each_log_is_its_own(table):
    sizes = {one["path"]: one["size_bytes"] for one in table.inspect.files().to_pylist()}
    for one in table.timeline.completed.values():
        for stats in read_commit_metadata(table.state, one).stats.values():
            assert all(sizes[stat.path] == stat.file_size_in_bytes for stat in stats)

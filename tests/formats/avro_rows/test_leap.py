"""Items of long blocks are found where walking one by one finds them, whatever bytes they have."""

import random

import pyarrow as pa
import pytest
from tests.formats.avro_rows.reference import field, read, record, rows_of, text, write

from pyhudi.errors import CorruptData
from pyhudi.formats.avro_rows import decode_rows, leap, walk

PAIR = record([field("size", "long"), field("isDeleted", "boolean")], "V")
CHOICE = ["null", "string", record([field("x", ["null", "double"]), field("y", "bytes")], "W")]


def _file_name(chance: random.Random) -> str:
    return f"{chance.getrandbits(128):032x}-0_{chance.randrange(300)}-1-2_20260101000000000.parquet"


def _choice(chance: random.Random) -> object:
    drawn = chance.choice([None, "ab" * chance.randrange(80), {}])
    return ("W", {"x": chance.choice([None, 1.5]), "y": bytes(chance.randrange(9))}) if drawn == {} else drawn


CASES = {
    "files": ({"type": "map", "values": PAIR}, lambda r, n: {_file_name(r): _pair(r) for _ in range(n)}),
    "choices": ({"type": "array", "items": CHOICE}, lambda r, n: [_choice(r) for _ in range(n)]),
    "texts": ({"type": "array", "items": "string"}, lambda r, n: ["x" * r.randrange(3) for _ in range(n)]),
    "zeros": ({"type": "array", "items": "bytes"}, lambda r, n: [bytes(r.randrange(200)) for _ in range(n)]),
    "long": (
        {"type": "array", "items": "bytes"},
        lambda r, n: [b"\x06" * r.choice([3, 20_000]) for _ in range(n // 9)],
    ),
    "deep": (
        {"type": "array", "items": {"type": "array", "items": "string"}},
        lambda r, n: [["a"] * r.randrange(3) for _ in range(n)],
    ),
}


def _pair(chance: random.Random) -> object:
    return {"size": chance.getrandbits(chance.choice([8, 30])), "isDeleted": chance.random() < 0.1}


@pytest.mark.parametrize("counts", [[3000], [5, 2500, 0, 1800, 700], [513]])
@pytest.mark.parametrize("name", CASES)
def test_long_blocks_are_read_as_fastavro_reads_them(name, counts):
    kind, make = CASES[name]
    schema = record([field("a", kind), field("b", "long")])
    chance = random.Random(7)
    data = write(schema, [{"a": make(chance, count), "b": count} for count in counts])
    batch = decode_rows(data, text(schema))
    assert rows_of(batch) == read(data, schema)
    assert decode_rows(data, text(schema), columns=["b"]).equals(batch.select(["b"]))


def test_a_long_map_takes_few_steps(monkeypatch):
    schema = record([field("a", {"type": "map", "values": PAIR})])
    chance = random.Random(1)
    data = write(schema, [{"a": {_file_name(chance): _pair(chance) for _ in range(5000)}} for _ in range(2)])
    steps = []
    real = walk.find_far_items

    def counting(source, item, at, counts):
        class Counted:
            def skip(self, source, at):
                steps.append(len(at))
                return item.skip(source, at)

        return real(source, Counted(), at, counts)

    monkeypatch.setattr(walk, "find_far_items", counting)
    decode_rows(data, text(schema))
    assert len(steps) < 200


@pytest.mark.parametrize("cut", [1, 1000, 40_000])
def test_a_long_block_that_is_cut_off_is_refused(cut):
    schema = record([field("a", {"type": "map", "values": PAIR})])
    chance = random.Random(2)
    whole = write(schema, [{"a": {_file_name(chance): _pair(chance) for _ in range(1000)}}])[0].as_py()
    with pytest.raises(CorruptData):
        decode_rows(pa.array([whole[:-cut], whole[-cut:]], pa.binary()), text(schema))


def test_damage_in_a_long_block_is_refused_or_read_alike(monkeypatch):
    schema = record([field("a", {"type": "map", "values": PAIR})])
    chance = random.Random(3)
    whole = write(schema, [{"a": {_file_name(chance): _pair(chance) for _ in range(600)}}])[0].as_py()
    for _ in range(20):
        at = chance.randrange(10, len(whole))
        spoiled = pa.array([whole[:at] + bytes([chance.randrange(256)]) + whole[at + 1 :]], pa.binary())
        assert _outcome(spoiled, schema) == _outcome_by_walking(spoiled, schema, monkeypatch)


def _outcome(data: pa.Array, schema: object) -> object:
    try:
        return decode_rows(data, text(schema))
    except CorruptData:
        return None


def _outcome_by_walking(data: pa.Array, schema: object, monkeypatch: pytest.MonkeyPatch) -> object:
    with monkeypatch.context() as patched:
        patched.setattr(walk, "_FEW_BLOCKS", 0)
        return _outcome(data, schema)


def test_bytes_that_mislead_every_walk_are_walked_plainly(monkeypatch):
    calls = []
    real = leap._leap
    monkeypatch.setattr(leap, "_leap", lambda *given: calls.append(1) or real(*given))
    schema = record([field("a", {"type": "array", "items": "bytes"})])
    data = write(schema, [{"a": [bytes(2000)] * 3000}])
    assert decode_rows(data, text(schema)).num_rows == 1
    assert len(calls) <= 10

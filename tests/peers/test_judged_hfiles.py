"""HFiles of ours are read by every reader of Apache Hudi, its own and HBase's, which 0.15 uses, and theirs by us."""

import itertools
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from tests.formats.hfile.test_reader import pairs
from tools.peers import PEERS, jar_of

from pyhudi.formats.hfile import HFileCodec, KeyForm, open_hfile, write_hfile
from pyhudi.formats.hfile.trailer import decode_trailer

PROGRAMS = Path(__file__).with_name("hfiles")
READERS = {
    "1.2.0": ("1.2.0", "NativeReader"),
    "1.0.2": ("1.0.2", "NativeReader"),
    "0.15.0 own": ("0.15.0", "NativeReader"),
    "0.15.0": ("0.15.0", "HBase"),
}
WRITERS = {"1.2.0": ("1.2.0", "NativeWriter"), "0.15.0": ("0.15.0", "HBase")}
READS_LEVELS = {"1.2.0", "1.0.2", "0.15.0"}

Rows = list[tuple[bytes, bytes]]


def numbered(count: int, value_bytes: int = 20) -> Rows:
    """Make entries with keys of several lengths."""
    keys = sorted({f"key/{number:06d}{'x' * (number % 5)}".encode() for number in range(count)})
    return [(key, (key * (1 + value_bytes // len(key)))[:value_bytes]) for key in keys]


ROWS = {
    "none": [],
    "one": [(b"a", b"1")],
    "empty key and value": [(b"", b""), (b"a", b"")],
    "many": numbered(3000),
    "short": numbered(12_000, 0),
    "long keys": [(b"%03d" % number + b"k" * (40 * number), b"v") for number in range(60)],
    "one large": [(b"a", b""), (b"b", b"0123456789" * 30_000), (b"c", b"")],
    "letters": [(key.encode(), b"") for key in sorted(["__all_partitions__", "ü", "日本", "\U0001f600", "~"])],
}
SHAPES = {
    "small blocks": {"block_bytes": 600},
    "64 KiB": {},
    "1 MiB": {"block_bytes": 1 << 20},
    "two levels": {"block_bytes": 600, "index_block_bytes": 4000},
    "many levels": {"block_bytes": 200, "index_block_bytes": 300},
}


CODECS, CHECKSUMS = ("GZ", "NONE"), ("NULL", "CRC32", "CRC32C")
SIZES = ((65_536, 131_072), (300, 131_072), (300, 1000), (200, 300))
"""Of a block, and of a block of the index, where there is a choice."""


class Program:
    """A reader or writer of Apache Hudi: orders, then one run of Java for all of them."""

    def __init__(self, of: tuple[str, str], home: Path) -> None:
        release, self.program = of
        spark = next(iter(sorted(PEERS.glob("spark-3.5/lib/python*/site-packages/pyspark/jars"))))
        self.class_path = f"{jar_of(release)}:{spark}/*"
        self.home, self.orders, self.expected = home, [], []

    def expect(self, order: str, expected: list[str], about: str) -> None:
        """Add an order, with the lines that shall come."""
        self.orders.append(order)
        self.expected.append((f"{about}: {order[:200]}", expected))

    def run(self) -> list[tuple[str, list[str], list[str]]]:
        """Return what was answered otherwise than expected."""
        orders = self.home / "orders"
        orders.write_text("\n".join(self.orders))
        command = ["java", "-Xmx600m", "-cp", self.class_path, str(PROGRAMS / f"{self.program}.java"), str(orders)]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
        assert ran.returncode == 0, ran.stderr[-3000:]
        answers: list[list[str]] = [[]]
        for line in ran.stdout.splitlines():
            if line == "done":
                answers.append([])
            else:
                answers[-1].append(line)
        assert len(answers) == len(self.orders) + 1, ran.stdout[-2000:]
        pairs = zip(self.expected, answers, strict=False)
        return [(what, expected[:3], found[:3]) for (what, expected), found in pairs if expected != found]


def spelled(rows: Rows) -> list[str]:
    return [f"{key.hex()} {value.hex()}" for key, value in rows]


def expect_file(reader: Program, path: Path, rows: Rows, about: str) -> None:
    """Ask for everything that there is of a file, key by key too, and for what is not there."""
    reader.expect(f"count {path}", [str(len(rows))], about)
    reader.expect(f"all {path}", spelled(rows), about)
    reader.expect(f"meta {path} bloomFilter", ["bits of a filter"], about)
    reader.expect(f"meta {path} absent", [], about)
    reader.expect(f"info {path} schema", ['{"type":"record"}'], about)
    found = rows[:: max(1, len(rows) // 300)] + rows[-1:]
    asked = sorted({key for key, _ in found} | {key + b"!" for key, _ in found})
    hexed = " ".join(key.hex() for key in asked if key)
    present = sorted({row for row in found if row[0]})
    reader.expect(f"keys {path} {hexed}", spelled(present), about)
    for prefix in (b"k", b"key/0012", b"key/00299", b"\xc3", b"zzz"):
        matching = [row for row in rows if row[0].startswith(prefix)]
        reader.expect(f"prefix {path} {prefix.hex()}", spelled(matching), about)


@pytest.mark.parametrize("name", READERS)
def test_what_we_write_is_found_key_by_key(tmp_path, name):
    reader = Program(READERS[name], tmp_path)
    for number, (rows, shape, codec) in enumerate(itertools.product(ROWS, SHAPES, HFileCodec)):
        if "levels" in shape and name not in READS_LEVELS:
            continue
        if rows == "short" and shape != "1 MiB":  # of which Java would overlook some
            continue
        for form in KeyForm if name == "1.2.0" else [KeyForm.WHOLE]:
            keys, values = (pa.array([row[place] for row in ROWS[rows]], pa.binary()) for place in (0, 1))
            data = write_hfile(
                keys,
                values,
                file_info={"schema": b'{"type":"record"}'},
                meta_blocks={"bloomFilter": b"bits of a filter"},
                codec=codec,
                key_form=form,
                **SHAPES[shape],
            )
            path = tmp_path / f"{number}-{form.name}.hfile"
            path.write_bytes(data)
            expect_file(reader, path, ROWS[rows], f"{rows}, {shape}, {codec.name}, {form.name}")
    wrong = reader.run()
    assert not wrong, "\n".join(map(str, wrong[:20])) + f"\n{len(wrong)} of {len(reader.orders)}"


@pytest.mark.parametrize("name", WRITERS)
def test_what_they_write_is_found_key_by_key(tmp_path, name):
    program, files = Program(WRITERS[name], tmp_path), {}
    for number, shape in enumerate(itertools.product(CODECS, CHECKSUMS, SIZES, (0, 1, 1500))):
        path, sizes = tmp_path / f"{number}.hfile", " ".join(map(str, shape[2:]))
        program.expect(f"write {path} {shape[0]} {shape[1]} {' '.join(map(str, shape[2]))} {shape[3]}", [], sizes)
        files[path] = shape
    assert program.run() == []
    levels = set()
    for path, (_, _, _, count) in files.items():
        data = path.read_bytes()
        file = open_hfile(lambda offset, length, data=data: data[offset : offset + length], len(data))
        expected = [(b"key%06d" % entry, b"v" * (entry % 7)) for entry in range(count)]
        assert pairs(file.read()) == expected, path
        assert pairs(file.lookup([b"k", b"z", *(key for key, _ in expected[::13])])) == expected[::13], path
        found = pairs(file.lookup([b"key0007", b"key00001"], prefix=True))
        assert found == [row for row in expected if row[0].startswith((b"key0007", b"key00001"))], path
        assert file.file_info["schema"] == b"{}"
        assert (file.meta_block("bloomFilter") or b"").endswith(b"bits")
        levels.add(decode_trailer(data[-4096:], len(data) - 4096).levels)
    assert levels == ({1} if name == "1.2.0" else {1, 2, 3})

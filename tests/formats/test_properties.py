from datetime import UTC, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import CorruptData, HudiError, LimitExceeded
from pyhudi.formats.properties import format_properties, java_date, parse_properties, properties_checksum

DOCUMENTED = r"""#Updated at 2025-09-28T12:54:36.663Z
#Sun Sep 28 20:54:36 CST 2025
hoodie.datasource.write.drop.partition.columns=false
hoodie.table.partition.fields=city
hoodie.table.type=COPY_ON_WRITE
hoodie.archivelog.folder=archived
hoodie.timeline.layout.version=1
hoodie.table.version=6
hoodie.table.metadata.partitions=files
hoodie.database.name=spark_hudi_db
hoodie.datasource.write.partitionpath.urlencode=false
hoodie.table.keygenerator.class=org.apache.hudi.keygen.SimpleKeyGenerator
hoodie.table.name=spark_hudi_table
hoodie.table.metadata.partitions.inflight=
hoodie.datasource.write.hive_style_partitioning=true
hoodie.table.checksum=1090855671
hoodie.table.create.schema={"type"\:"record","name"\:"spark_hudi_table_record","namespace"\:"hoodie.spark_hudi_table","fields"\:[{"name"\:"ts","type"\:["long","null"]},{"name"\:"uuid","type"\:["string","null"]},{"name"\:"rider","type"\:["string","null"]},{"name"\:"driver","type"\:["string","null"]},{"name"\:"fare","type"\:["double","null"]},{"name"\:"city","type"\:["string","null"]}]}
"""

PARTITION = "#partition metadata\n#Sun Sep 28 20:54:38 CST 2025\ncommitTime=20250928205430030\npartitionDepth=1\n"

# what java.util.Properties reads and writes
TRICKY = (
    "#c\n! also\n \t k1 = v1\\\n    more\nk2:v2\nk3 v3\nk4\nk\\ 5=\\u0041\\q\nk6=a\\\\\nk7 : = x\r\nk8=a\\\r\n  b\n"
    "=empty\nk1=again\nk9=t\\\n\n#no\nk10=end\\"
)
READ = {
    "": "empty", "k 5": "Aq", "k1": "again", "k10": "end", "k2": "v2", "k3": "v3", "k4": "", "k6": "a\\", "k7": "= x",
    "k8": "ab", "k9": "t",
}  # fmt: skip
ODD_KEY, ODD_VALUE = "k e:y=#!\\\u00e9\t", "  v a:l=u#e!\\\u00e9\n\r\f\t\u65e5\U0001f600~\x7f\x01 "
ODD_LINE = r"k\ e\:y\=\#\!\\\u00E9\t=\  v a\:l\=u\#e\!\\\u00E9\n\r\f\t\u65E5\uD83D\uDE00~\u007F\u0001 "


def test_documented_table_properties_are_read_and_written_back_to_the_byte() -> None:
    entries = parse_properties(DOCUMENTED.encode())
    assert entries["hoodie.table.create.schema"].startswith('{"type":"record","name":"spark_hudi_table_record"')
    assert entries["hoodie.table.metadata.partitions.inflight"] == ""
    comments = ["Updated at 2025-09-28T12:54:36.663Z", java_date(1759064076663, ZoneInfo("Asia/Shanghai"))]
    assert format_properties(entries, comments) == DOCUMENTED.encode()


def test_documented_partition_metadata_is_written_to_the_byte() -> None:
    entries = {"commitTime": "20250928205430030", "partitionDepth": "1"}
    comments = ["partition metadata", java_date(1759064078000, ZoneInfo("Asia/Shanghai"))]
    assert format_properties(entries, comments) == PARTITION.encode()
    assert parse_properties(PARTITION.encode()) == entries


@pytest.mark.parametrize(
    ("database", "table", "checksum"),
    [
        ("default", "v9_txns_cow_complex_meta", 2097361480),
        ("", "v9_txns_cow_complex_meta_metadata", 3347748510),
        ("spark_hudi_db", "spark_hudi_table", 1090855671),
        ("", "spark_hudi_table_metadata", 963858769),
    ],
)
def test_checksums_equal_those_of_real_tables(database: str, table: str, checksum: int) -> None:
    assert properties_checksum(database, table) == checksum


def test_the_full_grammar_is_read_as_java_reads_it() -> None:
    assert parse_properties(TRICKY.encode()) == READ


def test_odd_characters_are_written_as_java_writes_them() -> None:
    assert format_properties({ODD_KEY: ODD_VALUE}, ["c1\nc2"]) == f"#c1\n#c2\n{ODD_LINE}\n".encode()
    assert parse_properties(ODD_LINE.encode()) == {ODD_KEY: ODD_VALUE}


@pytest.mark.parametrize(
    ("ms", "zone", "text"),
    [
        (1759064076663, ZoneInfo("Asia/Shanghai"), "Sun Sep 28 20:54:36 CST 2025"),
        (1759064076663, timezone(timedelta(hours=5, minutes=30)), "Sun Sep 28 18:24:36 GMT+05:30 2025"),
        (1759064076663, timezone(timedelta(hours=-3)), "Sun Sep 28 09:54:36 GMT-03:00 2025"),
        (1759064076663, UTC, "Sun Sep 28 12:54:36 UTC 2025"),
        (5, ZoneInfo("Europe/Berlin"), "Thu Jan 01 01:00:00 CET 1970"),
        (1759064076663, ZoneInfo("America/Sao_Paulo"), "Sun Sep 28 09:54:36 GMT-03:00 2025"),
    ],
)
def test_dates_look_like_javas(ms: int, zone, text: str) -> None:
    assert java_date(ms, zone) == text


plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(st.dictionaries(plain, plain, max_size=8), st.lists(plain, max_size=2))
def test_whatever_is_written_is_read_back(entries: dict[str, str], comments: list[str]) -> None:
    assert parse_properties(format_properties(entries, comments)) == entries


@given(st.binary(max_size=200) | st.text("\\u0d8 =:#!\n\r\taF", max_size=60).map(str.encode))
def test_any_bytes_give_entries_or_a_typed_error(data: bytes) -> None:
    try:
        entries = parse_properties(data)
    except HudiError:
        return
    assert all(key.encode() is not None and value.encode() is not None for key, value in entries.items())


@pytest.mark.parametrize("data", [b"k=\\u12", b"k=\\uXYZW", b"\\u=1", b"k=\\ud83d", b"k=\\ude00\\ud83d", b"\0" * 100])
def test_malformed_text_is_corrupt_data(data: bytes) -> None:
    with pytest.raises(CorruptData):
        parse_properties(data)


def test_bounds_are_kept_and_hostile_lines_take_no_time() -> None:
    with pytest.raises(LimitExceeded):
        parse_properties(b"a" * ((16 << 20) + 1))
    with pytest.raises(LimitExceeded):
        parse_properties(b"".join(b"k%d\n" % n for n in range(70_000)))
    assert parse_properties(b"\\\n" * 200_000 + b"\nk=v") == {"k": "v"}
    assert len(parse_properties(b"\\" * 1_000_001)) == 1
    assert parse_properties(b"k" + b" " * 1_000_000) == {"k": ""}


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (rb'\{"a"\:\[1,\=\#\!\\2]}', '{"a":[1,=#!\\2]}'),
        (rb"\:\t\u00e9\\u", ":\t\xe9\\u"),
        (rb"\\t", "\\t"),
        (rb"\:\\", ":\\"),
    ],
)
def test_escapes_are_read_alike_with_and_without_letters_among_them(stored, text):
    assert parse_properties(b"k=" + stored)["k"] == text

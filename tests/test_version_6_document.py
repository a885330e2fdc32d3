"""The table that the version-6 layout document shows, made anew: what it has, byte for byte, and what differs.

The document's own files are `state/version_6.properties`, `timeline/version_6_commit.json` and
`timeline/version_6_inflight.json`.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from tests.fixed_env import FixedEnv

from pyhudi.table import create_table

HERE = Path(__file__).parent
INSTANT = "20250928205430030"
COLUMNS = ("ts", "uuid", "rider", "driver", "fare", "city")
ROWS = [
    (1695159649087, "334e26e9-8355-45cc-97c6-c31daf0df330", "rider-A", "driver-K", 19.10, "san_francisco"),
    (1695091554788, "e96c4396-3fad-413a-a942-4cb36106d721", "rider-C", "driver-M", 27.70, "san_francisco"),
    (1695046462179, "9909a8b1-2d15-4d3d-8ec9-efc48c536a00", "rider-D", "driver-L", 33.90, "san_francisco"),
    (1695332066204, "1dced545-862b-4ceb-8b43-d2a568f6616b", "rider-E", "driver-O", 93.50, "san_francisco"),
    (1695516137016, "e3cf430c-889d-4015-bc98-59bdce1e530c", "rider-F", "driver-P", 34.15, "sao_paulo"),
    (1695376420876, "7a84095f-737f-40bc-b62f-6b69664712d2", "rider-G", "driver-Q", 43.40, "sao_paulo"),
    (1695173887231, "3eeb61f7-c2b0-4636-99bd-5d7a5a1d2c04", "rider-I", "driver-S", 41.06, "chennai"),
    (1695115999911, "c8abbe79-8d89-47ea-b4ce-4d224bae5bfa", "rider-J", "driver-T", 17.85, "chennai"),
]
SCHEMA = pa.schema(
    [(name, {"ts": pa.int64(), "fare": pa.float64()}.get(name, pa.string())) for name in COLUMNS],
)
DOCUMENTED_TREE = {
    ".hoodie/.aux",
    ".hoodie/.schema",
    ".hoodie/.temp",
    ".hoodie/archived",
    ".hoodie/hoodie.properties",
    f".hoodie/{INSTANT}.commit",
    f".hoodie/{INSTANT}.commit.requested",
    f".hoodie/{INSTANT}.inflight",
    *(
        f"city={city}/{name}"
        for city, number in (("san_francisco", 0), ("sao_paulo", 1), ("chennai", 2))
        for name in (".hoodie_partition_metadata", f"ID_{number}-STAGE-ATTEMPT_{INSTANT}.parquet")
    ),
}
LEFT_OUT = {
    "hoodie.table.metadata.partitions": "new tables have no metadata table",
    "hoodie.table.metadata.partitions.inflight": "new tables have no metadata table",
}
ADDED_PROPERTIES = {
    "hoodie.compaction.payload.class": "releases differ in what they take it for where it is missing",
    "pyhudi.option.hoodie.metadata.enable": "options that a table is made with are kept by it",
}
ADDED_ENTRIES = {
    ".hoodie/.aux/.bootstrap/.fileids": "made with every table, as Apache Hudi does; the document does not open .aux",
    ".hoodie/.aux/.bootstrap/.partitions": "as above",
    ".hoodie/.heartbeat": "every write has a heartbeat",
    ".hoodie/.locks/pyhudi.flock": "instants are issued under the table lock, also by one writer",
    ".hoodie/.tmp/swap.lock": "a local file is swapped under a lock of its own",
}
ADDED_EXTRA = {"pyhudi.nonce": "tells a writer whose reply was lost that the stored commit is its own"}
# Named by the plan instead of drawn, and measured: file ids, the middle and end of write tokens, sizes and times.
# A commit lists its partitions in alphabetical order; the document has the order of a Java HashMap.


def moment(*time):
    """Return a time of that day. Units: ms since 1970."""
    return int(datetime(2025, 9, 28, *time, tzinfo=UTC).timestamp() * 1000)


class ThatDay(FixedEnv):
    """The document's clock: it begins when the properties were written, and jumps when the files are done."""

    def __init__(self, table: Path):
        super().__init__(moment(12, 54, 36, 662000))
        self._table = table
        self._is_late = False

    def now_ms(self):
        if not self._is_late and any(self._table.rglob("*.parquet")):
            self._is_late = True
            self.set_now_ms(moment(12, 54, 38))
        return super().now_ms()

    def zone(self):
        return timezone(timedelta(hours=8), "CST")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the folder of the table, and the table."""
    folder = tmp_path_factory.mktemp("spark_hudi_db.db") / "spark_hudi_table"
    env = ThatDay(folder)
    table = create_table(
        str(folder),
        SCHEMA,
        partition_by=["city"],
        table_version=6,
        options={
            "hoodie.database.name": "spark_hudi_db",
            "hoodie.datasource.write.hive_style_partitioning": True,
            "hoodie.table.timeline.timezone": "LOCAL",
            "hoodie.metadata.enable": False,
        },
        env=env,
    )
    env.set_now_ms(moment(12, 54, 30, 29000))
    table.insert(pa.Table.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in ROWS], schema=SCHEMA))
    return folder, table


def same(text):
    """Put one name for each id, token, size and time that a run draws or measures."""
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-0", "ID", text)
    text = re.sub(r"_(\d+)-\d+-\d+_", r"_\1-STAGE-ATTEMPT_", text)
    return re.sub(r'"(totalWriteBytes|fileSizeInBytes|totalCreateTime)" : [1-9]\d*', r'"\1" : N', text)


def by_partition(text):
    """Put the partitions of a pretty-printed commit into alphabetical order."""
    start, end = text.index('    "city='), text.index('\n  },\n  "compacted"')
    blocks = [block.rstrip(",\n") for block in re.split(r'(?m)^(?=    "city=)', text[start:end]) if block]
    return text[:start] + ",\n".join(sorted(blocks)) + text[end:]


def test_the_tree_is_the_documents_and_what_is_added_has_a_reason(written):
    folder, _ = written
    found = {path.relative_to(folder) for path in folder.rglob("*")}
    leaves = {same(str(path)) for path in found if not any(path in other.parents for other in found)}
    leaves = {".hoodie/.aux" if leaf.startswith(".hoodie/.aux/") else leaf for leaf in leaves}
    added = {leaf for leaf in ADDED_ENTRIES if not leaf.startswith(".hoodie/.aux/")}
    assert leaves == DOCUMENTED_TREE | added
    assert all((folder / entry).exists() for entry in ADDED_ENTRIES)


def test_the_properties_are_the_documents_but_for_the_metadata_table(written):
    folder, _ = written
    lines = (HERE / "state/version_6.properties").read_text().splitlines()
    # The document's file was written a second time, when its metadata table was ready.
    lines[0] = lines[0].replace("Updated at", "Properties saved on")
    assert "hoodie.table.checksum=1090855671" in lines
    wanted = [line for line in lines if line.partition("=")[0] not in LEFT_OUT]
    found = (folder / ".hoodie/hoodie.properties").read_text().splitlines()
    assert [line for line in found if line.partition("=")[0] not in ADDED_PROPERTIES] == wanted


def test_the_instants_are_the_documents(written):
    folder, _ = written
    assert (folder / f".hoodie/{INSTANT}.commit.requested").read_bytes() == b""
    inflight = (folder / f".hoodie/{INSTANT}.inflight").read_text()
    assert inflight.strip() == (HERE / "timeline/version_6_inflight.json").read_text().strip()


def test_the_commit_is_the_documents_but_for_its_nonce(written):
    folder, _ = written
    commit = same((folder / f".hoodie/{INSTANT}.commit").read_text())
    for name in ADDED_EXTRA:
        commit, count = re.subn(rf',\n    "{re.escape(name)}" : "[0-9a-f]+"', "", commit)
        assert count == 1
    documented = same((HERE / "timeline/version_6_commit.json").read_text())
    # A fixed clock measures nothing.
    documented = re.sub(r'"totalCreateTime" : N', '"totalCreateTime" : 0', documented)
    assert commit.strip() == by_partition(documented).strip()


def test_the_partition_metadata_is_the_documents(written):
    folder, _ = written
    wanted = f"#partition metadata\n#Sun Sep 28 20:54:38 CST 2025\ncommitTime={INSTANT}\npartitionDepth=1\n"
    for city in ("san_francisco", "sao_paulo", "chennai"):
        assert (folder / f"city={city}/.hoodie_partition_metadata").read_text() == wanted


def test_the_rows_are_the_documents(written):
    _, table = written
    rows = table.scan(meta=True).to_arrow()
    assert sorted(zip(*(rows[name].to_pylist() for name in COLUMNS), strict=True)) == sorted(ROWS)
    assert set(rows["_hoodie_commit_time"].to_pylist()) == {INSTANT}
    assert set(rows["_hoodie_partition_path"].to_pylist()) == {"city=san_francisco", "city=sao_paulo", "city=chennai"}
    # A table without a primary key gets keys: the instant, the task and the row.
    assert sorted(rows["_hoodie_record_key"].to_pylist()) == [f"{INSTANT}_0_{row}" for row in range(8)]

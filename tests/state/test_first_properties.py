"""New tables' properties; the version-6 layout document's own file is `tests/state/version_6.properties`."""

from datetime import timedelta, timezone
from pathlib import Path

import pytest
from tests.fixed_env import FixedEnv

from pyhudi.formats.properties import parse_properties
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.state.config import MergeMode, TableConfig, key_spec
from pyhudi.state.creation import NewTable
from pyhudi.state.first_properties import new_properties
from pyhudi.state.properties_file import PROPERTIES_PATH, create_state, update_properties
from pyhudi.storage.memory import MemoryStorage

DOCUMENTED = Path(__file__).parent / "version_6.properties"
METADATA_TABLE = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")
EVERY_LAYOUT_2 = {
    "hoodie.table.name", "hoodie.table.type", "hoodie.table.version", "hoodie.table.initial.version",
    "hoodie.timeline.path", "hoodie.timeline.layout.version", "hoodie.timeline.history.path",
    "hoodie.archivelog.folder",
    "hoodie.table.keygenerator.type",
    "hoodie.datasource.write.hive_style_partitioning", "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.datasource.write.drop.partition.columns", "hoodie.record.merge.mode", "hoodie.table.timeline.timezone",
    "hoodie.table.checksum",
}  # fmt: skip


class InChina(FixedEnv):
    def zone(self):
        return timezone(timedelta(hours=8), "CST")


def new(version: int, **said: object) -> NewTable:
    given = {"name": "t", "columns": ("id", "ts", "day"), "key_generator": KeyGenerator.NON_PARTITION, **said}
    return NewTable(table_version=version, **given)  # type: ignore[arg-type]


def test_the_documents_properties_are_reproduced_but_for_the_metadata_table():
    """Remaining differences: new tables have no metadata table, so its two keys are absent."""
    documented = DOCUMENTED.read_text()
    columns = ("ts", "uuid", "rider", "driver", "fare", "city")
    table = new(
        6,
        name="spark_hudi_table",
        database="spark_hudi_db",
        columns=columns,
        create_schema=parse_properties(documented.encode())["hoodie.table.create.schema"],
        partition_by=("city",),
        key_generator=KeyGenerator.SIMPLE,
        is_hive_style=True,
        timeline_zone="LOCAL",
    )
    env = InChina(1_759_064_076_662)
    storage = MemoryStorage(env=env)
    create_state(storage, env, new_properties(table))
    wanted = [line for line in documented.splitlines() if line.partition("=")[0] not in METADATA_TABLE]
    wanted[0] = wanted[0].replace("Updated at", "Properties saved on")
    found = storage.get(PROPERTIES_PATH).decode().splitlines()
    # What a missing payload class means differs between releases, so ours is never missing.
    assert [line for line in found if not line.startswith("hoodie.compaction.payload.class=")] == wanted


def test_an_update_writes_the_documents_first_lines():
    env = InChina(1_759_064_076_000)
    storage = MemoryStorage(env=env)
    create_state(storage, env, new_properties(new(6)))
    update_properties(storage, env, {"hoodie.x": "1"})
    first, second, *_ = storage.get(PROPERTIES_PATH).decode().splitlines()
    assert (first[:-5], second) == ("#Updated at 2025-09-28T12:54:36", "#Sun Sep 28 20:54:36 CST 2025")


def test_version_9_has_a_mode_and_no_payload():
    made = new_properties(new(9, ordering=("ts",), merge_mode=MergeMode.EVENT_TIME_ORDERING, record_key=("id",)))
    assert set(made) == EVERY_LAYOUT_2 | {
        "hoodie.table.format",
        "hoodie.table.ordering.fields",
        "hoodie.table.recordkey.fields",
    }
    assert (made["hoodie.table.format"], made["hoodie.table.initial.version"]) == ("native", "9")


@pytest.mark.parametrize(
    ("ordering", "mode", "strategy", "payload"),
    [
        ((), MergeMode.COMMIT_TIME_ORDERING, "ce9acb64-bde0-424c-9b91-f6ebba25356d", "OverwriteWithLatestAvroPayload"),
        (("ts",), MergeMode.EVENT_TIME_ORDERING, "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5", "DefaultHoodieRecordPayload"),
    ],
)
def test_version_8_has_mode_strategy_and_payload(ordering, mode, strategy, payload):
    made = new_properties(new(8, ordering=ordering, merge_mode=mode))
    more = {"hoodie.record.merge.strategy.id", "hoodie.compaction.payload.class"}
    assert set(made) == EVERY_LAYOUT_2 | more | ({"hoodie.table.precombine.field"} if ordering else set())
    assert made["hoodie.record.merge.strategy.id"] == strategy
    assert made["hoodie.compaction.payload.class"].endswith(payload)


def test_version_6_has_a_generator_class_and_nothing_of_layout_2():
    made = new_properties(new(6))
    assert made["hoodie.table.keygenerator.class"] == "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
    assert not {"hoodie.timeline.path", "hoodie.table.keygenerator.type", "hoodie.record.merge.mode"} & set(made)
    assert made["hoodie.table.timeline.timezone"] == "UTC"


@pytest.mark.parametrize(
    ("ordering", "mode", "payload"),
    [
        ((), MergeMode.COMMIT_TIME_ORDERING, "OverwriteWithLatestAvroPayload"),
        (("ts",), MergeMode.EVENT_TIME_ORDERING, "DefaultHoodieRecordPayload"),
        (("ts",), MergeMode.COMMIT_TIME_ORDERING, "OverwriteWithLatestAvroPayload"),
    ],
)
def test_version_6_says_by_its_payload_whether_the_ordering_field_counts(ordering, mode, payload):
    """Without it Apache Hudi 0.15 writes over newer rows, and 1.2 refuses writes that name the merge mode."""
    made = new_properties(new(6, ordering=ordering, merge_mode=mode))
    assert made["hoodie.compaction.payload.class"].rpartition(".")[2] == payload


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("mode", [MergeMode.COMMIT_TIME_ORDERING, MergeMode.EVENT_TIME_ORDERING])
@pytest.mark.parametrize("kind", list(KeyGenerator))
def test_a_table_reads_back_as_what_was_asked(version, mode, kind):
    fields = {
        KeyGenerator.NON_PARTITION: (), KeyGenerator.GLOBAL_DELETE: (),
        KeyGenerator.CUSTOM: ("day:simple", "ts:timestamp"),
    }.get(kind, ("day",))  # fmt: skip
    has_meta_columns = kind not in {KeyGenerator.SIMPLE, KeyGenerator.COMPLEX, KeyGenerator.NON_PARTITION}
    table = new(
        version,
        ordering=("ts",),
        record_key=("id",),
        partition_by=fields,
        merge_mode=mode,
        key_generator=kind,
        key_generator_class="mine" if kind is KeyGenerator.USER_PROVIDED else "",
        timebased={"hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS"}
        if kind is KeyGenerator.TIMESTAMP
        else {},
        is_url_encoded=True,
        populates_meta_fields=has_meta_columns,
    )
    read = TableConfig.of(new_properties(table))
    assert (read.merge_mode, read.key_generator, read.ordering_fields, read.record_key) == (
        mode,
        kind,
        ("ts",),
        ("id",),
    )
    assert (read.is_url_encoded, read.populates_meta_fields, read.is_hive_style) == (True, has_meta_columns, False)
    if kind is KeyGenerator.CUSTOM:
        assert [one.is_timestamp for one in key_spec(read).partition] == [False, True]
    assert [one.partition(":")[0] for one in read.partition_fields] == [one.partition(":")[0] for one in fields]
    assert (read.timestamp is not None) == (kind is KeyGenerator.TIMESTAMP)

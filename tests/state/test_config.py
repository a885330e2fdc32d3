import pytest

from pyhudi.errors import CorruptData, OptionError, Unsupported
from pyhudi.kernels.keys import KeyGenerator, PartitionField
from pyhudi.options import Settings
from pyhudi.state.config import (
    DEFAULT_PAYLOAD,
    OVERWRITE_PAYLOAD,
    STRATEGIES,
    MergeMode,
    TableConfig,
    TableType,
    custom_fields,
    key_generator_of,
    key_spec,
    names_of,
    timestamp_spec,
)

PACKAGE = "org.apache.hudi.keygen."
COMMIT, EVENT, CUSTOM = MergeMode.COMMIT_TIME_ORDERING, MergeMode.EVENT_TIME_ORDERING, MergeMode.CUSTOM


def config(version: int = 9, **more: str) -> TableConfig:
    """Read properties; `a_b` stands for `hoodie.table.a.b`, a full key for itself."""
    said = {
        key if key.startswith("hoodie.") else "hoodie.table." + key.replace("_", "."): text
        for key, text in more.items()
    }
    return TableConfig.of({"hoodie.table.name": "t", "hoodie.table.version": str(version), **said})


def test_what_a_table_does_not_say_has_its_default():
    read = config()
    assert (read.table_type, read.record_key, read.partition_fields, read.ordering_fields) == (
        TableType.COPY_ON_WRITE,
        (),
        (),
        (),
    )
    assert (read.is_hive_style, read.is_url_encoded, read.drops_partition_columns, read.populates_meta_fields) == (
        False, False, False, True,
    )  # fmt: skip
    assert (read.timeline_zone, read.base_file_format, read.partial_update_mode, read.database) == (
        "LOCAL",
        "PARQUET",
        "NONE",
        "",
    )
    assert (read.metadata_partitions, read.timestamp, read.complex_key_encoding) == ((), None, "")


def test_the_old_and_the_new_name_of_the_ordering_field_are_read():
    assert config(8, precombine_field="ts").ordering_fields == ("ts",)
    assert config(9, ordering_fields="a, b").ordering_fields == ("a", "b")
    assert config(9, ordering_fields="a", precombine_field="b").ordering_fields == ("a",)


@pytest.mark.parametrize(
    ("named", "kind"),
    [
        (PACKAGE + "SimpleKeyGenerator", KeyGenerator.SIMPLE),
        (PACKAGE + "SimpleAvroKeyGenerator", KeyGenerator.SIMPLE),
        (PACKAGE + "ComplexAvroKeyGenerator", KeyGenerator.COMPLEX),
        (PACKAGE + "TimestampBasedAvroKeyGenerator", KeyGenerator.TIMESTAMP),
        (PACKAGE + "NonpartitionedAvroKeyGenerator", KeyGenerator.NON_PARTITION),
        (PACKAGE + "GlobalAvroDeleteKeyGenerator", KeyGenerator.GLOBAL_DELETE),
        ("COMPLEX_AVRO", KeyGenerator.COMPLEX),
        ("NON_PARTITION", KeyGenerator.NON_PARTITION),
        ("com.example.MyKeys", KeyGenerator.USER_PROVIDED),
        ("USER_PROVIDED", KeyGenerator.USER_PROVIDED),
        ("AUTO_RECORD", None),
        (PACKAGE + "AutoRecordGenWrapperAvroKeyGenerator", None),
        ("org.apache.spark.sql.hudi.command.SqlKeyGenerator", None),
    ],
)
def test_key_generators_are_known_by_class_and_type_and_avro_twin(named, kind):
    assert key_generator_of(named) is kind


def test_the_class_of_a_key_generator_wins_over_its_type():
    read = config(keygenerator_class=PACKAGE + "ComplexKeyGenerator", keygenerator_type="SIMPLE", partition_fields="p")
    assert read.key_generator is KeyGenerator.COMPLEX


@pytest.mark.parametrize(
    ("keys", "partitions", "kind"),
    [("a", "", KeyGenerator.NON_PARTITION), ("a", "p", KeyGenerator.SIMPLE), ("", "p", KeyGenerator.SIMPLE),
     ("a,b", "p", KeyGenerator.COMPLEX), ("a", "p,q", KeyGenerator.COMPLEX)],
)  # fmt: skip
def test_without_a_generator_or_with_a_wrapper_the_fields_tell(keys, partitions, kind):
    for more in ({}, {"keygenerator_type": "AUTO_RECORD"}):
        assert config(recordkey_fields=keys, partition_fields=partitions, **more).key_generator is kind


@pytest.mark.parametrize(
    ("version", "said", "mode"),
    [
        (6, {}, COMMIT),
        (6, {"precombine_field": "ts"}, EVENT),
        (6, {"hoodie.compaction.payload.class": OVERWRITE_PAYLOAD, "precombine_field": "ts"}, COMMIT),
        (6, {"hoodie.compaction.payload.class": DEFAULT_PAYLOAD, "precombine_field": "ts"}, EVENT),
        (6, {"hoodie.compaction.payload.class": "com.example.Mine"}, CUSTOM),
        (8, {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING", "precombine_field": "ts"}, COMMIT),
        (
            8,
            {
                "hoodie.record.merge.strategy.id": STRATEGIES[MergeMode.EVENT_TIME_ORDERING],
                "hoodie.compaction.payload.class": OVERWRITE_PAYLOAD,
            },
            EVENT,
        ),
        (8, {"hoodie.record.merge.strategy.id": STRATEGIES[MergeMode.COMMIT_TIME_ORDERING]}, COMMIT),
        (8, {"hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000"}, CUSTOM),
        (8, {"hoodie.compaction.payload.class": "x.PartialUpdateAvroPayload"}, CUSTOM),
        (9, {"ordering_fields": "ts"}, EVENT),
        (9, {"legacy_payload_class": "x.PartialUpdateAvroPayload"}, EVENT),
        (9, {"legacy_payload_class": "x.AWSDmsAvroPayload"}, COMMIT),
        (9, {"legacy_payload_class": "x.FirstValueAvroPayload"}, CUSTOM),
        (9, {"hoodie.record.merge.mode": "custom"}, CUSTOM),
    ],
)
def test_the_merge_mode_is_inferred_as_each_version_means_it(version, said, mode):
    assert config(version, **said).merge_mode is mode


def test_in_version_6_the_event_time_strategy_is_only_the_default_mergers_name():
    read = config(
        6,
        **{
            "hoodie.compaction.record.merger.strategy": STRATEGIES[MergeMode.EVENT_TIME_ORDERING],
            "hoodie.compaction.payload.class": OVERWRITE_PAYLOAD,
            "hoodie.table.precombine.field": "ts",
        },
    )
    assert read.merge_mode is COMMIT


def test_a_broken_value_names_its_key():
    with pytest.raises(CorruptData, match=r"hoodie\.table\.version"):
        TableConfig.of({"hoodie.table.name": "t", "hoodie.table.version": "nine"})
    with pytest.raises(CorruptData, match=r"hoodie\.table\.name"):
        TableConfig.of({"hoodie.table.version": "9"})
    with pytest.raises(CorruptData, match="hive_style"):
        config(**{"hoodie.datasource.write.hive_style_partitioning": "maybe"})
    with pytest.raises(Unsupported, match="MERGE_ON_WRITE"):
        config(type="MERGE_ON_WRITE")


def test_time_based_keys_are_read_by_both_prefixes():
    spec = timestamp_spec(
        {
            "hoodie.keygen.timebased.timestamp.type": "date_string",
            "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd, yyyyMMdd",
            "hoodie.deltastreamer.keygen.timebased.output.dateformat": "yyyy/MM/dd",
            "hoodie.keygen.timebased.timezone": "GMT+8:00",
        }
    )
    assert spec is not None
    assert (spec.type, spec.input_formats, spec.output_format, spec.output_zone) == (
        "DATE_STRING", ("yyyy-MM-dd", "yyyyMMdd"), "yyyy/MM/dd", "GMT+8:00",
    )  # fmt: skip


def test_custom_partition_fields_bring_their_types():
    spec = key_spec(config(keygenerator_type="CUSTOM", partition_fields="a:simple,b:TIMESTAMP"))
    assert spec.partition == (PartitionField(name="a"), PartitionField(name="b", is_timestamp=True))


def test_a_version_6_custom_table_takes_the_types_from_the_call():
    read = config(6, keygenerator_class=PACKAGE + "CustomKeyGenerator", partition_fields="a,b")
    said = Settings({"hoodie.datasource.write.partitionpath.field": "a:SIMPLE,b:timestamp"})
    assert [one.is_timestamp for one in key_spec(read, said).partition] == [False, True]
    with pytest.raises(OptionError, match="field='a'"):
        key_spec(read)


def test_how_times_are_spelled_comes_from_the_call_where_the_table_does_not_say():
    """Apache Hudi never stores it for CUSTOM tables."""
    said = Settings.of({"hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
                        "hoodie.keygen.timebased.output.dateformat": "yyyyMMdd"})  # fmt: skip
    spec = key_spec(config(keygenerator_type="CUSTOM", partition_fields="a:simple,b:TIMESTAMP"), said)
    assert spec.timestamp is not None
    assert (spec.timestamp.type, spec.timestamp.output_format) == ("EPOCHMILLISECONDS", "yyyyMMdd")


def test_a_custom_type_that_does_not_exist_is_corrupt():
    with pytest.raises(CorruptData):
        key_spec(config(keygenerator_type="CUSTOM", partition_fields="a:HASH"))


@pytest.mark.parametrize(
    ("version", "stored", "option", "has_prefix"),
    [(9, "", "true", True), (9, "VALUE_ONLY", "false", False), (8, "", "false", True), (8, "", "true", False),
     (6, "FIELD_PREFIXED", "true", True)],
)  # fmt: skip
def test_the_single_field_complex_key_follows_table_then_version_then_option(version, stored, option, has_prefix):
    said = Settings({"hoodie.write.complex.keygen.new.encoding": option})
    assert key_spec(config(version, complex_keygen_encoding=stored), said).has_prefixed_single_key is has_prefix


def test_comma_lists_forgive_blanks_and_empty_elements():
    assert names_of(" a, b,,") == ("a", "b")
    assert names_of(None) == ()
    assert custom_fields("a : simple,b") == {"a": "SIMPLE", "b": ""}

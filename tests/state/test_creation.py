import pytest

from pyhudi.errors import HudiError, InvalidInput, OptionError, Unsupported
from pyhudi.kernels.keys import KeyGenerator
from pyhudi.options import Settings
from pyhudi.state.config import MergeMode, TableType
from pyhudi.state.creation import NewTable, new_table

COLUMNS = ["id", "name", "ts", "day"]


def asked(options: dict[str, str] | None = None, **arguments: object) -> NewTable:
    given = {"name": "t", "columns": COLUMNS, "record_key": ["id"], **arguments}
    return new_table(Settings(options or {}), **given)  # type: ignore[arg-type]


def test_arguments_and_options_say_the_same_things():
    by_argument = asked(partition_by=["day"], ordering=["ts"], table_version=8)
    by_option = new_table(
        Settings(
            {
                "hoodie.table.name": "t",
                "hoodie.datasource.write.recordkey.field": "id",
                "hoodie.datasource.write.partitionpath.field": "day",
                "hoodie.table.ordering.fields": "ts",
                "hoodie.write.table.version": "8",
            }
        ),
        columns=COLUMNS,
    )
    assert by_argument == by_option


@pytest.mark.parametrize(
    ("key", "text", "argument"),
    [
        ("hoodie.table.name", "u", {}),
        ("hoodie.datasource.write.recordkey.field", "name", {}),
        ("hoodie.datasource.write.partitionpath.field", "day", {"partition_by": []}),
        ("hoodie.table.ordering.fields", "ts", {"ordering": ["name"]}),
        ("hoodie.write.table.version", "6", {"table_version": 9}),
        ("hoodie.datasource.write.table.type", "MERGE_ON_READ", {"table_type": "cow"}),
    ],
)
def test_an_option_that_contradicts_an_argument_names_both(key, text, argument):
    with pytest.raises(OptionError, match="contradict") as told:
        asked({key: text}, **argument)
    assert told.value.values["key"] == key
    assert len(told.value.values) == 3


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({}, KeyGenerator.NON_PARTITION),
        ({"partition_by": ["day"]}, KeyGenerator.SIMPLE),
        ({"partition_by": ["day"], "record_key": []}, KeyGenerator.SIMPLE),
        ({"partition_by": ["day"], "record_key": ["id", "name"]}, KeyGenerator.COMPLEX),
        ({"partition_by": ["day", "name"]}, KeyGenerator.COMPLEX),
        ({"partition_by": ["day:SIMPLE", "ts:TIMESTAMP"]}, KeyGenerator.CUSTOM),
    ],
)
def test_the_fields_choose_the_key_generator(arguments, kind):
    assert asked(**arguments).key_generator is kind


def test_a_named_key_generator_is_taken():
    said = {"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator"}
    assert asked(said, partition_by=["day"]).key_generator is KeyGenerator.COMPLEX
    assert (
        asked({"hoodie.datasource.write.keygenerator.type": "COMPLEX"}, partition_by=["day"]).key_generator
        is KeyGenerator.COMPLEX
    )
    mine = asked({"hoodie.datasource.write.keygenerator.class": "mine"}, partition_by=["day"])
    assert (mine.key_generator, mine.key_generator_class) == (KeyGenerator.USER_PROVIDED, "mine")


def test_ordering_fields_mean_event_time_unless_said_otherwise():
    assert asked().merge_mode is MergeMode.COMMIT_TIME_ORDERING
    assert asked(ordering=["ts"]).merge_mode is MergeMode.EVENT_TIME_ORDERING
    said = {"hoodie.write.record.merge.mode": "commit_time_ordering"}
    assert asked(said, ordering=["ts"]).merge_mode is MergeMode.COMMIT_TIME_ORDERING


def test_table_types_have_short_names():
    assert asked(table_type="mor").table_type is TableType.MERGE_ON_READ
    assert asked(table_type="COPY_ON_WRITE").table_type is TableType.COPY_ON_WRITE
    with pytest.raises(InvalidInput):
        asked(table_type="moo")


KEYGEN = "hoodie.datasource.write.keygenerator.type"


@pytest.mark.parametrize(
    ("options", "arguments", "kind", "shown"),
    [
        ({}, {"name": ""}, InvalidInput, "needs a name"),
        ({}, {"record_key": ["uid"]}, InvalidInput, "record key field is not in the schema.*uid.*name"),
        ({}, {"partition_by": ["month"]}, InvalidInput, "partition field is not in the schema.*month"),
        ({}, {"ordering": ["when"]}, InvalidInput, "ordering field is not in the schema.*when"),
        ({}, {"record_key": ["id", "id"]}, InvalidInput, "twice"),
        ({}, {"columns": ["id", "_hoodie_commit_time"]}, InvalidInput, "_hoodie_commit_time"),
        ({}, {"table_version": 7}, InvalidInput, "table_version=7"),
        ({}, {"table_version": 10}, Unsupported, "version=10"),
        ({KEYGEN: "SIMPLE"}, {"partition_by": ["day", "name"]}, OptionError, "SIMPLE takes one partition field"),
        ({KEYGEN: "NON_PARTITION"}, {"partition_by": ["day"]}, OptionError, "no partition field"),
        ({KEYGEN: "TIMESTAMP"}, {"partition_by": ["ts"]}, OptionError, "timestamp.type"),
        ({KEYGEN: "CUSTOM"}, {"partition_by": ["ts"]}, OptionError, "field:SIMPLE"),
        ({KEYGEN: "USER_PROVIDED"}, {}, OptionError, "registered name"),
        ({"hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"}, {}, OptionError, "ordering field"),
        ({"hoodie.write.record.merge.mode": "CUSTOM"}, {}, OptionError, "name of a merger"),
        ({"hoodie.populate.meta.fields": "false"}, {"record_key": []}, OptionError, "virtual keys"),
        ({"hoodie.populate.meta.fields": "false", KEYGEN: "GLOBAL_DELETE"}, {}, OptionError, "virtual.*GLOBAL_DELETE"),
        ({"hoodie.datasource.write.drop.partition.columns": "true"}, {}, OptionError, "no partition columns"),
        (
            {
                "hoodie.datasource.write.slash.separated.date.partitioning": "true",
                "hoodie.datasource.write.hive_style_partitioning": "true",
            },
            {"partition_by": ["day"]},
            OptionError,
            "exclude each other",
        ),
        (
            {"hoodie.datasource.write.slash.separated.date.partitioning": "true"},
            {"partition_by": ["day"], "table_version": 8},
            OptionError,
            "table version 9.*table_version=8",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_naming_both_sides(options, arguments, kind, shown):
    with pytest.raises(kind, match=shown):
        asked(options, **arguments)


def test_a_nested_key_field_is_looked_for_by_its_column():
    assert asked(record_key=["name.first"]).record_key == ("name.first",)


def test_every_refusal_is_ours():
    for version in range(-1, 15):
        try:
            asked(table_version=version)
        except HudiError:
            assert version not in {6, 8, 9}

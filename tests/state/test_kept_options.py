import pytest
from tests.building import TableBuilder
from tests.table.test_creating import LOCK

from pyhudi.errors import NotBuilt, OptionError
from pyhudi.options import Settings
from pyhudi.state.config import KEPT_PREFIX
from pyhudi.state.kept_options import is_same_value, kept_by, kept_properties, may_be_kept, settings_of
from pyhudi.state.properties_file import update_properties

RETAINED = "hoodie.clean.commits.retained"
OLD_RETAINED = "hoodie.cleaner.commits.retained"
SIZE = "hoodie.parquet.max.file.size"


def keeping(**kept):
    table = TableBuilder().create()
    changes = {KEPT_PREFIX + key: text for key, text in kept.items()}
    update_properties(table.state.storage, table.state.env, changes)
    return TableBuilder().reopen(table).config


def test_a_call_wins_over_a_session_and_that_over_the_table():
    config = keeping(**{RETAINED: "7", SIZE: "1000", "hoodie.compact.inline": "true"})
    settings = settings_of(config, {RETAINED: 1}, {RETAINED: "2", SIZE: "2000"})
    assert settings == Settings({RETAINED: "1", SIZE: "2000", "hoodie.compact.inline": "true"})


def test_an_old_name_of_a_call_wins_too():
    assert settings_of(keeping(**{RETAINED: "7"}), {OLD_RETAINED: 1}).values == {RETAINED: "1"}


def test_options_are_kept_under_their_present_names():
    assert kept_properties({OLD_RETAINED: 3, SIZE: None}) == {KEPT_PREFIX + RETAINED: "3", KEPT_PREFIX + SIZE: None}
    assert kept_properties({OLD_RETAINED: None}) == {KEPT_PREFIX + RETAINED: None}
    assert kept_by(keeping(**{SIZE: "1", RETAINED: "3"})) == {RETAINED: "3", SIZE: "1"}


@pytest.mark.parametrize(
    "option",
    [
        {RETAINED: "many"}, {RETAINED: -1}, {"hoodie.clean.policy": "KEEP_ALL"}, {"hoodie.compact.inline": "yes"},
        {"hoodie.nope": 1}, {"hoodie.nope": None}, {"hoodie.table.name": "x"}, {"hoodie.write.lock.provider": LOCK},
        {"hoodie.index.type": "BUCKET"}, {"pyhudi.fence": "on"}, {"hoodie.datasource.write.operation": "insert"},
        {"as.of.instant": "20260101"}, {"hoodie.memory.spillable.map.path": "/etc"}, {"pyhudi.check.files": False},
        {"hoodie.write.lock.zookeeper.url": "elsewhere:1"}, {"hoodie.write.lock.dynamodb.endpoint_url": "http://x"},
        {"hoodie.parquet.compression.codec": "rar"}, {"hoodie.compaction.strategy": "Nope"},
    ],
    ids=str,
)  # fmt: skip
def test_what_no_table_keeps_is_refused(option):
    with pytest.raises(OptionError) as told:
        kept_properties(option)
    assert told.value.values["key"] in option


def test_an_option_that_asks_for_what_is_not_built_is_refused():
    with pytest.raises(NotBuilt):
        kept_properties({"hoodie.datasource.meta.sync.enable": "true"})


def test_an_option_without_effect_is_not_kept():
    assert kept_properties({"hoodie.upsert.shuffle.parallelism": 4}) == {}


@pytest.mark.parametrize(
    "kept",
    [
        {"hoodie.write.lock.zookeeper.url": "elsewhere:1"},
        {"hoodie.memory.spillable.map.path": "/tmp/x"},
        {RETAINED: "many"},
        {"hoodie.of.later": "1"},
    ],
    ids=str,
)
def test_an_option_of_a_table_that_cannot_be_followed_is_told_until_the_call_sets_it(kept):
    config = keeping(**kept)
    [key] = kept
    with pytest.raises(OptionError, match="takes it away") as told:
        settings_of(config, None)
    assert told.value.values["key"] == key
    if key == RETAINED:
        assert settings_of(config, {key: 5}).values == {key: "5"}


def test_what_may_be_kept_is_of_writes_and_services():
    assert may_be_kept("hoodie.keep.max.commits")
    assert may_be_kept("pyhudi.isolation")
    assert not may_be_kept("hoodie.cleaner.commits.retained")
    assert not may_be_kept("hoodie.upsert.shuffle.parallelism")


def test_values_are_compared_as_they_are_read():
    assert is_same_value("hoodie.compact.inline", "TRUE", "true")
    assert is_same_value("hoodie.parquet.max.file.size", "10", "10")
    assert not is_same_value("hoodie.compact.inline", "true", None)
    assert not is_same_value("hoodie.compact.inline", "true", "false")

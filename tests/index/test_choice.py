import pytest
from tests.new_states import new_state

from pyhudi.engine.api import Moves
from pyhudi.errors import NotBuilt, OptionError
from pyhudi.index.choice import index_declaration, index_of, require_same_index
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig

TYPE, COUNT, FIELDS = "hoodie.index.type", "hoodie.bucket.index.num.buckets", "hoodie.bucket.index.hash.field"


def keeping(**kept):
    return TableConfig.of({**new_state().config.properties, **kept})


def test_without_a_word_keys_are_looked_for_in_their_partition():
    index = index_of(Settings(), keeping())
    assert (index.name, index.is_global, index.moves, index.is_binding) == ("SIMPLE", False, Moves.IMPOSSIBLE, False)


def test_a_table_that_keeps_an_index_needs_no_options():
    config = keeping(**{TYPE: "bucket", COUNT: "3", FIELDS: "uuid"})
    index = index_of(Settings(), config)
    assert (index.name, index.hashing.buckets_count, index.hashing.key_hash.hash_fields) == ("BUCKET", 3, ("uuid",))
    assert index.is_binding
    for same in ({}, {TYPE: "BUCKET"}, {TYPE: "Bucket", COUNT: "3", FIELDS: "uuid"}, {COUNT: "3"}):
        require_same_index(Settings(same), config)


@pytest.mark.parametrize("other", [{TYPE: "BLOOM"}, {TYPE: "GLOBAL_SIMPLE"}, {COUNT: "4"}, {FIELDS: "rider"}])
def test_options_that_change_a_kept_index_are_refused(other):
    with pytest.raises(OptionError, match="another index") as told:
        require_same_index(Settings(other), keeping(**{TYPE: "BUCKET", COUNT: "3", FIELDS: "uuid"}))
    assert [told.value.values["key"]] == list(other)


@pytest.mark.parametrize(("kept", "other"), [("SIMPLE", "BLOOM"), ("GLOBAL_BLOOM", "GLOBAL_SIMPLE")])
def test_kinds_that_look_in_the_same_place_take_turns(kept, other):
    config = keeping(**{TYPE: kept})
    require_same_index(Settings({TYPE: other}), config)
    assert index_of(Settings({TYPE: other}), config).name == other
    with pytest.raises(OptionError):
        require_same_index(Settings({TYPE: "BUCKET"}), config)


def test_an_index_that_is_not_built_is_named():
    with pytest.raises(NotBuilt, match="HBASE"):
        index_of(Settings(), keeping(**{TYPE: "HBASE"}))


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, {}),
        ({TYPE: "bloom"}, {TYPE: "BLOOM"}),
        ({TYPE: "BUCKET"}, {TYPE: "BUCKET", COUNT: "256", FIELDS: "id,name"}),
        ({TYPE: "BUCKET", COUNT: "3", FIELDS: "name"}, {TYPE: "BUCKET", COUNT: "3", FIELDS: "name"}),
    ],
)
def test_a_declaration_says_all_that_a_write_must_know(options, kept):
    assert index_declaration(Settings(options), ("id", "name")) == kept


@pytest.mark.parametrize("options", [{COUNT: "0"}, {FIELDS: "rider"}])
def test_buckets_that_cannot_be_are_refused(options):
    with pytest.raises(OptionError, match="bucket"):
        index_declaration(Settings({TYPE: "BUCKET", **options}), ("id",))


def test_generated_keys_have_no_fields_to_name():
    assert index_declaration(Settings({TYPE: "BUCKET", COUNT: "3"}), ()) == {TYPE: "BUCKET", COUNT: "3"}

"""The committed key table and options page are what the code says; the keys users type are all known."""

import json
import tomllib

import pytest
from tests.architecture.source import ROOT
from tools import known_keys

EFFECTS = {"obeyed", "none", "refused"}
USERS_TYPE = (ROOT / "tests" / "architecture" / "keys_users_type.txt").read_text().split()
"""The configuration names of Apache Hudi's documentation."""


NO_ROWS = {"work", "upkeep", "outside", "always", "errors"}
"""What options may act on that are accepted without effect: none of it is the rows of a table."""
ROWS = (ROOT / "tests" / "architecture" / "keys_of_rows.txt").read_text().split()
"""Options of Apache Hudi and of Spark by which the rows of a table, or of a read, are others."""


@pytest.fixture(scope="module")
def fresh():
    return known_keys.known_keys()


def test_the_committed_key_table_is_fresh(fresh):
    assert known_keys.JSON_PATH.read_text() == known_keys.as_json(fresh), "run `make keys`"


def test_the_options_page_is_fresh(fresh):
    assert known_keys.PAGE_PATH.read_text() == known_keys.options_page(fresh), "run `make keys`"


def test_every_entry_says_what_it_does(fresh):
    for key, entry in fresh.items():
        assert entry["effect"] in EFFECTS, key
        assert entry["meaning"], key
        assert ("harmless" in entry) == (entry["effect"] == "refused"), key
        assert bool(entry["module"]) == (entry["effect"] == "obeyed"), key


def test_an_option_by_which_rows_change_is_obeyed_or_refused(fresh):
    families = [key[:-1] for key in fresh if key.endswith(".*")]
    entries = {key: fresh.get(key) or fresh[max(filter(key.startswith, families), key=len) + "*"] for key in ROWS}
    assert [key for key, entry in entries.items() if entry["effect"] == "none"] == []


def test_an_option_without_effect_stands_with_what_it_would_act_on():
    kinds = tomllib.loads(known_keys.FOREIGN_PATH.read_text())["none"]
    assert set(kinds) == NO_ROWS
    assert all(isinstance(keys, dict) and keys for keys in kinds.values())


def test_a_renamed_key_leads_to_a_current_one(fresh):
    for key, entry in fresh.items():
        if "renamed_to" in entry:
            assert "renamed_to" not in fresh[entry["renamed_to"]], key


def test_every_key_that_users_type_is_known(fresh):
    families = tuple(key[:-1] for key in fresh if key.endswith(".*"))
    unknown = [key for key in USERS_TYPE if key not in fresh and not key.startswith(families)]
    assert not unknown


def test_the_committed_file_is_json():
    assert json.loads(known_keys.JSON_PATH.read_text())

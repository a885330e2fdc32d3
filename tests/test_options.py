import logging

import pytest

from pyhudi import options
from pyhudi.errors import InternalError, NotBuilt, OptionError
from pyhudi.options import DECLARED, Settings, between, boolean, one_of, option


@pytest.fixture
def declared():
    before = dict(DECLARED)
    yield lambda *args, **kwargs: option(*args, **kwargs)
    DECLARED.clear()
    DECLARED.update(before)


@pytest.fixture
def known(monkeypatch):
    table = {
        "hoodie.a.size": {"effect": "obeyed", "meaning": "", "module": "x"},
        "hoodie.old.size": {"effect": "obeyed", "meaning": "", "module": "x", "renamed_to": "hoodie.a.size"},
        "hoodie.idle": {"effect": "none", "meaning": "there is none", "module": ""},
        "hoodie.far": {"effect": "refused", "meaning": "the moon", "module": "", "harmless": ["false"]},
        "hoodie.family.*": {"effect": "none", "meaning": "whole family", "module": ""},
        "hoodie.family.near.*": {"effect": "refused", "meaning": "near", "module": "", "harmless": []},
    }
    monkeypatch.setattr(options, "_known_keys", lambda: table)
    options._say_once.cache_clear()


def test_the_call_wins_over_the_session(known, declared):
    size = declared("hoodie.a.size", 7, "size")
    assert Settings.of({"hoodie.a.size": 2}, {"hoodie.a.size": "1"}).get(size) == 2
    assert Settings.of({}, {"hoodie.a.size": "1"}).get(size) == 1
    assert Settings.of({}).get(size) == 7


def test_settings_can_be_laid_over_lower_ones():
    assert Settings({"a": "1"}).over(Settings({"a": "2", "b": "3"})).values == {"a": "1", "b": "3"}


def test_a_renamed_key_is_translated_and_said_once(known, caplog):
    with caplog.at_level(logging.WARNING):
        assert Settings.of({"hoodie.old.size": 3}).values == {"hoodie.a.size": "3"}
        Settings.of({"hoodie.old.size": 3})
    assert caplog.text.count("is now called hoodie.a.size") == 1


def test_the_current_name_wins_over_the_old_one(known):
    assert Settings.of({"hoodie.a.size": 1, "hoodie.old.size": 2}).values == {"hoodie.a.size": "1"}
    assert Settings.of({"hoodie.old.size": 2, "hoodie.a.size": 1}).values == {"hoodie.a.size": "1"}


def test_an_unknown_key_names_the_nearest(known):
    with pytest.raises(OptionError, match=r"did you mean hoodie\.a\.size"):
        Settings.of({"hoodie.a.sise": 1})


def test_a_key_without_effect_is_dropped_and_said(known, caplog):
    with caplog.at_level(logging.WARNING):
        assert Settings.of({"hoodie.idle": "x", "hoodie.family.any": 1}).values == {}
    assert "there is none" in caplog.text
    assert "whole family" in caplog.text


def test_a_refused_key_accepts_only_harmless_values(known):
    assert Settings.of({"hoodie.far": False}).values == {}
    with pytest.raises(NotBuilt, match="the moon"):
        Settings.of({"hoodie.far": True})


def test_the_longest_family_decides(known):
    with pytest.raises(NotBuilt, match="near"):
        Settings.of({"hoodie.family.near.x": 1})


def test_a_key_declared_since_the_file_was_made_is_known(known, declared):
    fresh = declared("hoodie.b.fresh", False, "fresh")
    assert Settings.of({"hoodie.b.fresh": True}).get(fresh) is True


def test_a_value_that_does_not_parse_is_an_option_error(known, declared):
    size = declared("hoodie.a.size", 7, "size")
    with pytest.raises(OptionError, match=r"hoodie\.a\.size"):
        Settings.of({"hoodie.a.size": "many"}).get(size)


def test_a_key_is_declared_once(declared):
    declared("hoodie.twice", 1, "one")
    with pytest.raises(InternalError):
        declared("hoodie.twice", 1, "two")


def test_parsers_read_what_users_write():
    assert boolean(" TRUE ")
    assert not boolean("false")
    assert between(0, 20)("12") == 12
    assert between(0.5, 1.0)(" 0.5") == 0.5
    assert one_of("NONE", "GLOBAL_SORT")("global_sort") == "GLOBAL_SORT"
    for parse, text in (
        (boolean, "yes"),
        (between(0, 9), "-1"),
        (between(0, 9), "10"),
        (between(0, 9), "1.5"),
        (between(0.0, 1.0), "nan"),
        (between(0.0, 1.0), "x"),
        (between(0, 9), "9" * 5_000),
        (one_of("A"), "b"),
    ):
        with pytest.raises(ValueError, match="expected"):
            parse(text)


def test_the_committed_file_knows_the_keys_users_type():
    assert Settings.of({"hoodie.embed.timeline.server": "false", "hoodie.table.cdc.enabled": "false"}).values == {}
    with pytest.raises(NotBuilt, match="CDC"):
        Settings.of({"hoodie.table.cdc.enabled": "true"})


@pytest.mark.parametrize(
    ("key", "value", "harmless"),
    [
        ("hoodie.datasource.read.incr.path.glob", "2024/*", ""),
        ("hoodie.datasource.read.paths", "a,b", ""),
        ("hoodie.table.base.file.format", "orc", "PARQUET"),
        ("hoodie.table.create.schema", '"int"', ""),
        ("hoodie.sql.insert.mode", "strict", "non-strict"),
        ("hoodie.sql.insert.mode", "upsert", "non-strict"),
        ("paths", '["a", "b"]', ""),
        ("pathGlobFilter", "*.orc", "*"),
        ("modifiedBefore", "2024-01-01", ""),
        ("modifiedAfter", "2024-01-01", ""),
        ("partitionOverwriteMode", "dynamic", "STATIC"),
        ("datetimeRebaseMode", "LEGACY", "CORRECTED"),
        ("int96RebaseMode", "LEGACY", "EXCEPTION"),
    ],
)
def test_what_would_change_rows_and_is_not_done_is_refused_by_name(key, value, harmless):
    assert Settings.of({key: harmless}).values == {}
    with pytest.raises(NotBuilt, match=key):
        Settings.of({key: value})

import sys
from pathlib import Path

import numpy as np
import pytest

from pyhudi.arguments import as_choice, as_count, as_mapping, as_option_text, as_switch, as_text, as_texts
from pyhudi.errors import InvalidInput, OptionError

HALF = "\ud800"


class Failing(dict):
    def items(self):
        raise KeyError("mine")


def failing():
    yield "a"
    raise KeyError("mine")


def test_what_fits_is_returned():
    assert as_text("name", "ü") == "ü"
    assert as_texts("names", ("a", "b")) == ["a", "b"]
    assert as_texts("names", (name for name in "ab")) == ["a", "b"]
    assert as_mapping("options", None) == {}
    assert as_mapping("options", {"a": 1}) == {"a": 1}
    assert as_switch("dry_run", True) is True
    assert as_count("limit", np.int64(3)) == 3
    assert as_count("limit", 2**70) == sys.maxsize
    assert as_choice("mode", "a", ("a", "b")) == "a"


def test_an_options_value_is_a_text_or_a_number_and_is_not_repeated_where_it_is_none():
    values = (True, 5, 1.5, "x", Path("/a"), np.int64(3))
    assert [as_option_text("k", given) for given in values] == ["true", "5", "1.5", "x", "/a", "3"]
    for given in (None, ["secret"], {"secret": 1}, b"secret", HALF, 10**4_400):
        with pytest.raises(OptionError) as caught:
            as_option_text("k", given)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("check", "given"),
    [
        *((as_text, given) for given in (None, 1, b"a", HALF, ["a"])),
        *((as_texts, given) for given in ("a", None, 1, b"ab", {"a": 1}, ["a", 1], [HALF], failing())),
        *((as_mapping, given) for given in ([], "a", 1, [("a", 1)], {1: 2}, {HALF: 1}, Failing())),
        *((as_switch, given) for given in (None, 1, "true", np.array([1, 2]))),
        *((as_count, given) for given in (None, -1, True, 1.0, "1")),
    ],
)
def test_what_does_not_is_refused_by_the_arguments_name(check, given):
    with pytest.raises(InvalidInput, match="the_argument"):
        check("the_argument", given)


@pytest.mark.parametrize("given", ["c", "A", None, ["a"], {"a"}])
def test_a_choice_is_one_of_its_words(given):
    with pytest.raises(InvalidInput, match="mode is a or b"):
        as_choice("mode", given, ("a", "b"))


def test_a_text_for_a_list_says_how_to_write_it():
    with pytest.raises(InvalidInput, match=r"\['uuid'\]"):
        as_texts("columns", "uuid")

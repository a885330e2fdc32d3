import pytest

from pyhudi.errors import OptionError
from pyhudi.kernels.joda import joda_pattern


def shape(text):
    return [(token.letter * token.count) or repr(token.text) for token in joda_pattern(text).tokens]


def test_runs_of_a_letter_are_fields_and_the_rest_is_text():
    assert shape("yyyy/MM") == ["yyyy", "'/'", "MM"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("'T'HH", ["'T'", "HH"]), ("HH'o''clock'", ["HH", '"o\'clock"']), ("''", ['"\'"']), ("'open", ["'open'"])],
)
def test_quotes_keep_letters_as_text(text, tokens):
    assert shape(text) == tokens


@pytest.mark.parametrize("text", ["yyyy-bb", "zzzz", "u"])
def test_letters_that_cannot_be_spelled_are_refused(text):
    with pytest.raises(OptionError):
        joda_pattern(text)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("yyyy", 86_400_000), ("yyyy HH", 3_600_000), ("a", 3_600_000), ("mm", 60_000), ("ss", 1000), ("S", 1)],
)
def test_the_smallest_unit_spelled_is_known(text, unit):
    assert joda_pattern(text).finest_ms == unit


def test_a_pattern_knows_whether_it_spells_the_zone():
    assert joda_pattern("HHZ").has_zone
    assert not joda_pattern("HH'Z'").has_zone

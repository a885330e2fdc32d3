import pytest

from pyhudi.errors import OptionError
from pyhudi.kernels.keys import register_key_generator, registered_key_generator


def test_the_last_registration_of_a_name_counts():
    register_key_generator("twice", len)
    register_key_generator("twice", max)
    assert registered_key_generator("twice") is max


def test_an_unknown_name_is_refused_with_the_known_ones():
    register_key_generator("known", len)
    with pytest.raises(OptionError, match="known"):
        registered_key_generator("unknown")


def test_a_name_is_needed():
    with pytest.raises(OptionError):
        register_key_generator("", len)

import pytest

from pyhudi.errors import InvalidInput
from pyhudi.spark.base_path import base_path


def test_the_path_is_the_argument_or_the_option():
    assert base_path("a", "b") == "a"
    assert base_path(None, "b") == "b"
    assert base_path(["a"], None) == "a"
    for given, said in ((None, None), (["a", "b"], None), ([], "b"), (3, None), ("a/*", None)):
        with pytest.raises(InvalidInput, match="path"):
            base_path(given, said)

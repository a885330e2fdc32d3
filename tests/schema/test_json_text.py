import pytest

from pyhudi.errors import CorruptData
from pyhudi.schema.json_text import parse_json


@pytest.mark.parametrize("text", ['{"a": [1, "\\ud83d\\ude00", "\\\\ud800"]}', '"\u00e9"', "7", "null"])
def test_json_is_read_from_text_and_bytes(text):
    assert parse_json(text) == parse_json(text.encode())


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, "9" * 5_000, '"\\ud800"', '{"a": "x\\uDC00"}', b"\xff", b"\x00"]
)
def test_what_is_no_json_is_corrupt_data(text):
    with pytest.raises(CorruptData):
        parse_json(text)

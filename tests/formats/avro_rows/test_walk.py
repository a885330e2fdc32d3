"""Items are found where walking one by one finds them."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.formats.avro_rows.test_source import number, placed

from pyhudi.errors import CorruptData
from pyhudi.formats.avro_rows.source import Ints, Source, skip_lengths, skip_longs
from pyhudi.formats.avro_rows.walk import Stride, find_items


@dataclass
class Skipper:
    kind: str

    def skip(self, source: Source, at: Ints) -> Ints:
        return skip_longs(source, at) if self.kind == "long" else skip_lengths(source, at)


def by_hand(items: list[list[bytes]]) -> tuple[list[int], list[int]]:
    starts, after, place = [], [], 0
    for block in items:
        for item in block:
            starts.append(place)
            place += len(item)
        after.append(place)
    return starts, after


def found(items: list[list[bytes]], kind: str, stride: Stride) -> tuple[list[int], list[int]]:
    source, at = placed([b"".join(block) for block in items])
    counts = np.array([len(block) for block in items])
    starts, after = find_items(source, Skipper(kind), stride, at, counts)
    return starts.tolist(), after.tolist()


texts = st.binary(max_size=70).map(lambda text: number(len(text)) + text)
longs = st.integers(-(2**63), 2**63 - 1).map(number) | st.integers(-70, 70).map(number)


@given(st.lists(st.lists(texts, min_size=1, max_size=6), min_size=1, max_size=6))
def test_items_of_any_size_are_walked(items):
    assert found(items, "string", Stride(None, None)) == by_hand(items)


@given(st.lists(st.lists(longs, min_size=1, max_size=6), min_size=1, max_size=6))
def test_numbers_are_found_without_walking(items):
    assert found(items, "long", Stride(None, 1)) == by_hand(items) == found(items, "long", Stride(None, None))


def test_pairs_of_numbers_are_found_as_pairs():
    items = [[number(1) + number(10**6), number(300) + number(2)], [number(5) + number(6)]]
    assert found(items, "long", Stride(None, 2)) == by_hand(items)


def test_items_of_one_size_are_counted_out():
    items = [[bytes(4)] * 3, [bytes(4)]]
    assert found(items, "long", Stride(4, None)) == by_hand(items)


@pytest.mark.parametrize("stride", [Stride(4, None), Stride(None, 1), Stride(None, None)])
def test_more_items_than_bytes_are_refused(stride):
    source, at = placed([bytes(8)])
    with pytest.raises(CorruptData):
        find_items(source, Skipper("long"), stride, at, np.array([9]))


def test_numbers_that_do_not_end_are_refused():
    source, at = placed([b"\xff" * 8])
    with pytest.raises(CorruptData):
        find_items(source, Skipper("long"), Stride(None, 1), at, np.array([3]))

"""Rows on disk by shares of their keys: what was added comes back, of every type."""

from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.filegroup.spilled import SpilledChanges, SpilledRows, share_numbers
from pyhudi.hashing import java_hash
from pyhudi.kernels.changes import RowChanges
from pyhudi.storage.spill import SpillFile


@pytest.fixture
def file():
    with closing(SpillFile()) as opened:
        yield opened


def rows_of(count, first=0):
    rows = range(first, first + count)
    return pa.table(
        {
            "id": pa.array([f"k{row}" for row in rows], pa.string()),
            "note": pa.array([None if row % 3 else f"note {row}" for row in rows], pa.string()),
            "amount": pa.array([Decimal(row) / 4 for row in rows], pa.decimal128(12, 2)),
            "at": pa.array([datetime(2024, 1, 1, tzinfo=UTC)] * count, pa.timestamp("us", "UTC")),
            "tags": pa.array([[str(row)] * (row % 3) for row in rows], pa.list_(pa.string())),
            "box": pa.array(
                [{"a": row, "b": None} for row in rows], pa.struct([("a", pa.int64()), ("b", pa.string())])
            ),
        }
    )


def test_the_rows_of_all_shares_are_those_that_were_added(file):
    spilled = SpilledRows(file, rows_of(0).schema, 5)
    for first in range(0, 400, 100):
        spilled.add(rows_of(100, first), rows_of(100, first)["id"], first)
    shares = [list(spilled.batches(number)) for number in range(5)]
    for number, share in enumerate(shares):
        assert [origin for origin, _ in share] == [0, 100, 200, 300]
        assert all((share_numbers(batch["id"], 5) == number).all() for _, batch in share)
        assert pa.Table.from_batches(spilled.gathered(number)) == pa.Table.from_batches([one for _, one in share])
    together = pa.Table.from_batches([batch for share in shares for _, batch in share])
    numbers = pa.compute.cast(pa.compute.utf8_slice_codeunits(together["id"], 1), pa.int64())
    assert together.take(pa.compute.sort_indices(numbers)) == rows_of(400)


def test_a_share_without_rows_is_empty(file):
    spilled = SpilledRows(file, rows_of(0).schema, 64)
    spilled.add(rows_of(1), rows_of(1)["id"])
    spilled.add(rows_of(0), rows_of(0)["id"])
    assert sorted(len(list(spilled.gathered(number))) for number in range(64)) == [0] * 63 + [1]


def test_changes_keep_what_they_say_of_their_rows(file):
    rows = rows_of(40)
    flags = np.arange(40) % 4 == 0
    first = RowChanges(keys=rows["id"], rows=rows, is_delete=flags, is_unordered=flags[::-1].copy(), columns=("note",))
    second = RowChanges(keys=rows["id"], rows=rows, is_delete=~flags, is_unordered=flags, is_by_key=True)
    spilled = SpilledChanges(file, rows.schema, 3)
    for number, one in enumerate((first, second)):
        spilled.add(one, number)
    for share in range(3):
        is_here = share_numbers(rows["id"], 3) == share
        for found, given in zip(spilled.share(share), (first, second), strict=True):
            wanted = given.filter(is_here)
            assert (found.keys, found.rows) == (wanted.keys, wanted.rows)
            assert (found.is_by_key, found.columns) == (wanted.is_by_key, wanted.columns)
            assert found.is_delete.tolist() == wanted.is_delete.tolist()
            assert found.is_unordered.tolist() == wanted.is_unordered.tolist()


def test_keys_of_one_hash_bucket_are_spread_over_the_shares():
    keys = pa.array([f"k{number}" for number in range(4000)])
    bucket = keys.filter(pa.array(java_hash(keys) % 8 == 3))
    counts = np.bincount(share_numbers(bucket, 4), minlength=4)
    assert counts.sum() == len(bucket)
    assert counts.min() > len(bucket) / 8

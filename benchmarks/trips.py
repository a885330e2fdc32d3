"""The data: taxi trips of 16 columns, seeded, in 10 cities of equal size. Start at `trips` and `changes`."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

CITIES = tuple(f"city-{number}" for number in range(10))
LOW_CARDINALITY = ("rider", "driver", "city", "payment")
"""Columns that a careful user would dictionary-code."""

SCHEMA = pa.schema(
    [
        ("uuid", pa.string()),
        ("ts", pa.int64()),
        ("rider", pa.string()),
        ("driver", pa.string()),
        ("fare", pa.float64()),
        ("city", pa.string()),
        ("begin_lat", pa.float64()),
        ("begin_lon", pa.float64()),
        ("end_lat", pa.float64()),
        ("end_lon", pa.float64()),
        ("distance", pa.float32()),
        ("passengers", pa.int32()),
        ("payment", pa.string()),
        ("day", pa.date32()),
        ("has_tip", pa.bool_()),
        ("note", pa.string()),
    ]
)

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_DASHES = (8, 13, 18, 23)


def trips(rows_count: int, seed: int = 1, cities: Sequence[str] = CITIES) -> pa.Table:
    """Make rows, as many for each city, city after city."""
    share = rows_count // len(cities)
    return pa.concat_tables([_of_city(share, seed, city) for city in cities]).combine_chunks()


def changes(base: pa.Table, updates_count: int, inserts_count: int, seed: int = 2) -> pa.Table:
    """Make rows that update as many random rows of `base`, with a later `ts`, and rows with new keys of its cities.

    Shape: rows of one city lie together, updates and inserts mixed.
    """
    random = np.random.default_rng(seed)
    parts = []
    cities = base.column("city").unique().to_pylist()
    for number, city in enumerate(cities):
        stored = base.filter(pa.compute.equal(base["city"], city)).select(["uuid"])
        some = random.choice(stored.num_rows, updates_count // len(cities), replace=False)
        fresh = _of_city(len(some) + inserts_count // len(cities), seed * 1000 + number, city)
        keys = pa.concat_arrays(
            [stored["uuid"].take(pa.array(np.sort(some))).combine_chunks(), fresh["uuid"].combine_chunks()[len(some) :]]
        )
        later = pa.array(fresh["ts"].to_numpy() + 10_000_000_000)
        fresh = fresh.set_column(0, "uuid", keys).set_column(1, "ts", later)
        parts.append(fresh.take(pa.array(random.permutation(fresh.num_rows))))
    return pa.concat_tables(parts).combine_chunks().cast(SCHEMA)


def _of_city(count: int, seed: int, city: str) -> pa.Table:
    random = np.random.default_rng([seed, *city.encode()])
    columns = [
        _uuids(random, count),
        pa.array(1_700_000_000_000 + np.sort(random.integers(0, 10_000_000, count))),
        _choice(random, "rider", 1000, count),
        _choice(random, "driver", 500, count),
        pa.array(np.round(random.gamma(2.0, 12.0, count), 2)),
        pa.array([city]).take(pa.array(np.zeros(count, np.int64))),
        *(pa.array(random.uniform(-90, 90, count)) for _ in range(4)),
        pa.array(random.gamma(2.0, 4.0, count).astype(np.float32)),
        pa.array(random.integers(1, 7, count, np.int32)),
        _choice(random, "payment", 4, count),
        pa.array(random.integers(19_000, 19_365, count, np.int32)).view(pa.date32()),
        pa.array(random.random(count) < 0.3),
        _text(_HEX[random.integers(0, 16, (count, 24))]),
    ]
    return pa.table(columns, schema=SCHEMA)


def _uuids(random: np.random.Generator, count: int) -> pa.Array:
    letters = _HEX[random.integers(0, 16, (count, 36))]
    letters[:, _DASHES] = ord("-")
    return _text(letters)


def _text(letters: np.ndarray) -> pa.Array:
    offsets = np.arange(len(letters) + 1, dtype=np.int32) * letters.shape[1]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(letters, np.uint8))]
    return pa.StringArray.from_buffers(len(letters), buffers[1], buffers[2])


def _choice(random: np.random.Generator, prefix: str, kinds: int, count: int) -> pa.Array:
    names = pa.array([f"{prefix}-{number:04d}" for number in range(kinds)])
    return names.take(pa.array(random.integers(0, kinds, count)))

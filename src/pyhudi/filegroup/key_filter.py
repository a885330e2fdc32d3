"""The bloom filter of a base file's record keys: which kind, how large, and what becomes of it when the file is merged.

Runs in tasks. A filter is made for the rows that its file has: one for the default of 60,000 keys takes 430 kB in
every footer. Start at `BloomSpec`; `NextFilter` is the filter of a file that is written anew.
"""

from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from pyhudi.formats.bloom import BloomFilter, BloomType, add, build
from pyhudi.formats.parquet import Footer, base_file_footer
from pyhudi.options import MOST, Settings, between, one_of, option

__all__ = ["BloomSpec", "NextFilter", "apart"]

BLOOM_TYPE: Final = option(
    "hoodie.bloom.index.filter.type", "DYNAMIC_V0", "Kind of bloom filter in base files.", parse=one_of(*BloomType)
)
BLOOM_ENTRIES: Final = option(
    "hoodie.index.bloom.num_entries",
    60_000,
    "Keys that a SIMPLE bloom filter is made for, and that one row of a dynamic one is made for at most: a file with"
    " fewer rows gets a smaller filter.",
    parse=between(1, MOST),
)
BLOOM_FPP: Final = option(
    "hoodie.index.bloom.fpp", 1e-9, "Rate of false positives a bloom filter is made for.", parse=between(1e-30, 0.99)
)
BLOOM_MAX_ENTRIES: Final = option(
    "hoodie.bloom.index.filter.dynamic.max.entries",
    100_000,
    "Keys at which a dynamic bloom filter stops growing.",
    parse=between(1, MOST),
)

_FEWEST: Final = 64
"""Keys that the smallest filter is made for, so that a file of few rows can grow a little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomSpec:
    """Which bloom filter new base files get."""

    type_code: str
    entries: int
    fpp: float
    max_entries: int

    @staticmethod
    def of(settings: Settings) -> "BloomSpec":
        """Read it from the options."""
        return BloomSpec(
            type_code=settings.get(BLOOM_TYPE),
            entries=settings.get(BLOOM_ENTRIES),
            fpp=settings.get(BLOOM_FPP),
            max_entries=settings.get(BLOOM_MAX_ENTRIES),
        )

    def build(self, keys: pa.Array | pa.ChunkedArray) -> BloomFilter:
        """Build a filter of keys; a dynamic one has room for a quarter more, and no more than the option says."""
        entries = self.entries
        if self.type_code == BloomType.DYNAMIC_V0:
            entries = min(entries, max(_FEWEST, len(keys) + len(keys) // 4))
        return build(keys, self.type_code, entries, self.fpp, self.max_entries)


@dataclass(slots=True)
class NextFilter:
    """The filter of a file group's next base file, from that of its present one.

    Adding the inserted keys is far cheaper than hashing all of them. But a small filter grows by rows of its own size,
    each of which every look-up asks: where it would overflow, a larger one is built of all keys.
    """

    spec: BloomSpec | None
    stored: BloomFilter | None
    is_replaceable: bool
    """The file has so few rows that all keys of the next one may be kept until it is written."""
    seen: list[pa.Array] = field(default_factory=list)

    @staticmethod
    def of(spec: BloomSpec | None, footer: Footer) -> "NextFilter":
        """Take the filter of the present base file from its footer."""
        stored = base_file_footer(footer.key_values).bloom()
        is_small = (
            spec is not None
            and stored is not None
            and stored.type_code is BloomType.DYNAMIC_V0
            and stored.entries < spec.entries
            and footer.rows_count <= spec.entries
        )
        return NextFilter(spec, stored, is_small)

    def see(self, keys: pa.Array) -> None:
        """Remember keys of the next base file, where they may be needed."""
        if self.is_replaceable:
            self.seen.append(apart(keys))

    def with_keys(self, inserted: pa.Array | pa.ChunkedArray) -> BloomFilter | None:
        """Return the filter once all keys were seen; `inserted` are those that the present file does not have."""
        if self.spec is None or self.stored is None or not len(inserted):
            return self.stored
        room = self.stored.entries - self.stored.active_count
        if self.is_replaceable and len(inserted) > room:
            return self.spec.build(pa.chunked_array(self.seen, pa.string()))
        return add(self.stored, inserted)


def apart(keys: pa.Array) -> pa.Array:
    """Copy keys, which may lie in one piece of memory with the rows: that would stay as long as they do."""
    return pa.concat_arrays([keys, keys.slice(0, 0)])

"""Writing an HFile from sorted keys and their values.

The index has one level, which every reader knows, while it is not large; above that leaves and, if need be,
intermediate levels, which Apache Hudi reads since 1.0.2 and HBase always has. Start at `write_hfile`.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import DuplicateKeys, InvalidInput
from pyhudi.formats.hfile.block import HFileBlockKind, HFileCodec, encode_block
from pyhudi.formats.hfile.entries import binary_lengths, encode_entries, entry_sizes, offsets_and_bytes
from pyhudi.formats.hfile.file_info import encode_file_info, standard_file_info
from pyhudi.formats.hfile.index import (
    BlockEntry,
    KeyForm,
    encode_leaf_index,
    encode_meta_index,
    encode_root_index,
    spelled_key,
)
from pyhudi.formats.hfile.trailer import Trailer, encode_trailer

__all__ = ["write_hfile"]

_Index: TypeAlias = npt.NDArray[np.int64]

_BLOCK_BYTES = 64 << 10
_INDEX_BYTES = 1 << 20
_RUN_BYTES = 16 << 20
_MAX_ENTRY_BYTES = 256 << 20
_MAX_KEY_BYTES = 0x7FFF
_INDEX_ENTRY_BYTES = 28
"""What an entry of the index takes beside the row, at most."""


def write_hfile(
    keys: pa.Array | pa.ChunkedArray,
    values: pa.Array | pa.ChunkedArray,
    *,
    file_info: Mapping[str, bytes] | None = None,
    meta_blocks: Mapping[str, bytes] | None = None,
    block_bytes: int = _BLOCK_BYTES,
    index_block_bytes: int = _INDEX_BYTES,
    codec: HFileCodec = HFileCodec.GZ,
    key_form: KeyForm = KeyForm.WHOLE,
    created_ms: int = 0,
) -> bytes:
    """Write a file of unique keys, sorted by unsigned bytes, with their values.

    What the format itself says in the file info is added to `file_info`. An entry longer than a block has a block of
    its own.

    Shape:  n keys and n values, strings or bytes -> a file. Values may be a dictionary's, and are spelled out a run
            of blocks at a time.
    Nulls:  refused.
    Units:  `block_bytes` before packing; an index beyond `index_block_bytes` gets another level.
    Cost:   0.9 us an entry of 100 bytes, nearly all of it packing.
    Raises: InvalidInput for keys that are not sorted or longer than 32,767 bytes, and for entries beyond 256 MiB;
            DuplicateKeys.
    Spec:   format/files 5.8.
    """
    if block_bytes <= 0 or index_block_bytes <= 0:
        raise InvalidInput(
            "a block has at least one byte", block_bytes=block_bytes, index_block_bytes=index_block_bytes
        )
    rows, content = _bytes(keys), _bytes(values)
    sizes = _checked_sizes(rows, content)
    out = _Out(codec)
    blocks = list(_data_blocks(out, rows, content, sizes, block_bytes))
    root, levels = _index_levels(out, blocks, index_block_bytes, key_form)
    places = [(name.encode(), *out.put(HFileBlockKind.META, value)) for name, value in (meta_blocks or {}).items()]
    load_on_open, _ = out.put(HFileBlockKind.ROOT_INDEX, encode_root_index(root, key_form))
    out.put(HFileBlockKind.ROOT_INDEX, encode_meta_index(places))
    info = dict(file_info or {}) | _standard_info(rows, content, key_form, created_ms)
    info_at, _ = out.put(HFileBlockKind.FILE_INFO, encode_file_info(info))
    trailer = Trailer(
        load_on_open=load_on_open,
        file_info=info_at,
        data_index_count=len(root),
        meta_index_count=len(places),
        entries=len(rows),
        levels=levels,
        first_block=blocks[0][1] if blocks else None,
        last_block=blocks[-1][1] if blocks else None,
        data_bytes=int(sizes.sum()),
        codec=codec,
    )
    return out.ended(encode_trailer(trailer))


class _Out:
    """The blocks written so far, in one buffer: joining them would take the memory of the file twice."""

    def __init__(self, codec: HFileCodec) -> None:
        self._content = BytesIO()
        self._codec = codec

    def put(self, kind: HFileBlockKind, payload: bytes | memoryview, previous: int = -1) -> tuple[int, int]:
        """Append a block: (where it begins, its bytes)."""
        begin = self._content.tell()
        return begin, self._content.write(encode_block(kind, payload, self._codec, previous))

    def ended(self, end: bytes) -> bytes:
        """Return the file, which ends so."""
        self._content.write(end)
        return self._content.getvalue()


def _data_blocks(out: _Out, rows: pa.Array, content: pa.Array, sizes: _Index, block_bytes: int) -> Iterator[BlockEntry]:
    """Write entries, block by block, some 16 MiB of them encoded at once."""
    previous = -1
    cuts = np.array(_cuts(sizes, block_bytes))
    runs = _cuts(np.diff(np.append(0, np.cumsum(sizes))[cuts]), _RUN_BYTES)
    for first, behind in pairwise(runs):
        bounds = cuts[first : behind + 1]
        begin, count = int(bounds[0]), int(bounds[-1] - bounds[0])
        keys, values = (_spelled(column.slice(begin, count)).cast(pa.binary()) for column in (rows, content))
        places, payloads = offsets_and_bytes(encode_entries(keys, values))
        edges = places[bounds - begin].tolist()
        for key, start, end in zip(_few(keys.take(pa.array(bounds[:-1] - begin))), edges, edges[1:], strict=False):
            previous, size = out.put(HFileBlockKind.DATA, payloads[start:end].data, previous)
            yield key, previous, size


def _few(values: pa.Array) -> list[bytes]:
    """Return the values of a short array."""
    places, content = offsets_and_bytes(values)
    bounds = places.tolist()
    return [content[start:end].tobytes() for start, end in pairwise(bounds)]


def _index_levels(
    out: _Out, blocks: Sequence[BlockEntry], most_bytes: int, form: KeyForm
) -> tuple[Sequence[BlockEntry], int]:
    """Write levels of the index until what is left fits into a root: (its entries, levels with the root)."""
    entries, kind, levels = blocks, HFileBlockKind.LEAF_INDEX, 1
    while len(entries) > 2 and sum(sizes := [len(row) + _INDEX_ENTRY_BYTES for row, _, _ in entries]) > most_bytes:
        cuts = _cuts(np.array(sizes, np.int64), most_bytes, least=2)
        groups = [entries[begin:end] for begin, end in pairwise(cuts)]
        entries = [(group[0][0], *out.put(kind, encode_leaf_index(group, form))) for group in groups]
        kind, levels = HFileBlockKind.INTERMEDIATE_INDEX, levels + 1
    return entries, levels


def _cuts(sizes: _Index, most_bytes: int, *, least: int = 1) -> list[int]:
    """Cut things into groups of at most so many bytes, but `least` things: the first of each, and the end."""
    ends = np.cumsum(sizes)
    cuts = [0]
    while cuts[-1] < len(ends):
        done = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        fitting = int(np.searchsorted(ends, done + most_bytes, side="right"))
        cuts.append(min(max(fitting, cuts[-1] + least), len(ends)))
    return cuts


def _standard_info(rows: pa.Array, content: pa.Array, form: KeyForm, created_ms: int) -> dict[str, bytes]:
    """Return what the format itself says; with whole keys as HBase does, which has no last key where there is none."""
    is_whole = form is KeyForm.WHOLE
    last = spelled_key(rows[-1].as_buffer().to_pybytes(), form) if len(rows) else None if is_whole else b""
    return standard_file_info(
        last_key=last,
        key_bytes=_average(rows) + (len(spelled_key(b"", form)) if is_whole and len(rows) else 0),
        value_bytes=_average(content),
        created_ms=created_ms,
    )


def _average(values: pa.Array) -> int:
    return int(_lengths(values).sum()) // max(len(values), 1)


def _lengths(values: pa.Array) -> _Index:
    """Return the bytes of each value.   Shape: n values, or a dictionary's -> n."""
    if pa.types.is_dictionary(values.type):
        lengths: _Index = binary_lengths(values.dictionary)[values.indices.to_numpy()]
        return lengths
    return binary_lengths(values)


def _spelled(values: pa.Array) -> pa.Array:
    """Return the values themselves."""
    return values.dictionary.take(values.indices) if pa.types.is_dictionary(values.type) else values


def _checked_sizes(rows: pa.Array, content: pa.Array) -> _Index:
    """Return the bytes that each entry takes, if keys rise and none is too long."""
    if len(rows) != len(content):
        raise InvalidInput("each key has one value", keys=len(rows), values=len(content))
    if len(rows) > 1 and pc.all(pc.less(rows[:-1], rows[1:])) == pa.scalar(False):
        if pc.any(pc.equal(rows[:-1], rows[1:])) == pa.scalar(True):
            raise DuplicateKeys("keys of an HFile are unique", keys=len(rows))
        raise InvalidInput("keys of an HFile are sorted by their bytes; sort them before", keys=len(rows))
    lengths = _lengths(rows)
    sizes = entry_sizes(lengths, _lengths(content))
    if len(rows) and lengths.max() > _MAX_KEY_BYTES:
        raise InvalidInput("a key of an HFile is too long", size_bytes=int(lengths.max()), limit=_MAX_KEY_BYTES)
    if len(rows) and sizes.max() > _MAX_ENTRY_BYTES:
        raise InvalidInput("an entry of an HFile is too long", size_bytes=int(sizes.max()), limit=_MAX_ENTRY_BYTES)
    return sizes


def _bytes(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one array of bytes."""
    try:
        if pa.types.is_dictionary(values.type):
            whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
            values = pa.DictionaryArray.from_arrays(whole.indices, whole.dictionary.cast(pa.binary()))
        elif isinstance(values, pa.ChunkedArray):
            values = values.cast(pa.large_binary()).combine_chunks()
        elif not pa.types.is_large_binary(values.type):
            values = values.cast(pa.large_binary() if pa.types.is_large_string(values.type) else pa.binary())
    except pa.ArrowException as error:
        raise InvalidInput("an HFile holds bytes or strings", type=str(values.type)) from error
    if values.null_count:
        raise InvalidInput("keys and values of an HFile are never null", nulls=values.null_count)
    return values

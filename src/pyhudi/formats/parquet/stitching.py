"""One parquet file of the row groups of others, whose column chunks are copied as they are.

No page is decoded. What a footer says of a chunk is moved along with it, and the page index too; columns that have one
value in the whole file are encoded anew. Start at `stitch`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.errors import CorruptData
from pyhudi.formats.parquet.assembly import AssemblingWriter, Chunk, Copied, footer_of
from pyhudi.formats.parquet.footer import Footer, damage_as_corrupt_data
from pyhudi.formats.parquet.thrift import Struct, decode
from pyhudi.formats.parquet.writer import ParquetOptions, writer_layout

__all__ = ["StitchedFile", "are_stitchable", "stitch"]

# Numbers of fields, as in parquet.thrift.
_FILE_SCHEMA, _FILE_GROUPS = 2, 4
_GROUP_CHUNKS, _GROUP_ROWS = 1, 3
_CHUNK_FILE, _CHUNK_OFFSET, _CHUNK_META, _CHUNK_CRYPTO, _CHUNK_SECRET = 1, 2, 3, 8, 9
_META_STORED_BYTES, _META_DATA_PAGE, _META_DICTIONARY = 7, 9, 11
_META_BLOOM: Final = (14, 15)
_OFFSETS_START, _OFFSETS_BYTES, _BOUNDS_START, _BOUNDS_BYTES = 4, 5, 6, 7
_ELEMENT_NAME, _ELEMENT_ID = 4, 9


@dataclass(frozen=True, slots=True, kw_only=True)
class StitchedFile:
    """A file that is copied from."""

    source: pa.NativeFile
    footer: Footer
    stored: Struct
    """The footer as the file has it."""

    @staticmethod
    def of(source: pa.NativeFile, footer: Footer) -> "StitchedFile":
        """Decode the whole footer.   Raises: CorruptData."""
        return StitchedFile(source=source, footer=footer, stored=decode(footer.statistics.data))

    @property
    def groups(self) -> list[Struct]:
        """Return the row groups."""
        found: list[Struct] = self.stored[_FILE_GROUPS].content
        return found

    def chunks(self, group: Struct) -> list[Struct]:
        """Return the column chunks of a row group."""
        found: list[Struct] = group[_GROUP_CHUNKS].content
        return found


def are_stitchable(files: Sequence[StitchedFile], schema: pa.Schema, *, least_bytes: int = 0) -> bool:
    """Return whether files have the columns of a schema as we store them, and row groups that are worth to be kept.

    These have `least_bytes` on average. Dates of an old calendar and INT96 timestamps are something that a footer says
    of its file as a whole, so such files are not copied.

    Raises: CorruptData for a footer that is none.
    """
    ours = _elements(_empty_footer(schema))
    with damage_as_corrupt_data():
        return all(_is_stitchable(one, ours, least_bytes) for one in files)


def stitch(
    sink: IO[bytes] | pa.NativeFile,
    files: Sequence[StitchedFile],
    schema: pa.Schema,
    *,
    constants: Mapping[str, str],
    options: ParquetOptions,
    footer: Callable[[], Mapping[str, str]],
) -> None:
    """Write one file of the row groups of others; `constants` are flat columns of text with one value in all rows.

    `footer` is asked for key values at the end.

    Shape:  files for which `are_stitchable` is true of the schema; before each constant there are flat columns only.
    Cost:   one row group in memory, nothing decoded.
    Raises: CorruptData where a chunk does not lie where the footer says.
    """
    layout = writer_layout(schema.empty_table(), replace(options, dictionary_columns=tuple(constants)))
    writer = AssemblingWriter(sink, schema, threads=1, **layout)
    at_leaf = {schema.names.index(name): text for name, text in constants.items()}
    for one in files:
        for group in one.groups:
            leaves = [at_leaf.get(at) or _copied(one.source, about) for at, about in enumerate(one.chunks(group))]
            writer.copy_row_group(group[_GROUP_ROWS].content, leaves)
    writer.add_key_value_metadata(dict(footer()))
    writer.close()


def _is_stitchable(file: StitchedFile, ours: list[Struct], least_bytes: int) -> bool:
    if file.footer.old_calendar is not None or file.footer.instants:
        return False
    chunks = [about for group in file.groups for about in file.chunks(group)]
    if any(not about.keys().isdisjoint({_CHUNK_FILE, _CHUNK_CRYPTO, _CHUNK_SECRET}) for about in chunks):
        return False
    stored_bytes = sum(_range(about)[1] for about in chunks)
    return _elements(file.stored) == ours and stored_bytes >= least_bytes * len(file.groups)


def _elements(footer: Struct) -> list[Struct]:
    """Return the schema; neither the name of its root nor the ids of fields matter."""
    root, *fields = footer[_FILE_SCHEMA].content
    without = [{**root, _ELEMENT_NAME: None}, *fields]
    return [{number: value for number, value in one.items() if number != _ELEMENT_ID} for one in without]


def _empty_footer(schema: pa.Schema) -> Struct:
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, **writer_layout(schema.empty_table(), ParquetOptions())):
        pass
    return footer_of(memoryview(sink.getvalue()))


def _range(about: Struct) -> tuple[int, int]:
    """Return where the pages of a chunk begin, and how many bytes they have."""
    meta = about[_CHUNK_META].content
    starts = [meta[number].content for number in (_META_DICTIONARY, _META_DATA_PAGE) if number in meta]
    # Old writers store 0 where there is no dictionary.
    return min(start for start in starts if start > 0), meta[_META_STORED_BYTES].content


def _copied(source: pa.NativeFile, about: Struct) -> Copied:
    start, size = _range(about)
    meta = {number: value for number, value in about[_CHUNK_META].content.items() if number not in _META_BLOOM}
    kept = {number: value for number, value in about.items() if number == _CHUNK_OFFSET}
    kept[_CHUNK_META] = about[_CHUNK_META]._replace(content=meta)
    offsets = _part(source, about, _OFFSETS_START, _OFFSETS_BYTES)
    bounds = _part(source, about, _BOUNDS_START, _BOUNDS_BYTES)
    chunk = Chunk(kept, decode(offsets) if offsets else None, bounds if offsets else b"")
    return Copied(_read(source, start, size), start, chunk)


def _part(source: pa.NativeFile, about: Struct, start: int, size: int) -> bytes:
    """Read a part of the page index; nothing where the file has none."""
    return _read(source, about[start].content, about[size].content) if start in about and size in about else b""


def _read(source: pa.NativeFile, start: int, size: int) -> bytes:
    if min(start, size) < 0 or start + size > source.size():
        raise CorruptData(
            "a column chunk does not lie where the footer of the parquet file says", start=start, size=size
        )
    source.seek(start)
    data: bytes = source.read(size)
    return data

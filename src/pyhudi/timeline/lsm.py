"""The history of layout 2 in storage: files of archived instants in levels, and the manifests that name them.

A file counts once a manifest names it, and a manifest once `_version_` has its number: what a crash leaves before that
no reader sees. A manifest whose files are all there is taken over by the next writer, so that no number is used twice.
All writing is done under the table lock. Start at `load_archived`, `append_history`.

Spec: format/timeline 3.10, 4.1.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.errors import CorruptData, FileMissing, InternalError, InvalidInput, PreconditionFailed, WriteConflict
from pyhudi.formats.parquet import Footer, ParquetOptions, iter_batches, read_footer, row_group_stats, write_base_file
from pyhudi.options import MOST, Settings, between, option
from pyhudi.schema.json_text import parse_json
from pyhudi.state.model import TableState
from pyhudi.storage.api import PutMode, check_path
from pyhudi.timeline.instant import InstantTime

__all__ = [
    "ARCHIVED",
    "HistoryFile",
    "Hold",
    "Manifest",
    "append_history",
    "compact_history",
    "load_archived",
    "read_history_columns",
    "read_manifest",
]

ARCHIVED: Final = pa.schema(
    [
        ("instantTime", pa.string()),
        ("completionTime", pa.string()),
        ("action", pa.string()),
        ("metadata", pa.binary()),
        ("plan", pa.binary()),
        pa.field("version", pa.int32(), nullable=False),
    ]
)
"""One row an archived instant: the bytes of its completed file, and of its plan where its action has one."""
BATCH_FILES: Final = option(
    "hoodie.timeline.compaction.batch.size",
    10,
    "So many files of one level of the archived timeline are made one file of the next level.",
    parse=between(2, MOST),
)
TARGET_BYTES: Final = option(
    "hoodie.timeline.compaction.target.file.max.bytes",
    1000 << 20,
    "Units: bytes. Files of the archived timeline are joined up to this size.",
    parse=between(1, 2**63 - 1),
)
RETAINED: Final = option(
    "hoodie.timeline.manifest.retained.versions",
    3,
    "So many manifests of the archived timeline are kept for its readers, with the files that they name.",
    parse=between(1, MOST),
)
_VERSION: Final = "_version_"
_MANIFEST: Final = "manifest_"
_MOST_DIGITS: Final = 18
_MANIFEST_NAME: Final = re.compile(_MANIFEST + r"([0-9]{1,18})")
_FILE_NAME: Final = re.compile(r"([0-9]+)_([0-9]+)_([0-9])\.parquet")
_ROW_GROUP_ROWS: Final = 1_000
_READS_AT_MOST: Final = 4
_NULLABLE: Final = [
    {"name": name, "type": ["null", {"type": "string", "avro.java.string": "String"}], "default": None}
    for name in ("instantTime", "completionTime", "action")
] + [{"name": name, "type": ["null", "bytes"], "default": None} for name in ("metadata", "plan")]
_AVRO: Final = {
    "type": "record",
    "name": "HoodieLSMTimelineInstant",
    "namespace": "org.apache.hudi.avro.model",
    "fields": [*_NULLABLE, {"name": "version", "type": "int", "default": 1}],
}
_KEY_VALUES: Final = {"writer.model.name": "avro", "parquet.avro.schema": json.dumps(_AVRO, separators=(",", ":"))}
_OPTIONS: Final = ParquetOptions(
    codec="gzip",
    level=6,
    row_group_rows=_ROW_GROUP_ROWS,
    dictionary_columns=("action",),
    statistics_columns=("instantTime", "completionTime", "action"),
)
Hold = Callable[[], None]
"""Raises where the table lock is not held any more."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class HistoryFile:
    """A file of the history: `<first>_<last>_<level>.parquet`. Units: bytes."""

    name: str
    size_bytes: int

    @property
    def level(self) -> int | None:
        """Return the level; None for a file with another name, which is never joined with others."""
        match = _FILE_NAME.fullmatch(self.name)
        return None if match is None else int(match[3])

    def may_hold(self, first: str | None, last: str | None) -> bool:
        """Return whether it may hold an instant requested from first to last; None is no bound.

        An upgrade from version 6 writes rows in no order, and names the file by its first and its last row.
        """
        match = _FILE_NAME.fullmatch(self.name)
        if match is None or match[1] > match[2]:
            return True
        return (last is None or match[1] <= last) and (first is None or match[2] >= first)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The files of the history as of one version; version 0 is before the first."""

    version: int
    files: tuple[HistoryFile, ...]


def read_manifest(state: TableState) -> Manifest:
    """Read the manifest in force: the one that `_version_` names, else the newest.

    Cost:   two small reads; a listing while the version is being replaced.
    Raises: CorruptData naming the file.
    """
    path = _path(state, _VERSION)
    try:
        version = state.storage.get(path).strip()
    except FileMissing:
        return _manifest(state, max(_versions(state.storage.list_names(state.layout.history_path)), default=0))
    if not version.isdigit() or len(version) > _MOST_DIGITS:
        raise CorruptData("the history's version is no number", path=path)
    return _manifest(state, int(version))


def load_archived(
    state: TableState, columns: Sequence[str], *, first: InstantTime | None = None, last: InstantTime | None = None
) -> pa.Table:
    """Load archived instants that were requested from first to last, sorted by requested time and action.

    An instant that was archived twice comes once, with its latest completion.

    Shape:  these columns of ARCHIVED.
    Cost:   two small reads; of each file whose name says that it may hold such instants the footer, and the columns of
            the row groups that may.
    Raises: CorruptData naming the file.
    """
    wanted = list(dict.fromkeys(("instantTime", "action", "completionTime", *columns)))
    for _ in range(_READS_AT_MOST):
        files = sorted(one for one in read_manifest(state).files if one.may_hold(first, last))
        try:
            batches = [
                batch for one in files for batch in _in_range(state, _path(state, one.name), wanted, (first, last))
            ]
        except FileMissing as error:  # joined into others, and taken away since the manifest was read
            missing = error
            continue
        schema = pa.schema([ARCHIVED.field(name) for name in wanted])
        return _once(pa.Table.from_batches(batches, schema)).select(list(columns))
    raise CorruptData("a file of the history is missing; restore it", path=missing.values.get("path")) from missing


def read_history_columns(state: TableState, path: str, *names: str) -> list[pa.RecordBatch]:
    """Read columns of one file of the history.   Raises: CorruptData naming it."""
    return list(_batches(state, path, names))


def append_history(state: TableState, rows: pa.Table, hold: Hold) -> None:
    """Add archived instants to the history, those that it has not.

    Shape:  ARCHIVED.
    Cost:   the names of the instants in files of the same range; three puts, and a listing.
    Locks:  the table lock is held; `hold` is called right before each put that readers may see.
    Raises: WriteConflict where another process archived meanwhile.
    """
    manifest, names = _newest(state)
    rows = _once(_without(rows, state, manifest))
    if not rows.num_rows:
        _point(state, manifest.version, hold)
        return
    times = rows.column("instantTime")
    file = _write(state, f"{times[0].as_py()}_{times[-1].as_py()}_0.parquet", rows.to_batches(), manifest)
    _publish(state, Manifest(version=manifest.version + 1, files=(*manifest.files, file)), names, hold)


def compact_history(state: TableState, settings: Settings, hold: Hold) -> None:
    """Join small files of the history level by level, then delete old manifests, and files that no kept one names.

    Cost:   a listing; where a level is full, its files are read and written once.
    Locks:  as `append_history`.
    Raises: WriteConflict where another process archived meanwhile.
    """
    level = 0
    manifest, names = _newest(state)
    while joined := _to_join(manifest, level, settings):
        file = _write(state, _joined_name(state, joined, level + 1), _rows_of(state, joined), manifest)
        left = tuple(one for one in manifest.files if one not in joined)
        manifest = Manifest(version=manifest.version + 1, files=(*left, file))
        _publish(state, manifest, names, hold)
        level += 1
    _clean(state, settings.get(RETAINED) + level, hold)


def _path(state: TableState, name: str) -> str:
    return f"{state.layout.history_path}/{name}"


def _versions(names: Iterable[str]) -> list[int]:
    return [int(match[1]) for name in names if (match := _MANIFEST_NAME.fullmatch(name))]


def _manifest(state: TableState, version: int) -> Manifest:
    if not version:
        return Manifest(version=0, files=())
    path = _path(state, f"{_MANIFEST}{version}")
    try:
        said = parse_json(state.storage.get(path))["files"]
        files = [HistoryFile(name=check_path(one["fileName"]), size_bytes=int(one["fileLen"])) for one in said]
    except (CorruptData, InvalidInput, KeyError, TypeError, ValueError) as error:
        raise CorruptData("this is not a manifest of the history", path=path) from error
    return Manifest(version=version, files=tuple(files))


def _newest(state: TableState) -> tuple[Manifest, frozenset[str]]:
    """Return the manifest that a writer goes on from, and the names in the directory.

    A newer one than readers see was left by a writer that crashed, or whose lock ended, before it changed the version.
    It counts if all its files are there, else it is written over.
    """
    names = frozenset(state.storage.list_names(state.layout.history_path))
    seen = read_manifest(state)
    for version in sorted((one for one in _versions(names) if one > seen.version), reverse=True):
        try:
            left = _manifest(state, version)
        except CorruptData:
            continue
        if all(one.name in names for one in left.files):
            return left, names
    return seen, names


def _publish(state: TableState, manifest: Manifest, names: frozenset[str], hold: Hold) -> None:
    name = f"{_MANIFEST}{manifest.version}"
    hold()
    try:
        state.storage.put(_path(state, name), _encode(manifest), PutMode.OVERWRITE if name in names else PutMode.CREATE)
    except PreconditionFailed as error:
        raise WriteConflict("another process archives this table at the same time; try again", path=name) from error
    _point(state, manifest.version, hold)


def _point(state: TableState, version: int, hold: Hold) -> None:
    hold()
    if version:
        state.storage.put(_path(state, _VERSION), str(version).encode())


def _encode(manifest: Manifest) -> bytes:
    """Format a manifest as Jackson's pretty printer does."""
    named = [(json.dumps(one.name), one.size_bytes) for one in manifest.files]
    entries = ", ".join(f'{{\n    "fileName" : {name},\n    "fileLen" : {size}\n  }}' for name, size in named)
    return f'{{\n  "files" : [ {entries} ]\n}}'.encode()


def _write(state: TableState, name: str, batches: Iterable[pa.RecordBatch], manifest: Manifest) -> HistoryFile:
    """Write a file that no manifest names yet; one of this name is what a crash left."""
    if any(one.name == name for one in manifest.files):
        raise InternalError("a file of the history is written over", file=name)
    with state.storage.open_output(_path(state, name)) as sink:
        write_base_file(sink, batches, ARCHIVED, _OPTIONS, lambda: _KEY_VALUES)
    return HistoryFile(name=name, size_bytes=state.storage.head(_path(state, name)).size_bytes)


def _without(rows: pa.Table, state: TableState, manifest: Manifest) -> pa.Table:
    """Leave out the instants that the history has: they were archived when a crash kept them from being deleted."""
    times = pc.min_max(rows.column("instantTime")).as_py()
    bounds = InstantTime(times["min"]), InstantTime(times["max"])
    files = [_path(state, one.name) for one in manifest.files if one.may_hold(*bounds)] if rows.num_rows else []
    known = [_keys(batch) for path in files for batch in _in_range(state, path, ("instantTime", "action"), bounds)]
    if not known:
        return rows
    return rows.filter(pc.invert(pc.is_in(_keys(rows), pa.chunked_array(known, pa.string()).combine_chunks())))


def _keys(rows: pa.Table | pa.RecordBatch) -> pa.Array:
    return pc.binary_join_element_wise(rows.column("instantTime"), rows.column("action"), ".")


def _once(rows: pa.Table) -> pa.Table:
    """Sort instants, and keep one row of each with its latest completion."""
    times = rows.column("instantTime").combine_chunks() if rows.num_rows else pa.array([], pa.string())
    if len(times) < 2 or pc.all(pc.less(times.slice(0, len(times) - 1), times.slice(1))).as_py():
        return rows
    order = [("instantTime", "ascending"), ("action", "ascending"), ("completionTime", "ascending")]
    rows = rows.take(pc.sort_indices(rows, order))
    keys = _keys(rows).combine_chunks()
    is_last = pc.not_equal(keys.slice(0, len(keys) - 1), keys.slice(1))
    return rows.filter(pa.concat_arrays([is_last, pa.array([True])]))


def _to_join(manifest: Manifest, level: int, settings: Settings) -> list[HistoryFile]:
    """Choose the oldest files of a full level, up to the size that is aimed at; none if these are fewer than two."""
    files = sorted(one for one in manifest.files if one.level == level)
    if len(files) < settings.get(BATCH_FILES) or level == 9:  # names have one digit for it
        return []
    chosen: list[HistoryFile] = []
    for one in files[: settings.get(BATCH_FILES)]:
        chosen.append(one)
        if sum(file.size_bytes for file in chosen) > settings.get(TARGET_BYTES):
            if len(chosen) > 1:
                break
            chosen.clear()
    return chosen if len(chosen) > 1 else []


def _joined_name(state: TableState, files: Sequence[HistoryFile], level: int) -> str:
    batches = [batch for one in files for batch in _batches(state, _path(state, one.name), ("instantTime",))]
    bounds = pc.min_max(pa.Table.from_batches(batches).column("instantTime")).as_py()
    return f"{bounds['min']}_{bounds['max']}_{level}.parquet"


def _rows_of(state: TableState, files: Sequence[HistoryFile]) -> Iterator[pa.RecordBatch]:
    for one in files:
        for batch in _batches(state, _path(state, one.name), ARCHIVED.names):
            yield batch.select(ARCHIVED.names).cast(ARCHIVED)


def _clean(state: TableState, retained: int, hold: Hold) -> None:
    """Delete all manifests but the newest, then the files that none of these names."""
    names = state.storage.list_names(state.layout.history_path)
    versions = sorted(_versions(names), reverse=True)
    if len(versions) <= retained:
        return
    kept: set[str] = set()
    for version in versions[:retained]:
        with suppress(CorruptData):  # a crash left it
            kept.update(one.name for one in _manifest(state, version).files)
    hold()
    for version in reversed(versions[retained:]):
        state.storage.delete(_path(state, f"{_MANIFEST}{version}"))
    for name in names:
        if name.endswith(".parquet") and name not in kept:
            state.storage.delete(_path(state, name))


def _in_range(
    state: TableState, path: str, names: Sequence[str], bounds: tuple[str | None, str | None]
) -> Iterator[pa.RecordBatch]:
    first, last = bounds
    for batch in _batches(state, path, names, bounds):
        times = batch.column("instantTime")
        if first is not None:
            batch = batch.filter(pc.greater_equal(times, first))  # noqa: PLW2901 - one batch, step by step
        if last is not None:
            batch = batch.filter(pc.less_equal(batch.column("instantTime"), last))  # noqa: PLW2901 - as above
        yield batch


def _batches(
    state: TableState, path: str, names: Sequence[str], bounds: tuple[str | None, str | None] = (None, None)
) -> Iterator[pa.RecordBatch]:
    try:
        with state.storage.open_input(path) as source:
            footer = read_footer(source)
            groups = None if bounds == (None, None) else _groups_in_range(footer, bounds)
            for batch in iter_batches(source, names, footer=footer, row_groups=groups):
                yield _checked(batch, names)
    except CorruptData as error:
        raise type(error)(error.message, **{**error.values, "path": path}) from error


def _groups_in_range(footer: Footer, bounds: tuple[str | None, str | None]) -> list[int]:
    """Return the row groups that may hold instants requested from first to last."""
    first, last = bounds
    return [
        at
        for at, known in enumerate(row_group_stats(footer, "instantTime"))
        if (last is None or known.least is None or known.least <= last)
        and (first is None or known.greatest is None or known.greatest >= first)
    ]


def _checked(batch: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    found = dict(zip(batch.schema.names, batch.schema.types, strict=True))
    if any(found.get(name) != ARCHIVED.field(name).type for name in names):
        raise CorruptData("this is no file of the history", columns=batch.schema.names)
    return batch.select(list(names))

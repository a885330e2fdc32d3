"""A storage's files as a file system of Arrow, to read from.

Start at `arrow_file_system`.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

import pyarrow as pa
from pyarrow import fs

from pyhudi.errors import FileMissing, Unsupported
from pyhudi.storage.api import Storage

__all__ = ["arrow_file_system"]


def arrow_file_system(storage: Storage) -> fs.PyFileSystem:
    """Return a file system that opens the storage's files by their paths below the base path, and changes nothing."""
    return fs.PyFileSystem(_Files(storage))


class _Files(fs.FileSystemHandler):  # type: ignore[misc]  # pyarrow has no types
    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Files) and other._storage is self._storage

    def __hash__(self) -> int:
        return hash(id(self._storage))

    def get_type_name(self) -> str:
        return "pyhudi"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[fs.FileInfo]:
        return [self._info(path) for path in paths]

    def open_input_file(self, path: str) -> pa.NativeFile:
        return self._storage.open_input(path)

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self._storage.open_input(path)

    def _info(self, path: str) -> fs.FileInfo:
        try:
            return fs.FileInfo(path, fs.FileType.File, size=self._storage.head(path).size_bytes)
        except FileMissing:
            return fs.FileInfo(path, fs.FileType.NotFound)

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ANN401 - whatever Arrow passes
        raise Unsupported("this file system only opens files", table=self._storage.url)

    get_file_info_selector = create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse

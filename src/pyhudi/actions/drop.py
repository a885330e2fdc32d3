"""Delete a table with all that it has. Start at `drop_files`."""

from contextlib import suppress
from typing import Final

from pyhudi.errors import PermissionDenied
from pyhudi.storage.api import Storage

__all__ = ["drop_files"]

_META: Final = ".hoodie"


def drop_files(storage: Storage) -> None:
    """Delete the table: data before `.hoodie`, since data that outlive their timeline would show in a new table.

    A drop that dies is done again: the table is there until its last file. The directory goes as well, unless another
    process has put something there meanwhile, or this one may not remove it.
    """
    top = storage.list_directory("")
    for directory in top.directories:
        if directory != _META:
            storage.delete_tree(directory)
    for file in top.files:
        storage.delete(file.path)
    storage.delete_tree(_META)
    left = storage.list_directory("")
    if not (left.files or left.directories):
        with suppress(PermissionDenied):
            storage.delete_tree("")

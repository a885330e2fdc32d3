"""The one path that a reader or writer is given: as argument, or as the option `path`."""

from pyhudi.errors import InvalidInput

__all__ = ["base_path"]


def base_path(given: object, said: object) -> str:
    """Return the table's base path: the argument, else the option; a list may have one.   Raises: InvalidInput."""
    paths = list(given) if isinstance(given, list | tuple) else [given or said]
    if len(paths) != 1 or not isinstance(paths[0], str):
        raise InvalidInput("give one path: the table's base path", path=given or said)
    if "*" in paths[0]:
        raise InvalidInput("give the table's base path, without wildcards", path=paths[0])
    return paths[0]

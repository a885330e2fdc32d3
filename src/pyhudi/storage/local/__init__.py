"""Local disk: `store` for what a table asks of it, `publish` for files on their way, `posix` for the system calls."""

from pyhudi.storage.local.store import LocalStorage

__all__ = ["LocalStorage"]

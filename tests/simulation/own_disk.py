"""A file system of our own that is small enough to be filled: a tmpfs that only one process and its children see.

Needs Linux, and either the right to mount or user namespaces. Start at `on_own_disk`.
"""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

SPACES = (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"])
"""With the right to mount, and without."""
PAGE = 4096
MOUNT = 'mount -t tmpfs -o "$0" pyhudi "$1" && shift && exec "$@"'


def on_own_disk(command, folder, size_mb, most_names=0):
    """Return a command that mounts a disk at a folder and becomes the one given; and why there is none, or ""."""
    options = f"size={size_mb}m,mode=0777" + (f",nr_inodes={most_names}" if most_names else "")
    reasons = []
    for space in SPACES:
        wrapped = [*space, "sh", "-c", MOUNT, options, str(folder)]
        try:
            tried = subprocess.run([*wrapped, "true"], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return [], "there is no unshare"
        if tried.returncode == 0:
            return [*wrapped, *command], ""
        reasons.append(tried.stderr.strip())
    return [], "; ".join(reasons)


class Ballast:
    """What takes the room that a disk has left, or the names."""

    def __init__(self, folder):
        self._folder = Path(folder, "ballast")
        self._folder.mkdir(exist_ok=True)

    def fill(self, free_pages=0):
        """Leave this many pages, as far as others do not take or free some meanwhile."""
        with Path(self._folder, "room").open("ab") as file:
            while (size := self._free() - free_pages * PAGE) > 0:
                with suppress(OSError):  # another process was faster: less is left
                    os.posix_fallocate(file.fileno(), file.tell(), size)
                    return

    def _free(self):
        left = os.statvfs(self._folder)
        return left.f_bavail * left.f_bsize

    def take_names(self, free_names=0):
        """Leave this many names for files."""
        for number in range(os.statvfs(self._folder).f_ffree - free_names):
            Path(self._folder, f"{number}").touch()

    def drop(self):
        """Free everything."""
        for file in self._folder.iterdir():
            file.unlink()

"""A disk that forgets what was not synced when the power goes: the real local store, on a real directory, watched.

The system calls of `storage.local` pass through and are remembered. What was written but not synced may be lost:
a file's bytes, a name in a directory, a directory. Removed names come back only until the next sync of anything, which
is what journaling file systems promise. Inodes are used
again as soon as they are free, and the times of files are coarse. Start at `PoweredOs` and `Disk.states`.
"""

import os
import stat
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from tests.faulty import SimulatedCrash
from tests.fixed_env import FixedEnv
from tests.simulation.world import World

from pyhudi.storage import sinks
from pyhudi.storage.local import posix, publish, store
from pyhudi.storage.memory import MemoryStorage

TEMPORARY = ".hoodie/.tmp/"
"""No reader looks at what lies there."""
CHANGES_AT_ONCE = 8
"""So many changes in a row have the same time."""


class Node:
    """A file's bytes, and how many of them are safe."""

    def __init__(self, data=b""):
        self.data = bytearray(data)
        self.safe_bytes = len(data)


class Names:
    """Which file has which name, and which directories there are."""

    def __init__(self, nodes=(), directories=()):
        self.nodes = dict(nodes)
        self.directories = set(directories)

    def copy(self):
        return Names(self.nodes, self.directories)

    def change(self, what, path, node=None):
        """Apply one change."""
        if what == "name":
            self.nodes[path] = node
        elif what == "directory":
            self.directories.add(path)
        else:
            self.nodes.pop(path, None)
            self.directories.discard(path)

    def files(self, *, only_safe):
        """Return path to bytes of what can be reached; each file whole, or as far as it was synced."""
        return {
            path: bytes(node.data[: node.safe_bytes] if only_safe else node.data)
            for path, node in self.nodes.items()
            if TEMPORARY not in path and self.directories.issuperset(_above(path))
        }


class Disk:
    """What is on a disk, and what of it is safe."""

    def __init__(self, files):
        self.now = Names(
            {path: Node(data) for path, data in files.items()}, {up for path in files for up in _above(path)}
        )
        self.now.directories.update(_above(TEMPORARY))
        self.safe = self.now.copy()
        self._pending = []
        self._inodes = {path: number for number, path in enumerate(["", *sorted(self.now.directories)])}
        self._changed = {}
        self._changes = 0

    def change(self, *change):
        """Change a name: at once for all that look, and for good when its directory is synced."""
        self.now.change(*change)
        self._pending.append(change)
        what, path = change[:2]
        self.touch(path, path.rpartition("/")[0])
        if what == "directory":
            self._inodes[path] = min(set(range(len(self._inodes) + 1)) - set(self._inodes.values()))
        elif what == "gone":
            self._inodes.pop(path, None)

    def touch(self, *paths):
        """Let files or directories have changed now."""
        self._changes += 1
        self._changed |= dict.fromkeys(paths, self._changes // CHANGES_AT_ONCE + 1)

    def described(self, path, found):
        """Return what the system says of a file or directory, with the inode and time that it has here."""
        inode = self._inodes.get(path, found.st_ino)
        fields = [inode if field == stat.ST_INO else value for field, value in enumerate(found)]
        return os.stat_result(fields, {"st_mtime_ns": found.st_mtime_ns, "st_ctime_ns": self._changed.get(path, 0)})

    def sync(self, path):
        """Make a file's bytes or a directory's names safe."""
        if path in self.now.nodes:
            node = self.now.nodes[path]
            node.safe_bytes = len(node.data)
        kept = []
        for change in self._pending:
            if change[0] == "gone" or change[1].rpartition("/")[0] == path:
                self.safe.change(*change)
            else:
                kept.append(change)
        self._pending = kept

    def states(self):
        """Yield what may be found when the power goes now: everything, what is safe, or all but one change."""
        yield self.now.files(only_safe=False)
        yield self.now.files(only_safe=True)
        for lost in [None, *self._pending]:
            names = self.safe.copy()
            for change in self._pending if lost else ():
                if change is not lost:
                    names.change(*change)
            yield names.files(only_safe=lost is None)


class PoweredOs:
    """The operating system, as one writer's process sees it: every change is told to a disk.

    `watch` is called before every change; `unsynced` names what a bad writer never syncs; `dies_at` is the directory
    that a writer makes and then dies.
    """

    def __init__(self, root, disk, watch=lambda: None, *, unsynced="", dies_at=None):
        self._root, self._disk, self._watch = root, disk, watch
        self._unsynced, self._dies_at = unsynced, dies_at
        self._paths = {}
        self._is_dead = False

    def __getattr__(self, name):
        return getattr(os, name)

    @contextmanager
    def at_work(self):
        """Let the local store use this one."""
        with ExitStack() as stack:
            for module in (store, publish, posix, sinks):
                stack.enter_context(patch.object(module, "os", self))
            yield

    def open(self, name, flags, mode=0o777, *, dir_fd=None):
        path = self._path(name, dir_fd)
        is_new = bool(flags & os.O_CREAT) and path not in self._disk.now.nodes
        if is_new:
            self._step()
        fd = os.open(name, flags, mode, dir_fd=dir_fd)
        self._paths[fd] = path
        if is_new:
            self._disk.change("name", path, Node())
        return fd

    def close(self, fd):
        self._paths.pop(fd, None)
        os.close(fd)

    def write(self, fd, data):
        self._step()
        written = os.write(fd, data)
        self._disk.now.nodes[self._paths[fd]].data += bytes(data[:written])
        self._disk.touch(self._paths[fd])
        return written

    def fstat(self, fd):
        return self._disk.described(self._paths[fd], os.fstat(fd))

    def stat(self, name, *, dir_fd=None, follow_symlinks=True):
        found = os.stat(name, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        return self._disk.described(self._path(name, dir_fd), found)

    def fsync(self, fd):
        kind = "directory" if stat.S_ISDIR(os.fstat(fd).st_mode) else "file"
        if kind != self._unsynced:
            self._step()
            self._disk.sync(self._paths[fd])

    def mkdir(self, name, *, dir_fd):
        self._step()
        os.mkdir(name, dir_fd=dir_fd)
        path = self._path(name, dir_fd)
        self._disk.change("directory", path)
        self._is_dead = path == self._dies_at
        self._step()

    def link(self, source, target, *, src_dir_fd, dst_dir_fd, follow_symlinks):
        self._step()
        os.link(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=follow_symlinks)
        self._disk.change("name", self._path(target, dst_dir_fd), self._disk.now.nodes[self._path(source, src_dir_fd)])

    def rename(self, source, target, *, src_dir_fd, dst_dir_fd):
        self._step()
        os.rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        old = self._path(source, src_dir_fd)
        self._disk.change("name", self._path(target, dst_dir_fd), self._disk.now.nodes[old])
        self._disk.change("gone", old)

    def unlink(self, name, *, dir_fd):
        self._step()
        os.unlink(name, dir_fd=dir_fd)
        self._disk.change("gone", self._path(name, dir_fd))

    def rmdir(self, name, *, dir_fd):
        self._step()
        os.rmdir(name, dir_fd=dir_fd)
        self._disk.change("gone", self._path(name, dir_fd))

    def _step(self):
        if self._is_dead:
            raise SimulatedCrash
        self._watch()

    def _path(self, name, dir_fd):
        """Return a path below the table; empty for the table itself."""
        if dir_fd is None:
            return os.path.relpath(name, self._root) if name != self._root else ""
        above = self._paths[dir_fd]
        return f"{above}/{name}" if above else name


def world_of(files, env):
    """Make a world of what a disk gave back."""
    storage = MemoryStorage("memory://world", env)
    for path, data in files.items():
        storage.put(path, data)
    return World(storage, FixedEnv(env._now_ms, seed=env._now_ms))


def _above(path):
    """Return every directory above a path."""
    parts = path.split("/")[:-1]
    return {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}

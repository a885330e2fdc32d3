"""This process: its name, for people that find what it holds, what it has once, and what it keeps.

Start at `process_name`.
"""

import os
import socket
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cache
from typing import Generic, TypeVar

__all__ = ["RecentlyUsed", "once_a_process", "process_name"]

Made = TypeVar("Made")
Key = TypeVar("Key", bound=Hashable)


def process_name() -> str:
    """Return this process's name: `host/pid`."""
    return f"{socket.gethostname()}/{os.getpid()}"


def once_a_process(make: Callable[[], Made]) -> Callable[[], Made]:
    """Return a function that makes a thing the first time, and once more in a forked child: a fork takes no threads."""
    made = cache(make)
    os.register_at_fork(after_in_child=made.cache_clear)
    return made


class RecentlyUsed(Generic[Key, Made]):
    """Values of this process that never change, the ones used last: as many as a bound on their weights leaves.

    One value that alone would displace many is not kept. A forked child begins with none: a thread of the parent may
    have been at them as it was made.
    """

    def __init__(self, most: int) -> None:
        """Keep nothing yet; `most` is the sum of the weights."""
        self._most = most
        self._begin()
        this = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: None if (found := this()) is None else found._begin())

    def _begin(self) -> None:
        self._weight = 0
        self._kept: OrderedDict[Key, tuple[Made, int]] = OrderedDict()
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Keep nothing any more."""
        with self._lock:
            self._weight = 0
            self._kept.clear()

    def get(self, key: Key) -> Made | None:
        """Return a value that is kept, or None."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def add(self, key: Key, value: Made, weight: int = 1) -> Made:
        """Keep a value, and return it."""
        if weight > max(1, self._most // 4):
            return value
        with self._lock:
            _, former = self._kept.pop(key, (None, 0))
            self._kept[key] = value, weight
            self._weight += weight - former
            while self._weight > self._most:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._weight -= dropped
        return value

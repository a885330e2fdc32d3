"""This process: its name, for people that find what it holds, and what it has once. Start at `process_name`."""

import os
import socket
from collections.abc import Callable
from functools import cache
from typing import TypeVar

__all__ = ["once_a_process", "process_name"]

Made = TypeVar("Made")


def process_name() -> str:
    """Return this process's name: `host/pid`."""
    return f"{socket.gethostname()}/{os.getpid()}"


def once_a_process(make: Callable[[], Made]) -> Callable[[], Made]:
    """Return a function that makes a thing the first time, and once more in a forked child: a fork takes no threads."""
    made = cache(make)
    os.register_at_fork(after_in_child=made.cache_clear)
    return made

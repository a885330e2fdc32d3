"""The name of this process, for people that find what it holds. Start at `process_name`."""

import os
import socket

__all__ = ["process_name"]


def process_name() -> str:
    """Return this process's name: `host/pid`."""
    return f"{socket.gethostname()}/{os.getpid()}"

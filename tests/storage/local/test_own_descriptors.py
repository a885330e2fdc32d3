"""Locks are this process's own: a forked child neither keeps them nor lets them go."""

import subprocess
import sys
from contextlib import contextmanager

import pytest

from pyhudi.errors import LockNotAcquired
from pyhudi.storage.local import LocalStorage

FORK_WHILE_HOLDING = """
import os, sys
from pyhudi.storage.local import LocalStorage

root, who_stays = sys.argv[1:]
with LocalStorage(root).guard("lock", 0):
    child = os.fork()
    if child and who_stays == "parent":
        os.waitpid(child, 0)
    if bool(child) == (who_stays == "parent"):
        print(child, flush=True)
        sys.stdin.read()
    elif child:
        os._exit(0)
"""
"""Which goes first: a child that leaves the block as its parent would, or a parent that is gone at once."""


@contextmanager
def holding(root, who_stays):
    """Run a process that takes a lock and forks, of which one side is gone and the other stays until it is told."""
    command = [sys.executable, "-c", FORK_WHILE_HOLDING, root, who_stays]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline()
        yield process
        process.stdin.close()


def test_a_forked_child_does_not_keep_a_lock(tmp_path):
    with holding(str(tmp_path), "child") as parent:
        parent.wait(60)
        with LocalStorage(str(tmp_path)).guard("lock", 1):
            pass


def test_a_forked_child_does_not_let_its_parents_lock_go(tmp_path):
    storage = LocalStorage(str(tmp_path))
    with holding(str(tmp_path), "parent") as parent:
        with pytest.raises(LockNotAcquired), storage.guard("lock", 0):
            pass
        parent.stdin.close()
        parent.wait(60)
        with storage.guard("lock", 1):
            pass

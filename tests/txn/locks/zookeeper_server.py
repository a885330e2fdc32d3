"""A real ZooKeeper, of Debian's package, as a child process on a free port."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

JAR = Path("/usr/share/java/zookeeper.jar")
MISSING = "ZooKeeper is missing, so nothing was tried: apt-get install zookeeper (root), with a Java"


class ZooKeeperServer:
    """One server, its data in a directory of its own."""

    def __init__(self):
        if not JAR.exists() and os.geteuid() == 0 and shutil.which("apt-get"):
            subprocess.run(
                ["apt-get", "install", "-y", "-q", "--no-install-recommends", "zookeeper"],
                check=False,
                capture_output=True,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            )
        java = shutil.which("java")
        if not JAR.exists() or java is None:
            pytest.fail(MISSING, pytrace=False)
        self._home = tempfile.TemporaryDirectory(prefix="pyhudi-zookeeper-")
        self._command = [java, "-Xmx128m", "-Dzookeeper.admin.enableServer=false", "-cp", f"/etc/zookeeper/conf:{JAR}"]
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.hosts = f"127.0.0.1:{self.port}"

    def __enter__(self):
        settings = Path(self._home.name) / "zoo.cfg"
        settings.write_text(
            f"tickTime=500\ndataDir={self._home.name}\nclientPort={self.port}\nclientPortAddress=127.0.0.1\n"
            "maxSessionTimeout=40000\n4lw.commands.whitelist=ruok\n"
        )
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self._child = subprocess.Popen(
            [*self._command, main, str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while not self._is_up():
            if time.monotonic() > deadline or self._child.poll() is not None:
                pytest.fail("ZooKeeper did not start", pytrace=False)
            time.sleep(0.1)
        return self

    def __exit__(self, *about):
        self._child.kill()
        self._child.wait(timeout=30)
        self._home.cleanup()

    def _is_up(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"ruok")
                return connection.recv(4) == b"imok"
        except OSError:
            return False

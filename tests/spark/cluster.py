"""A real Spark cluster on this machine: a master and two workers that count as two hosts. Start at `cluster`.

Spark runs a second copy of a slow task on another host only, so one host, and `local[n]`, never shows one.
"""

import os
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pyspark

HOSTS = ("127.0.0.1", "127.0.0.2")
CORES = 1
LONGEST_S = 60


@contextmanager
def cluster(folder):
    """Start it; give the master's address. Logs and work directories are below the folder."""
    port = _free_port()
    master = f"spark://{HOSTS[0]}:{port}"
    started = [_started(folder, "master.Master", "--host", HOSTS[0], "--port", str(port), "--webui-port", "0")]
    try:
        _wait_for(port)
        for host in HOSTS:
            asked = ["--host", host, "--cores", str(CORES), "--memory", "600m", "--webui-port", "0"]
            started.append(_started(folder, "worker.Worker", *asked, "--work-dir", str(Path(folder, host)), master))
        yield master
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(LONGEST_S)


def _started(folder, name, *arguments):
    home = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"}
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
    with Path(folder, f"{name}-{time.monotonic_ns()}.log").open("wb") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def _free_port():
    with socket.socket() as probe:
        probe.bind((HOSTS[0], 0))
        return probe.getsockname()[1]


def _wait_for(port):
    end_s = time.monotonic() + LONGEST_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex((HOSTS[0], port)) == 0:
                return
        assert time.monotonic() < end_s, "the master did not start"
        time.sleep(0.1)

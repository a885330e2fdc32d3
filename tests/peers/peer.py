"""Apache Hudi as a child process that lives as long as a run: statements in, Arrow tables out.

`tools/peers.py` installs it. Start at `Peer`.
"""

import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import pyarrow as pa
import pyarrow.parquet as pq
from tools.peers import PYTHON, jar_of

__all__ = ["NEWEST", "UNCOMPILED", "Peer", "PeerError"]

NEWEST = "1.2.0"
UNCOMPILED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""Settings for judging, where a few rows are read sooner than a plan is compiled; never for measuring."""
_OPENS = "--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED"
"""Without it Apache Hudi 1.2.0 fails on Java 17 as it broadcasts a table for `hoodie.bloom.index.use.metadata`."""
_SERVER = Path(__file__).with_name("server.py")


class PeerError(Exception):
    """The peer could not do what it was told; the text is its own."""


class Peer:
    """One Apache Hudi release on Spark."""

    python: ClassVar[Path] = PYTHON
    server: ClassVar[Path] = _SERVER

    def __init__(
        self, release: str = NEWEST, jars: Sequence[Path] = (), settings: Mapping[str, str] | None = None
    ) -> None:
        """Start it, with more jars and settings of Spark than every peer has."""
        self.release = release
        self._home = tempfile.TemporaryDirectory(prefix="pyhudi-peer-")
        self._numbers = itertools.count()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
        environment |= {"PYSPARK_PYTHON": str(self.python), "SPARK_LOCAL_IP": "127.0.0.1", "JDK_JAVA_OPTIONS": _OPENS}
        self._log = (Path(self._home.name) / "stderr.log").open("w+", encoding="utf-8")
        self._child = subprocess.Popen(
            [
                self.python,
                "-P",
                self.server,
                ",".join(map(str, (*self.own_jars(), *jars))),
                self._home.name,
                json.dumps(dict(settings or {})),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
            cwd=self._home.name,
            env=environment,
        )
        self.spark = self._answer()["spark"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def own_jars(self) -> Sequence[Path]:
        """Return the jars without which this is no peer."""
        return [jar_of(self.release)]

    def close(self) -> None:
        """End the child and remove what it kept."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._child.kill()
        assert self._child.stdout is not None
        self._child.stdout.close()
        self._log.close()
        self._home.cleanup()

    def run(self, text: str) -> float:
        """Run a statement whose rows are not wanted; say how many seconds it took there."""
        return self._tell(do="sql", text=text)

    def sql(self, text: str) -> pa.Table:
        """Run a statement and give its rows."""
        out = self._path()
        self._tell(do="sql", text=text, out=out)
        return pq.read_table(out)

    def write(self, path: str | Path, rows: pa.Table, options: Mapping[str, str], mode: str = "append") -> None:
        """Write rows to the table at a path through the Spark data source."""
        given = self._path()
        pq.write_table(rows, given, coerce_timestamps=None)
        self.write_stored(path, given, options, mode)

    def write_stored(
        self, path: str | Path, rows: str | Path, options: Mapping[str, str], mode: str = "append"
    ) -> float:
        """Write the rows of a parquet file to the table at a path; say how many seconds it took there."""
        return self._tell(do="write", rows=str(rows), path=str(path), options=dict(options), mode=mode)

    def read(self, path: str | Path, options: Mapping[str, str] | None = None) -> pa.Table:
        """Read the table at a path through the Spark data source, meta columns and all."""
        return self.reads(path, [options or {}])[0]

    def reads(self, path: str | Path, options: Sequence[Mapping[str, str]]) -> list[pa.Table]:
        """Read the table at a path in several ways, as one order."""
        out = [self._path() for _ in options]
        self._tell(do="read", path=str(path), options=[dict(one) for one in options], out=out)
        return [pq.read_table(one) for one in out]

    def scan(self, path: str | Path, options: Mapping[str, str] | None = None) -> float:
        """Compute every column of every row, and throw them away; say how many seconds it took there."""
        return self._tell(do="scan", path=str(path), options=dict(options or {}))

    def default(self, of: str) -> str | None:
        """Return the default of an option, which is named by its class and constant."""
        found: str | None = self._ask(do="default", of=of)["found"]
        return found

    def log(self) -> str:
        """Return what the peer printed so far."""
        self._log.flush()
        return Path(self._log.name).read_text(encoding="utf-8")

    def _path(self) -> str:
        return f"{self._home.name}/rows-{next(self._numbers)}.parquet"

    def _tell(self, **order: Any) -> float:
        seconds: float = self._ask(**order)["seconds"]
        return seconds

    def _ask(self, **order: Any) -> dict[str, Any]:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(order) + "\n")
        self._child.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise PeerError(f"the peer ended; it printed:\n{self.log()[-4000:]}")
        answer: dict[str, Any] = json.loads(line)
        if not answer["ok"]:
            raise PeerError(answer["error"])
        return answer

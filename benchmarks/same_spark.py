"""pyhudi as a child on the Spark that Apache Hudi runs on: the same orders, told to `format("hudi")` of either.

It lives in `.bench/spark-3.5`, where there is no jar; Apache Hudi lives where `make peers` puts it, where there is no
pyhudi. Start at `PyhudiPeer`; run by that child, this module is its server.
"""

import re
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the server is run by its path

from tests.peers.peer import Peer  # noqa: E402
from tools.peers import PACKAGES  # noqa: E402

__all__ = ["SPARK", "PyhudiPeer", "install_pyhudi"]

SPARK = PACKAGES[0].removeprefix("pyspark==")
_HOME = ROOT / ".bench" / "spark-3.5"
_READY = _HOME / ".ready"
_WANTED = (*PACKAGES, "pandas>=2.2,<3")


class PyhudiPeer(Peer):
    """Does what Apache Hudi is told, by pyhudi."""

    python: ClassVar[Path] = _HOME / "bin" / "python"
    server: ClassVar[Path] = Path(__file__)

    def own_jars(self) -> Sequence[Path]:
        """Return none."""
        return []


def install_pyhudi() -> None:
    """Make the environment, once for each list of packages."""
    if _READY.exists() and _READY.read_text() == "\n".join(_WANTED):
        return
    venv.create(_HOME, clear=True, with_pip=True)
    pip = [PyhudiPeer.python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *_WANTED, "-e", ROOT], check=True)
    _READY.write_text("\n".join(_WANTED))


def _serve() -> int:
    from tests.peers.server import SETTINGS, main

    import pyhudi.spark

    own = {name: value for name, value in SETTINGS.items() if not re.search("hudi|hoodie", value, re.IGNORECASE)}
    return main(own, pyhudi.spark.install)


if __name__ == "__main__":
    sys.exit(_serve())

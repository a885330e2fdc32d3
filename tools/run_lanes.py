"""Build the wheel, install it in clean environments, run the smoke test there: `make lanes`.

`lowest` has the lowest versions that `pyproject.toml` allows of everything but pyspark, `newest` the newest of them;
both run the README, and `lowest` the tests that need no other program. Then one lane a pyspark release; in each the
smoke test runs on classic Spark, on Spark Connect and without Spark, statements and streams among it; in that of 3.5,
which has no Connect for us, tests on classic Spark run beside it. `sail` has a client of Spark Connect alone, and the
server of Sail, which needs no JVM. Environments stay under `.lanes/` so that a second run is quick; the wheel is always
installed anew.
"""

import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LANES = ROOT / ".lanes"
PYSPARKS = {
    "spark-3.5": "pyspark==3.5.*",
    "spark-4.0": "pyspark==4.0.*",
    "spark-4.1": "pyspark==4.1.*",
    "spark-newest": "pyspark>=4.1,<5",
}
SAIL = ("pysail==0.7.*", "pyspark-client>=4.0,<4.2")  # it refuses newer clients
PANDAS = {lane: "pandas>=2.2" if lane == "spark-newest" else "pandas>=2.2,<3" for lane in PYSPARKS}
WAYS = ("local", "classic", "connect")
CONNECT = ("grpcio", "grpcio-status", "googleapis-common-protos", "zstandard")
READERS = ("pandas", "polars", "duckdb")
TESTS = ("formats", "schema", "engine", "filegroup", "queries", "table", "cli")
TEST_TOOLS = ("pytest", "pytest-timeout", "hypothesis", "hudi==0.5.0")
ON_OLDEST_SPARK = (
    "tests/spark/test_releases.py",
    "tests/spark/test_shared_behaviour.py",
    "tests/spark/test_writing.py",
    "tests/spark/test_hooks.py",
    "tests/spark/test_names.py",
    "tests/spark/test_table_hooks.py",
    "tests/spark/test_reading.py",
    "tests/spark/test_streaming.py",
    "tests/spark/test_quickstart.py",
)
_LIMIT_S = 1200
"""On two cores that do other work as well, the 150 statements and the streams take seven minutes on Spark 3.5."""
_FLOOR = re.compile(r"(?P<name>[a-z]+)>=(?P<version>[\d.]+)")


def main() -> int:
    """Run the lanes named on the command line, or all."""
    wheel = build_wheel()
    chosen = sys.argv[1:] or ["lowest", "newest", *PYSPARKS, "sail"]
    results = {f"{lane} {way}": ok for lane in chosen for way, ok in run_lane(lane, wheel).items()}
    for name, ok in results.items():
        sys.stdout.write(f"{'passed' if ok else 'FAILED'}  {name}\n")
    return 0 if results and all(results.values()) else 1


def build_wheel() -> Path:
    """Build the wheel anew."""
    out = LANES / "dist"
    for old in out.glob("*.whl"):
        old.unlink()
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", out, ROOT], check=True, stdout=subprocess.DEVNULL
    )
    return next(out.glob("*.whl"))


def run_lane(lane: str, wheel: Path) -> dict[str, bool]:
    """Run what a lane runs in its environment."""
    if lane == "lowest":
        python = environment_of(lane, wheel, floors())
        results = {way: run_smoke(python, LANES / lane, way) for way in ("local", "readme")}
        environment_of(lane, wheel, [*floors(), *TEST_TOOLS])  # a test names what only tests need
        return results | {"tests": run_tests(python, [f"tests/{room}" for room in TESTS])}
    if lane == "newest":
        python = environment_of(lane, wheel, ["--upgrade", *READERS])
        return {way: run_smoke(python, LANES / lane, way) for way in ("local", "readme")}
    if lane == "spark-3.5":
        python = environment_of(lane, wheel, [PANDAS[lane], PYSPARKS[lane], *TEST_TOOLS])
        results = {way: run_smoke(python, LANES / lane, way) for way in ("local", "classic")}
        return results | {"tests": run_tests(python, ON_OLDEST_SPARK)}
    if lane == "sail":
        python = environment_of(lane, wheel, ["pandas>=2.2,<3", *SAIL])
        return {"sail": run_smoke(python, LANES / lane, "sail")}
    python = environment_of(lane, wheel, [PANDAS[lane], *CONNECT, PYSPARKS[lane]])
    return {way: run_smoke(python, LANES / lane, way) for way in WAYS}


def environment_of(lane: str, wheel: Path, packages: list[str]) -> Path:
    """Install packages and the wheel in the environment of a lane, and return its Python."""
    home = LANES / lane
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *packages, wheel], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)
    return python


def floors() -> list[str]:
    """Return the lowest versions that `pyproject.toml` allows of the core's dependencies and of the readers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + [one for name in READERS for one in project["optional-dependencies"][name]]
    return [f"{found['name']}=={found['version']}" for one in wanted if (found := _FLOOR.match(one))]


def run_smoke(python: Path, home: Path, way: str) -> bool:
    """Run the smoke test away from the source tree, so that only the wheel can be imported."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
    environment |= {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    if way == "connect":
        environment["SPARK_TESTING"] = "1"  # the only way to a port of its own: 15002 may be taken
    smoke = ROOT / "tests" / "lanes" / "smoke.py"
    try:
        done = subprocess.run([python, smoke, way], cwd=home, env=environment, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def run_tests(python: Path, tests: Sequence[str]) -> bool:
    """Run the tests of this tree against the installed wheel; warnings of old versions do not matter."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [
        python,
        "-m",
        "pytest",
        "-W",
        "default",
        *tests,
        "--ignore",
        "tests/cli/test_doctor.py",
    ]  # asks for Spark
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    raise SystemExit(main())

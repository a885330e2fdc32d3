"""Build the wheel, install it in clean environments, run the smoke test there: `make lanes`.

One lane a pyspark release; in each the smoke test runs on classic Spark, on Spark Connect and without Spark.
Environments stay under `.lanes/` so that a second run is quick; the wheel is always installed anew.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LANES = ROOT / ".lanes"
PYSPARKS = {"spark-4.0": "pyspark==4.0.*", "spark-4.1": "pyspark==4.1.*", "spark-newest": "pyspark>=4.1,<5"}
WAYS = ("local", "classic", "connect")
CONNECT = ("grpcio", "grpcio-status", "googleapis-common-protos", "zstandard")


def main() -> int:
    """Run the lanes named on the command line, or all."""
    wheel = build_wheel()
    chosen = sys.argv[1:] or list(PYSPARKS)
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
    """Run the smoke test every way in one lane's environment."""
    home = LANES / lane
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "pandas>=2.2,<3", *CONNECT, PYSPARKS[lane], wheel], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)
    return {way: run_smoke(python, home, way) for way in WAYS}


def run_smoke(python: Path, home: Path, way: str) -> bool:
    """Run the smoke test away from the source tree, so that only the wheel can be imported."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK"))}
    environment |= {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    if way == "connect":
        environment["SPARK_TESTING"] = "1"  # the only way to a port of its own: 15002 may be taken
    smoke = ROOT / "tests" / "lanes" / "smoke.py"
    done = subprocess.run([python, "-P", smoke, way], cwd=home, env=environment, timeout=600, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    raise SystemExit(main())

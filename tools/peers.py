"""Install the programs that judge pyhudi into environments of their own under `.peers/`: `make peers` runs it first.

Apache Hudi's Spark bundles come by Maven and PySpark by pip, each from the registry that its client is set up for. None
of it is ever a dependency of pyhudi, and pyhudi is never installed there. What is there already is left alone.
"""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["AWS_BUNDLE", "BUNDLES", "PEERS", "PYTHON", "S3_JARS", "jar_file", "jar_of", "main", "missing"]

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / ".peers"
PYTHON = PEERS / "spark-3.5" / "bin" / "python"
PACKAGES = ("pyspark==3.5.9",)
_READY = PEERS / "spark-3.5" / ".ready"
# One Spark serves all three; each release writes the table version it was made for: 9, 8 and 6.
BUNDLES = {release: f"org.apache.hudi:hudi-spark3.5-bundle_2.12:{release}" for release in ("1.2.0", "1.0.2", "0.15.0")}
# What the newest release needs to reach S3: the bundle for its Spark's Hadoop, and its own. Not every registry has it.
S3_JARS = ("org.apache.hadoop:hadoop-aws:3.3.4", "com.amazonaws:aws-java-sdk-bundle:1.12.262")
AWS_BUNDLE = "org.apache.hudi:hudi-aws-bundle:1.2.0"
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def main() -> int:
    """Install what is missing, or say what could not be installed and fail."""
    try:
        install_spark()
        for artifact in (*BUNDLES.values(), *S3_JARS):
            install_jar(artifact)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        sys.stderr.write(f"nothing was judged, because these are missing: {', '.join(missing())}\n{error}\n")
        return 1
    try:
        install_jar(AWS_BUNDLE)
    except subprocess.CalledProcessError:
        sys.stderr.write(f"no registry gave {AWS_BUNDLE}: a stand-in carries the requests of its storage lock\n")
    return 0


def jar_of(release: str) -> Path:
    """Return where a release's bundle is."""
    return jar_file(BUNDLES[release])


def jar_file(artifact: str) -> Path:
    """Return where an artifact's jar is."""
    _, name, version = artifact.split(":")
    return PEERS / "jars" / f"{name}-{version}.jar"


def missing() -> list[str]:
    """Name what is not there yet, and must be."""
    jars = [artifact for artifact in (*BUNDLES.values(), *S3_JARS) if not jar_file(artifact).exists()]
    return [*([] if _has_spark() else PACKAGES), *jars]


def install_spark() -> None:
    """Make the environment that the bundles run in."""
    if _has_spark():
        return
    venv.create(PEERS / "spark-3.5", clear=True, with_pip=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES], check=True)
    _READY.write_text("\n".join(PACKAGES))


def _has_spark() -> bool:
    return _READY.exists() and _READY.read_text() == "\n".join(PACKAGES)


def install_jar(artifact: str) -> None:
    """Fetch one artifact's jar; it appears whole or not at all."""
    jar = jar_file(artifact)
    if jar.exists():
        return
    fetched = PEERS / "fetched"
    subprocess.run(
        ["mvn", "-B", "-q", _COPY, f"-Dartifact={artifact}", f"-DoutputDirectory={fetched}"],
        check=True,
        cwd=PEERS,  # away from any project's own settings
    )
    jar.parent.mkdir(exist_ok=True)
    shutil.move(fetched / jar.name, jar)


if __name__ == "__main__":
    sys.exit(main())

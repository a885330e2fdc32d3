"""Find the Java that Spark would run on."""

import os
import re
import shutil
import subprocess

__all__ = ["JAVA_FLOOR", "find_java", "java_version"]

JAVA_FLOOR = 17
_VERSION = re.compile(r'version "(\d+)')


def find_java() -> str | None:
    """Return the java binary that JAVA_HOME or PATH names, whether or not it works."""
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", "java") if home else shutil.which("java")


def java_version(java: str) -> int | None:
    """Return a java binary's feature version; None if it does not answer."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stderr + done.stdout)
    return int(match[1]) if match else None

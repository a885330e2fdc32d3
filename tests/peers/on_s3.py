"""Apache Hudi on an S3 emulator, with the storage lock.

The requests of its lock are carried by hudi-aws-bundle, or by `java/`, compiled here, where the registry does not have
that bundle. Start at `peer_on_s3`.
"""

import shutil
import subprocess
import zipfile
from pathlib import Path

from tests.peers.peer import NEWEST, Peer
from tools.peers import AWS_BUNDLE, S3_JARS, jar_file, jar_of

__all__ = ["peer_on_s3", "s3_jars", "s3_settings"]

_JAVA = Path(__file__).with_name("java")


def peer_on_s3(endpoint: str, home: Path) -> Peer:
    """Start the newest release with what it needs to lock on the emulator."""
    bundle = jar_file(AWS_BUNDLE)
    return Peer(NEWEST, [*s3_jars(), bundle if bundle.exists() else _stand_in(home)], s3_settings(endpoint))


def s3_jars() -> list[Path]:
    """Return what it needs to reach files on the emulator."""
    return [jar_file(artifact) for artifact in S3_JARS]


def s3_settings(endpoint: str) -> dict[str, str]:
    """Return what tells Spark where the emulator is."""
    return {
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.access.key": "dummy",
        "spark.hadoop.fs.s3a.secret.key": "dummy",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.driver.extraJavaOptions": f"-Dpyhudi.s3.endpoint={endpoint} -Daws.endpointUrlS3={endpoint}"
        " -Daws.accessKeyId=dummy -Daws.secretAccessKey=dummy -Daws.region=us-east-1",
    }


def _stand_in(home: Path) -> Path:
    """Compile `java/` into a jar."""
    compiler = shutil.which("javac")
    assert compiler is not None, (
        f"neither {AWS_BUNDLE} nor a javac to compile its stand-in: apt-get install default-jdk"
    )
    classes, jar = home / "classes", home / "stand-in.jar"
    sources = [str(path) for path in _JAVA.rglob("*.java")]
    subprocess.run([compiler, "-cp", str(jar_of(NEWEST)), "-d", str(classes), *sources], check=True)
    with zipfile.ZipFile(jar, "w") as archive:
        for path in classes.rglob("*.class"):
            archive.write(path, path.relative_to(classes))
    return jar

"""Read the addresses users type, and spell them one way.

Pure: nothing is looked up. An address never carries credentials; one that does is refused without being repeated.
Start at `parse_address`.
"""

import os
import re
from dataclasses import dataclass
from enum import StrEnum

from pyhudi.arguments import as_text
from pyhudi.errors import InvalidInput

__all__ = ["Address", "StoreKind", "parse_address"]


class StoreKind(StrEnum):
    """What keeps the bytes; the value is the scheme of the normal spelling."""

    LOCAL = "file"
    MEMORY = "memory"
    S3 = "s3"
    GCS = "gs"
    AZURE = "az"
    HDFS = "hdfs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a table is."""

    kind: StoreKind
    container: str = ""
    """Bucket, container, memory name, or host and port; empty for local paths."""
    account: str = ""
    """The Azure storage account, where the address names it."""
    path: str
    """Below the container, without slashes at its ends; absolute for local paths."""

    @property
    def url(self) -> str:
        """Return the normal spelling."""
        if self.kind is StoreKind.LOCAL:
            return f"file://{self.path}"
        if self.account:
            return f"abfss://{self.container}@{self.account}.dfs.core.windows.net/{self.path}".rstrip("/")
        return f"{self.kind}://{self.container}/{self.path}".rstrip("/")


_SCHEMES = {
    "file": StoreKind.LOCAL,
    "memory": StoreKind.MEMORY,
    "s3": StoreKind.S3,
    "s3a": StoreKind.S3,
    "s3n": StoreKind.S3,
    "gs": StoreKind.GCS,
    "gcs": StoreKind.GCS,
    "az": StoreKind.AZURE,
    "azure": StoreKind.AZURE,
    "adl": StoreKind.AZURE,
    "abfs": StoreKind.AZURE,
    "abfss": StoreKind.AZURE,
    "wasb": StoreKind.AZURE,
    "wasbs": StoreKind.AZURE,
    "hdfs": StoreKind.HDFS,
    "viewfs": StoreKind.HDFS,
}
_URL = re.compile(r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?P<slashes>/*)(?P<rest>.*)$", re.DOTALL)
_ACCOUNT_HOST = re.compile(r"^(?P<account>[^.]+)\.(dfs|blob)\.(?P<cloud>.+)$")
_WITH_BACKSLASHES = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/*\\")
_SIGNATURE = re.compile(r"[?&](sig|x-amz-signature|x-goog-signature)=", re.IGNORECASE)


def parse_address(text: str | os.PathLike[str]) -> Address:
    """Read what users type: `s3a://`, `gs://`, `abfss://`, `file:`, `memory://`, `hdfs://`, a path.

    A local path is taken as it is spelled, `%` included, as Hadoop takes it; `~` is the user's home, and a relative
    path starts at the working directory.

    Raises: InvalidInput.
    """
    if not isinstance(text, str | os.PathLike):
        raise InvalidInput("a path is a text or a path object", path=text)
    typed = as_text("path", os.fspath(text))
    if not typed.strip():
        raise InvalidInput("the path is empty; name a directory or an address such as s3://bucket/table")
    if "\x00" in typed:
        raise InvalidInput("a path cannot hold a NUL")
    if _WITH_BACKSLASHES.match(typed):
        raise InvalidInput("write slashes, not backslashes: s3://bucket/table, or /directory/table", path=typed)
    found = _URL.match(typed)
    if found is None or (not found["slashes"] and found["scheme"].lower() != "file"):
        return _local(typed)
    kind = _SCHEMES.get(found["scheme"].lower())
    if kind is None:
        raise InvalidInput(
            f"unknown storage; use one of {', '.join(sorted(_SCHEMES))}, or a local path", scheme=found["scheme"]
        )
    if kind is StoreKind.LOCAL:
        return _local_url(found["slashes"], found["rest"])
    if len(found["slashes"]) != 2 and not (kind is StoreKind.HDFS and len(found["slashes"]) == 3):
        raise InvalidInput("write two slashes after the scheme", scheme=found["scheme"])
    return _remote(kind, found["slashes"][2:] + found["rest"])


def _local(path: str) -> Address:
    return Address(kind=StoreKind.LOCAL, path=os.path.abspath(os.path.expanduser(path)))


def _local_url(slashes: str, rest: str) -> Address:
    if len(slashes) == 2 and not rest.startswith("localhost/"):
        raise InvalidInput("a file: address has three slashes, or a path of this host", address=f"file://{rest}")
    if len(slashes) == 2:
        return _local("/" + rest.removeprefix("localhost/"))
    return _local(f"/{rest}" if slashes else rest)


def _remote(kind: StoreKind, rest: str) -> Address:
    if _SIGNATURE.search(rest):
        raise InvalidInput("an address cannot carry a signature; pass credentials as storage_options", kind=str(kind))
    authority, _, path = rest.partition("/")
    account = ""
    if "@" in authority:
        authority, _, host = authority.rpartition("@")
        named = _ACCOUNT_HOST.match(host) if kind is StoreKind.AZURE else None
        if ":" in authority or (named is None and kind is not StoreKind.HDFS):
            raise InvalidInput("an address cannot carry credentials; pass them as storage_options", kind=str(kind))
        account = named["account"] if named else ""
    if not authority and kind not in {StoreKind.HDFS, StoreKind.MEMORY}:
        raise InvalidInput("the address names no bucket or container", kind=str(kind))
    return Address(kind=kind, container=authority, account=account, path=_base_path(kind, path))


def _base_path(kind: StoreKind, path: str) -> str:
    trimmed = path.strip("/")
    if any(segment in {".", ".."} for segment in trimmed.split("/")) or "//" in trimmed:
        raise InvalidInput("an address cannot hold '.', '..' or empty segments", kind=str(kind), path=path)
    return trimmed

"""Storage options in the spellings people know, as one value that never shows them.

`Credentials` pickles (it travels in function closures, nowhere else), and its `repr`, `str` and errors name keys, never
values. Start at `read_options`; the spellings are in `storage.spellings`.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from urllib.parse import quote

from pyhudi.arguments import as_mapping, as_option_text
from pyhudi.errors import OptionError
from pyhudi.storage.address import StoreKind
from pyhudi.storage.spellings import CLIENT_KEYS, IGNORED, STORE_KEYS, plain_key

__all__ = ["Credentials", "read_options", "redact"]

_NOT_SECRET = frozenset(
    [
        "allow_http",
        "anonymous",
        "endpoint",
        "region",
        "default_region",
        "timeout",
        "connect_timeout",
        "virtual_hosted_style_request",
        "account_name",
        "conditional_put",
        "copy_if_not_exists",
        "bucket",
        "skip_signature",
        "use_emulator",
        "read_timeout",
        "use_fabric_endpoint",
        "allow_invalid_certificates",
        "checksum_algorithm",
        "disable_tagging",
        "disable_bulk_delete",
        "unsigned_payload",
        "request_payer",
        "server_side_encryption",
        "use_azure_cli",
        "user",
    ]
)
_SECRET_VARIABLES = re.compile(r"^(AWS|AZURE|GOOGLE|GCS)_.*(KEY|TOKEN|SECRET|SAS|PASSWORD)", re.IGNORECASE)
_SHORTEST_SECRET = 4
_SIGNED = re.compile(
    r"(?P<name>\b(?:sig|X-Amz-(?:Signature|Credential|Security-Token)|X-Goog-(?:Signature|Credential))=)[^&\s\"'<>)]+",
    re.IGNORECASE,
)
_XML = re.compile(
    r"<(?P<tag>AWSAccessKeyId|SignatureProvided|StringToSign|CanonicalRequest|StringToSignBytes|CanonicalRequestBytes"
    r"|Token|AuthenticationErrorDetail|Key-Id)>.*?</(?P=tag)>",
    re.DOTALL,
)
_USER = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/\s@\"']+@", re.IGNORECASE)


_NEVER_EMPTY = frozenset({"region", "default_region", "endpoint", "base_url"})


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """What a store is opened with besides its address, by obstore's own names."""

    values: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        """Name the keys."""
        return f"Credentials({', '.join(key for key, _ in self.values)})"

    def get(self, key: str) -> str | None:
        """Return one value."""
        return dict(self.values).get(key)

    def without(self, *keys: str) -> dict[str, str]:
        """Return the rest, for the store's constructor."""
        return {key: value for key, value in self.values if key not in keys}

    def redact(self, text: str) -> str:
        """Return a text of a lower library without any of our secrets, or signatures made from them."""
        return redact(text, [value for key, value in self.values if key not in _NOT_SECRET])


def read_options(kind: StoreKind, options: Mapping[str, object] | None) -> Credentials:
    """Read `storage_options` as deltalake, fsspec, obstore or Hadoop spell them.

    Raises: OptionError for an unknown key; its value is not repeated.
    """
    values: dict[str, str] = {}
    for key, value in as_mapping("storage_options", options).items():
        if isinstance(value, Mapping):
            values.update(read_options(kind, value).values)
        elif value is not None:
            values.update(_read_one(kind, key, value))
    return Credentials(tuple(sorted(values.items())))


def redact(text: str, secrets: list[str]) -> str:
    """Replace secrets, those of this process's environment, and request signatures by `***`."""
    ours = [value for name, value in os.environ.items() if _SECRET_VARIABLES.match(name)]
    for secret in sorted({*secrets, *ours}, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***").replace(quote(secret, safe=""), "***").replace(quote(secret), "***")
    text = _SIGNED.sub(r"\g<name>***", text)
    text = _XML.sub(r"<\g<tag>>***</\g<tag>>", text)
    return _USER.sub(r"\g<scheme>***@", text)


def _read_one(kind: StoreKind, key: str, value: object) -> dict[str, str]:
    name, text = plain_key(kind, key, as_option_text(key, value))
    if name in IGNORED:
        return {}
    if name == "connection_string":
        return _connection_string(text)
    known = STORE_KEYS[kind] | CLIENT_KEYS
    if name not in known:
        nearest = get_close_matches(name, known, n=1, cutoff=0.6)
        raise OptionError(f"unknown storage option{f'; did you mean {nearest[0]}?' if nearest else ''}", key=key)
    if not text and name in _NEVER_EMPTY:
        raise OptionError("give the storage option a value, or leave it out", key=key)
    return {name: text}


def _connection_string(text: str) -> dict[str, str]:
    """Read Azure's `AccountName=...;AccountKey=...`."""
    names = {
        "AccountName": "account_name",
        "AccountKey": "account_key",
        "SharedAccessSignature": "sas_key",
        "BlobEndpoint": "endpoint",
    }
    pairs = (part.partition("=") for part in text.split(";") if part)
    return {names[key]: value for key, _, value in pairs if key in names}

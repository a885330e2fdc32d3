"""Open obstore's stores from an address and credentials: every rule about configuration. Start at `open_handle`."""

import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from pyhudi.errors import OptionError, PermissionDenied
from pyhudi.storage.address import Address, StoreKind
from pyhudi.storage.credentials import Credentials
from pyhudi.storage.spellings import CLIENT_KEYS

__all__ = ["open_handle"]

_STORES: dict[StoreKind, Any] = {StoreKind.S3: S3Store, StoreKind.GCS: GCSStore, StoreKind.AZURE: AzureStore}
_CLIENT = {"timeout": "300s", "connect_timeout": "10s"}
_STATIC = ("access_key_id", "secret_access_key", "session_token")
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_OTHER_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
)


def open_handle(address: Address, credentials: Credentials, retries: dict[str, Any]) -> ObjectStore:
    """Open a handle; what the options leave open comes from the environment.

    Raises: OptionError for half a key pair; PermissionDenied if only the host's metadata service could give
    credentials and the environment forbids to ask it; obstore's own errors.
    """
    client: dict[str, Any] = {**_CLIENT, **{key: value for key, value in credentials.values if key in CLIENT_KEYS}}
    config: dict[str, Any] = credentials.without(*CLIENT_KEYS)
    if address.kind is StoreKind.S3:
        _complete_s3(config)
    if address.kind is StoreKind.AZURE:
        _complete_azure(config, address)
    endpoint = config.get("endpoint") or config.get("base_url") or ""
    if endpoint and not _is_address(endpoint):
        raise OptionError("an endpoint is an address, such as https://store.example.org:9000", table=address.url)
    if endpoint.startswith("http://"):
        client.setdefault("allow_http", "true")
    store: ObjectStore = _STORES[address.kind](
        address.container, prefix=address.path or None, client_options=client, retry_config=retries, **config
    )
    return store


def _is_address(text: str) -> bool:
    try:
        found = urlsplit(text)
        return found.scheme in {"http", "https"} and bool(found.hostname) and (found.port is None or found.port > 0)
    except ValueError:  # a port that is none, or brackets
        return False


def _complete_s3(config: dict[str, Any]) -> None:
    """Hand explicit keys over by a function, so that no session token of the environment is mixed with them."""
    endpoint = next((os.environ[name] for name in _ENDPOINT_VARIABLES if os.environ.get(name)), None)
    if endpoint is not None:
        config.setdefault("endpoint", endpoint)
    given = {key: config.pop(key) for key in _STATIC if key in config}
    if given:
        if len(given) == 1 or ("session_token" in given and len(given) == 2):
            raise OptionError("give access_key_id and secret_access_key together", given=sorted(given))
        config["credential_provider"] = _provider(given)
    elif "skip_signature" not in config and not _can_sign(config):
        raise PermissionDenied("no credentials: pass storage_options, set AWS_ACCESS_KEY_ID, or anonymous=True")


def _complete_azure(config: dict[str, Any], address: Address) -> None:
    if address.account:
        config["account_name"] = address.account
    if "account_name" not in config and not os.environ.get("AZURE_STORAGE_ACCOUNT_NAME"):
        raise OptionError("set the storage option account_name, or write abfss://container@account...", url=address.url)


def _can_sign(config: dict[str, Any]) -> bool:
    is_metadata_off = os.environ.get("AWS_EC2_METADATA_DISABLED", "").lower() == "true"
    has_source = any(os.environ.get(name) for name in _OTHER_CREDENTIALS)
    return has_source or not is_metadata_off or any("token_file" in key or "credentials" in key for key in config)


def _provider(given: dict[str, str]) -> Callable[[], dict[str, Any]]:
    def credentials() -> dict[str, Any]:
        return {
            "access_key_id": given["access_key_id"],
            "secret_access_key": given["secret_access_key"],
            "token": given.get("session_token"),
            "expires_at": None,
        }

    return credentials

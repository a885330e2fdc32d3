"""The names other libraries give to storage options, and obstore's name for each. Tables only; start at `plain_key`."""

import re

from pyhudi.storage.address import StoreKind

__all__ = ["CLIENT_KEYS", "IGNORED", "STORE_KEYS", "plain_key"]

CLIENT_KEYS = frozenset(
    [
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "timeout",
        "read_timeout",
        "proxy_url",
        "proxy_ca_certificate",
        "proxy_excludes",
        "root_certificate",
        "user_agent",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "randomize_addresses",
    ]
)
"""What belongs to the connection, whatever the store."""

STORE_KEYS: dict[StoreKind, frozenset[str]] = {
    StoreKind.LOCAL: frozenset(),
    StoreKind.MEMORY: frozenset(),
    StoreKind.HDFS: frozenset({"user", "kerb_ticket"}),
    StoreKind.S3: frozenset(
        [
            "access_key_id",
            "secret_access_key",
            "session_token",
            "region",
            "default_region",
            "endpoint",
            "skip_signature",
            "role_arn",
            "role_session_name",
            "web_identity_token_file",
            "container_credentials_relative_uri",
            "container_credentials_full_uri",
            "container_authorization_token_file",
            "metadata_endpoint",
            "sts_endpoint",
            "virtual_hosted_style_request",
            "unsigned_payload",
            "checksum_algorithm",
            "conditional_put",
            "copy_if_not_exists",
            "disable_tagging",
            "disable_bulk_delete",
            "request_payer",
            "server_side_encryption",
            "sse_bucket_key_enabled",
            "sse_kms_key_id",
        ]
    ),
    StoreKind.GCS: frozenset(
        [
            "service_account",
            "service_account_key",
            "application_credentials",
            "bearer_token",
            "base_url",
            "skip_signature",
        ]
    ),
    StoreKind.AZURE: frozenset(
        [
            "account_name",
            "account_key",
            "client_id",
            "client_secret",
            "tenant_id",
            "authority_host",
            "sas_key",
            "token",
            "use_emulator",
            "use_fabric_endpoint",
            "endpoint",
            "msi_endpoint",
            "object_id",
            "msi_resource_id",
            "federated_token_file",
            "use_azure_cli",
            "skip_signature",
            "disable_tagging",
        ]
    ),
}
"""What each store understands, by obstore's names without a prefix."""

IGNORED = frozenset(
    [
        "project",
        "use_ssl",
        "path_style_access",
        "allow_unsafe_rename",
        "locking_provider",
        "asynchronous",
        "default_fill_cache",
        "cache_regions",
        "requests_timeout",
        "consistency",
    ]
)
"""Known to others and without effect here."""

_PREFIX = re.compile(r"^(spark\.hadoop\.)?(fs\.(s3a|s3n|s3|gs)\.(bucket\.[^.]+\.)?)?", re.IGNORECASE)
_AZURE_HADOOP = re.compile(
    r"^(spark\.hadoop\.)?fs\.azure\.(?P<name>account\.key|sas\.fixed\.token|sas|account\.oauth2\.client\.(id|secret))\."
)
_AZURE_NAMES = {
    "account.key": "account_key",
    "sas.fixed.token": "sas_key",
    "sas": "sas_key",
    "account.oauth2.client.id": "client_id",
    "account.oauth2.client.secret": "client_secret",
}
_FALSE = {"false", "0", "no"}
_ANONYMOUS = "anonymous"

_ANY = {
    "anon": "skip_signature",
    "anonymous": "skip_signature",
    "no_sign_request": "skip_signature",
    "insecure": "allow_http",
}
_NAMES: dict[StoreKind, dict[str, str]] = {
    StoreKind.S3: {
        "key": "access_key_id",
        "access_key": "access_key_id",
        "secret": "secret_access_key",
        "secret_key": "secret_access_key",
        "token": "session_token",
        "endpoint_url": "endpoint",
        "endpoint_url_s3": "endpoint",
        "endpoint_override": "endpoint",
        "region_name": "region",
        "endpoint_region": "region",
        "connection_ssl_enabled": "use_ssl",
    },
    StoreKind.GCS: {
        "token": "service_account",
        "service_account_path": "service_account",
        "service_account_json_keyfile": "service_account",
        "auth_service_account_json_keyfile": "service_account",
        "credentials": "application_credentials",
        "endpoint": "base_url",
        "endpoint_url": "base_url",
    },
    StoreKind.AZURE: {
        "access_key": "account_key",
        "storage_key": "account_key",
        "sas_token": "sas_key",
        "authority_id": "tenant_id",
        "bearer_token": "token",
        "endpoint_url": "endpoint",
        "blob_storage_authority": "authority_host",
    },
}
_WORDS = {
    StoreKind.S3: ("aws_s3_", "aws_"),
    StoreKind.GCS: ("google_cloud_", "google_", "gcs_", "gcp_"),
    StoreKind.AZURE: ("azure_storage_", "azure_"),
}


def plain_key(kind: StoreKind, key: str, value: str) -> tuple[str, str]:
    """Return obstore's name and value for an option of deltalake, fsspec, obstore or Hadoop."""
    hadoop = _AZURE_HADOOP.match(key)
    if hadoop and kind is StoreKind.AZURE:
        return _AZURE_NAMES[hadoop["name"]], value
    name = _PREFIX.sub("", key).lower().replace(".", "_").replace("-", "_")
    for word in _WORDS.get(kind, ()):
        if name.startswith(word):
            name = name.removeprefix(word)
            break
    name = _NAMES.get(kind, {}).get(name, _ANY.get(name, name))
    return _with_value(kind, name, value)


def _with_value(kind: StoreKind, name: str, value: str) -> tuple[str, str]:
    """Translate the options whose meaning is in their value."""
    if name == "use_ssl" and value.lower() in _FALSE:
        return "allow_http", "true"
    if name == "path_style_access":
        return "virtual_hosted_style_request", "true" if value.lower() in _FALSE else "false"
    if name in {"credentials_provider", "credentials_provider_classes"}:
        return ("skip_signature", "true") if _ANONYMOUS in value.lower() else ("use_ssl", value)
    if kind is StoreKind.GCS and name == "service_account":
        if value.lower() in {"anon", _ANONYMOUS}:
            return "skip_signature", "true"
        if value.lstrip().startswith("{"):
            return "service_account_key", value
    if kind is StoreKind.S3 and name == "endpoint" and "://" not in value:
        return name, f"https://{value}"
    return name, value

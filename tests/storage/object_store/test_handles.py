"""Opening handles without a server."""

import pytest
from tests.fixed_env import FixedEnv

from pyhudi.errors import OptionError, PermissionDenied
from pyhudi.storage.opening import open_storage


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("gs://b/t", {"skip_signature": True}),
        ("az://c/t", {"account_name": "a", "account_key": "bm90IGEga2V5"}),
        ("abfss://c@acc.dfs.core.windows.net/t", {"sas_token": "sv=1&sig=SENTINEL"}),
        ("s3://b/t", {"anon": True}),
    ],
)
def test_every_kind_of_store_opens_without_a_request(url: str, options):
    storage = open_storage(url, options, FixedEnv())
    assert storage.url == url
    assert "SENTINEL" not in repr(storage)
    assert storage.traits.is_shared


def test_half_a_key_pair_is_refused():
    with pytest.raises(OptionError, match="together") as raised:
        open_storage("s3://b/t", {"key": "SENTINEL"})
    assert "SENTINEL" not in str(raised.value)


def test_without_credentials_and_metadata_service_the_way_out_is_named(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SKIP_SIGNATURE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(PermissionDenied, match="storage_options"):
        open_storage("s3://b/t", env=FixedEnv())


def test_an_azure_store_without_an_account_says_what_is_missing(monkeypatch):
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(OptionError, match="account_name"):
        open_storage("az://c/t", env=FixedEnv())


KEYS = {"access_key_id": "a", "secret_access_key": "hushhush"}


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("s3://bucket/t", {**KEYS, "timeout": "soon"}),
        ("s3://bucket/t", {**KEYS, "allow_http": "maybe"}),
        ("s3://bucket/t", {**KEYS, "conditional_put": "never"}),
        ("s3://bucket/t", {**KEYS, "root_certificate": "x"}),
        ("s3://bucket/t", {**KEYS, "endpoint": "::::"}),
        ("s3://bucket/t", {**KEYS, "endpoint": "https://host:port"}),
        ("s3://bucket/t", {**KEYS, "region": ""}),
        ("gs://bucket/t", {"service_account_key": "{bad"}),
        ("abfss://c@account.dfs.core.windows.net/t", {"account_key": "%%%"}),
    ],
)
def test_a_value_that_a_storage_option_cannot_have_is_the_callers_to_mend(url, options):
    with pytest.raises(OptionError) as told:
        open_storage(url, options)
    assert "hushhush" not in str(told.value)
    assert "{bad" not in str(told.value)

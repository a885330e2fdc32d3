"""Storage options: read in every spelling, shown in none."""

import pickle

import pytest

from pyhudi.errors import OptionError
from pyhudi.storage.address import StoreKind
from pyhudi.storage.credentials import Credentials, read_options, redact


def test_a_representation_names_keys_only():
    credentials = read_options(StoreKind.S3, {"key": "SENTINELID", "secret": "SENTINELSECRET", "region": "r"})
    for text in (repr(credentials), str(credentials), f"{credentials}"):
        assert "SENTINEL" not in text
    assert repr(credentials) == "Credentials(access_key_id, region, secret_access_key)"
    assert pickle.loads(pickle.dumps(credentials)) == credentials


def test_an_unknown_option_is_refused_by_name_and_not_by_value():
    with pytest.raises(OptionError, match="secret_access_key") as raised:
        read_options(StoreKind.S3, {"secret_acces_key": "SENTINEL"})
    assert "SENTINEL" not in repr(raised.value) + str(raised.value)


def test_secrets_leave_texts_in_every_form():
    credentials = Credentials((("region", "us-east-1"), ("secret_access_key", "a/b+c=d&e"), ("sas_key", "xyz")))
    text = credentials.redact("in us-east-1: a/b+c=d&e and a%2Fb%2Bc%3Dd%26e and a/b%2Bc%3Dd%26e")
    assert text == "in us-east-1: *** and *** and ***"


@pytest.mark.parametrize(
    "text",
    [
        "GET https://c.blob.core.windows.net/x?sv=1&sig=SENTINEL&se=2",
        "https://b/x?X-Amz-Credential=SENTINEL&X-Amz-Signature=SENTINEL",
        "<Error><AWSAccessKeyId>SENTINEL</AWSAccessKeyId><StringToSign>AWS4\nSENTINEL</StringToSign></Error>",
        "proxy http://user:SENTINEL@host:1/ refused",
    ],
)
def test_signatures_leave_texts_even_when_nobody_knows_the_secret(text: str):
    assert "SENTINEL" not in redact(text, [])


def test_secrets_of_the_environment_leave_texts(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "SENTINEL1")
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "SENTINEL2")
    assert redact("SENTINEL1 SENTINEL2", []) == "*** ***"

"""The spellings of other libraries."""

import pytest

from pyhudi.errors import OptionError
from pyhudi.storage.address import StoreKind
from pyhudi.storage.credentials import read_options

S3_WANTED = {"access_key_id": "k", "secret_access_key": "s", "session_token": "t", "region": "r",
             "endpoint": "http://h:1"}  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        S3_WANTED,
        {"aws_access_key_id": "k", "aws_secret_access_key": "s", "aws_session_token": "t", "aws_region": "r",
         "aws_endpoint_url": "http://h:1"},
        {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t", "AWS_REGION": "r",
         "AWS_ENDPOINT_URL": "http://h:1", "AWS_S3_ALLOW_UNSAFE_RENAME": "true"},
        {"key": "k", "secret": "s", "token": "t", "client_kwargs": {"endpoint_url": "http://h:1", "region_name": "r"}},
        {"fs.s3a.access.key": "k", "fs.s3a.secret.key": "s", "fs.s3a.session.token": "t",
         "fs.s3a.endpoint": "http://h:1", "fs.s3a.endpoint.region": "r"},
        {"spark.hadoop.fs.s3a.access.key": "k", "spark.hadoop.fs.s3a.secret.key": "s",
         "fs.s3a.bucket.b.session.token": "t", "fs.s3a.endpoint": "http://h:1", "AWS_ENDPOINT_URL_S3": None,
         "region": "r", "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"},
    ],
)  # fmt: skip
def test_s3_options_are_read_in_every_spelling(options):
    assert dict(read_options(StoreKind.S3, options).values) == S3_WANTED


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"anon": True}, {"skip_signature": "true"}),
        ({"AWS_SKIP_SIGNATURE": "true"}, {"skip_signature": "true"}),
        ({"fs.s3a.aws.credentials.provider": "x.AnonymousAWSCredentialsProvider"}, {"skip_signature": "true"}),
        ({"use_ssl": False}, {"allow_http": "true"}),
        ({"fs.s3a.connection.ssl.enabled": "false"}, {"allow_http": "true"}),
        ({"AWS_ALLOW_HTTP": "true"}, {"allow_http": "true"}),
        ({"fs.s3a.path.style.access": "true"}, {"virtual_hosted_style_request": "false"}),
        ({"fs.s3a.endpoint": "minio:9000"}, {"endpoint": "https://minio:9000"}),
        ({"timeout": "5s"}, {"timeout": "5s"}),
    ],
)
def test_s3_switches_are_translated(options, wanted):
    assert dict(read_options(StoreKind.S3, options).values) == wanted


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"GOOGLE_SERVICE_ACCOUNT": "/k.json"}, {"service_account": "/k.json"}),
        ({"token": "/k.json"}, {"service_account": "/k.json"}),
        ({"token": "anon"}, {"skip_signature": "true"}),
        ({"google_service_account_key": "{}"}, {"service_account_key": "{}"}),
        ({"token": '{"a": 1}'}, {"service_account_key": '{"a": 1}'}),
        ({"fs.gs.auth.service.account.json.keyfile": "/k.json", "project": "p"}, {"service_account": "/k.json"}),
    ],
)
def test_gcs_options_are_read_in_every_spelling(options, wanted):
    assert dict(read_options(StoreKind.GCS, options).values) == wanted


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"AZURE_STORAGE_ACCOUNT_NAME": "a", "AZURE_STORAGE_ACCOUNT_KEY": "k"},
         {"account_name": "a", "account_key": "k"}),
        ({"account_name": "a", "sas_token": "s"}, {"account_name": "a", "sas_key": "s"}),
        ({"azure_client_id": "c", "azure_client_secret": "s", "azure_tenant_id": "t"},
         {"client_id": "c", "client_secret": "s", "tenant_id": "t"}),
        ({"fs.azure.account.key.acc.dfs.core.windows.net": "k"}, {"account_key": "k"}),
        ({"fs.azure.sas.fixed.token.acc.dfs.core.windows.net": "s"}, {"sas_key": "s"}),
        ({"connection_string": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=k==;EndpointSuffix=x"},
         {"account_name": "a", "account_key": "k=="}),
    ],
)  # fmt: skip
def test_azure_options_are_read_in_every_spelling(options, wanted):
    assert dict(read_options(StoreKind.AZURE, options).values) == wanted


def test_options_of_another_store_are_unknown():
    with pytest.raises(OptionError):
        read_options(StoreKind.GCS, {"aws_access_key_id": "k"})
    with pytest.raises(OptionError):
        read_options(StoreKind.LOCAL, {"key": "k"})

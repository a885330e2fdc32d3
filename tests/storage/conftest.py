"""A server that speaks S3, in this process."""

import itertools
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps

import pytest

from pyhudi.env import Env
from pyhudi.storage.address import parse_address
from pyhudi.storage.credentials import read_options
from pyhudi.storage.object_store import ObjectStorage

_numbers = itertools.count()


@contextmanager
def serve_s3() -> Iterator[str]:
    """Start moto on a free port, make a bucket, and keep every client away from metadata services."""
    boto3 = pytest.importorskip("boto3")
    server_class = pytest.importorskip("moto.server").ThreadedMotoServer
    _make_puts_atomic()
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    saved = {key: os.environ.pop(key) for key in list(os.environ) if key.startswith("AWS_")}
    os.environ.update(AWS_EC2_METADATA_DISABLED="true")
    server = server_class(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    names = {"aws_access_key_id": "dummy", "aws_secret_access_key": "dummy", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=endpoint, **names).create_bucket(Bucket="bucket")
    yield endpoint
    server.stop()
    os.environ.pop("AWS_EC2_METADATA_DISABLED")
    os.environ.update(saved)


def _make_puts_atomic() -> None:
    """Let one put at a time look at its condition and write, as S3 does.

    moto does the two one after the other in a thread a request, so that two creators may both be told that they won.
    """
    from moto.s3.responses import S3Response

    lock = threading.Lock()

    def one_at_a_time(call: Callable) -> Callable:
        @wraps(call)
        def wrapped(*args, **named):
            with lock:
                return call(*args, **named)

        return wrapped

    if not hasattr(S3Response.put_object, "__wrapped__"):
        S3Response.put_object = one_at_a_time(S3Response.put_object)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Serve S3 for as long as tests run."""
    with serve_s3() as endpoint:
        yield endpoint


def s3_options(endpoint: str) -> dict[str, str]:
    """Return what opens the server's bucket."""
    return {"key": "dummy", "secret": "dummy", "endpoint_url": endpoint, "region": "us-east-1"}


def open_s3(endpoint: str, env: Env | None = None) -> ObjectStorage:
    """Open a prefix of the bucket that was not used before."""
    address = parse_address(f"s3a://bucket/tables/trips {next(_numbers)}/")
    return ObjectStorage(address, read_options(address.kind, s3_options(endpoint)), env)

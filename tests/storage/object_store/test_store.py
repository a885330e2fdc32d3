"""Object stores, on an S3 server of this process."""

import os
import pickle
import threading
import weakref
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.conformance.storage import StorageTests
from tests.fixed_env import FixedEnv
from tests.storage.conftest import open_s3, s3_options

from pyhudi.errors import (
    FileMissing,
    HudiError,
    InvalidInput,
    PermissionDenied,
    PreconditionFailed,
    PutUnknown,
    StorageUnavailable,
    Unsupported,
)
from pyhudi.storage.address import parse_address
from pyhudi.storage.api import PutMode
from pyhudi.storage.credentials import read_options
from pyhudi.storage.object_store import ObjectStorage, store
from pyhudi.storage.opening import open_storage
from pyhudi.storage.probe import probe_writes

CREATE = PutMode.CREATE


class TestObjectStorage(StorageTests):
    rounds = int(os.environ.get("PYHUDI_RACE_ROUNDS", "20"))
    """A full hundred takes minutes: every request goes through a web server in this process."""

    @pytest.fixture
    def storage(self, s3_server: str):
        return open_s3(s3_server)


@pytest.fixture
def storage(s3_server: str) -> ObjectStorage:
    return open_s3(s3_server)


def test_a_store_is_opened_once_per_process_address_and_options(s3_server: str):
    one = open_storage("s3a://bucket/kept", s3_options(s3_server))
    assert open_storage("s3://bucket/kept/", s3_options(s3_server)) is one
    assert open_storage("s3://bucket/kept", {**s3_options(s3_server), "key": "other"}) is not one
    assert pickle.loads(pickle.dumps(one)) is one
    assert one.url == "s3://bucket/kept"


def test_markers_of_directories_are_no_files(storage: ObjectStorage, s3_server: str):
    boto3 = pytest.importorskip("boto3")
    client = boto3.client(
        "s3", endpoint_url=s3_server, region_name="us-east-1", aws_access_key_id="d", aws_secret_access_key="d"
    )
    for key in ["", ".hoodie/", "part/", "part/.aux/", "day=2026.01.01/"]:
        client.put_object(Bucket="bucket", Key=f"{storage.url.removeprefix('s3://bucket/')}/{key}", Body=b"")
    storage.put("part/a", b"1")
    storage.put("day=2026.01.01/b", b"")
    storage.put("empty", b"")
    assert [found.path for found in storage.list("")] == ["day=2026.01.01/b", "empty", "part/a"]
    assert [found.path for found in storage.list("part")] == ["part/a"]
    root = storage.list_directory("")
    assert [found.path for found in root.files] == ["empty"]
    assert root.directories == (".hoodie", "day=2026.01.01", "part")
    assert [found.path for found in storage.list_directory("part").files] == ["part/a"]


def test_many_files_are_listed_over_several_pages(storage: ObjectStorage, monkeypatch):
    for number in range(30):
        storage.put(f"d/{number:02}", b"")
    monkeypatch.setattr(store, "_LIST_CHUNK", 7)
    assert len(storage.list("")) == 30
    storage.delete_tree("d")
    assert storage.list("") == []


def test_a_bucket_that_does_not_exist_is_named(s3_server: str):
    storage = open_storage("s3://no-such-bucket/t", s3_options(s3_server))
    for call in (lambda: storage.get("a"), lambda: storage.list(""), lambda: storage.put("a", b"1"),
                 lambda: storage.put("a", b"1", CREATE)):  # fmt: skip
        with pytest.raises(FileMissing, match="bucket"):
            call()


def test_an_error_that_nobody_holds_is_gone_with_the_frames_that_it_came_through(storage: ObjectStorage):
    with pytest.raises(FileMissing) as caught:
        storage.get("no/such")
    kept = weakref.ref(caught.value)
    del caught
    assert kept() is None


def test_a_name_the_store_cannot_take_is_bad_input(storage: ObjectStorage):
    with pytest.raises(InvalidInput):
        storage.put("a\nb", b"1")


def test_a_server_that_is_not_there_is_unavailable(monkeypatch):
    monkeypatch.setattr(store, "_RETRIES", {"max_retries": 0})
    address = parse_address("s3://bucket/t")
    storage = ObjectStorage(address, read_options(address.kind, s3_options("http://127.0.0.1:1")))
    with pytest.raises(StorageUnavailable):
        storage.get("a")


def test_a_created_stream_beyond_the_limit_is_refused(storage: ObjectStorage, monkeypatch):
    monkeypatch.setattr(store, "CREATE_LIMIT_BYTES", 1000)
    with pytest.raises(Unsupported, match="smaller"), storage.open_output("a", CREATE) as sink:
        sink.write(b"x" * 1001)
    assert storage.list("") == []


@pytest.mark.everyday
def test_the_server_keeps_the_promises_of_several_writers(storage: ObjectStorage):
    found = probe_writes(storage, FixedEnv())
    assert (found.has_many_writers, found.has_cas, found.reason) == (True, True, "")
    assert storage.list("") == []


# a proxy that loses replies


class Proxy(ThreadingHTTPServer):
    """Pass requests on, and let a test decide about each put on a condition."""

    daemon_threads = True
    is_listening_to: str
    decide: Callable[[int], str]

    def __init__(self, server: str) -> None:
        super().__init__(("127.0.0.1", 0), _Pass)
        self.server = server.removeprefix("http://")
        self.decide = lambda number: "pass"
        self.on_reply: Callable[[], None] = lambda: None
        self.is_deaf = False
        self.is_busy = False
        """Everything without a condition is refused because another request is under way."""
        self.requests: list[str] = []
        self.conditional = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Pass(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, format, *args) -> None:
        pass

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append(f"{self.command} {self.headers.get('Range', '')}".strip())
        decision = "pass"
        if self.command == "PUT" and ("If-None-Match" in self.headers or "If-Match" in self.headers):
            self.server.conditional += 1
            decision = self.server.decide(self.server.conditional)
        elif self.command == "GET" and self.server.is_deaf:
            decision = "500"
        elif self.server.is_busy:
            decision = "409"
        if decision in {"409", "500"}:
            self._reply(int(decision), {}, b"<Error><Code>Injected</Code></Error>")
            return
        status, headers, data = self._ask(body)
        if decision.endswith("after"):
            self.server.on_reply()
        if decision == "drop after":
            self.close_connection = True
            self.connection.close()
        elif decision == "500 after":
            self._reply(500, {}, b"<Error><Code>InternalError</Code></Error>")
        else:
            self._reply(status, headers, data)

    def _ask(self, body: bytes):
        connection = HTTPConnection(self.server.server)
        connection.request(self.command, self.path, body=body, headers=dict(self.headers))
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        return reply.status, dict(reply.getheaders()), data

    def _reply(self, status: int, headers, data: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in {"content-length", "transfer-encoding", "connection", "date", "server"}:
                self.send_header(name, value)
        length = headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(data))
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass


@pytest.fixture
def proxy(s3_server: str) -> Iterator[Proxy]:
    proxy = Proxy(s3_server)
    thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield proxy
    proxy.shutdown()
    proxy.server_close()
    thread.join()


@pytest.fixture
def far(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> ObjectStorage:
    monkeypatch.setattr(store, "SETTLE_S", 5)
    return open_s3(proxy.url, FixedEnv())


@pytest.fixture
def near(far: ObjectStorage, s3_server: str) -> ObjectStorage:
    """The same place, without the proxy."""
    address = parse_address(far.url)
    return ObjectStorage(address, read_options(address.kind, s3_options(s3_server)))


@pytest.mark.everyday
@pytest.mark.parametrize("fault", ["500 after", "drop after"])
def test_our_own_success_is_recognised_when_the_reply_is_lost(proxy, far, near, fault: str):
    proxy.decide = lambda number: fault
    far.put("a", b"ours", CREATE)
    assert near.get("a") == b"ours"
    assert proxy.conditional == 1


@pytest.mark.parametrize("fault", ["500 after", "drop after", "pass"])
def test_the_success_of_another_is_not_ours(proxy, far, near, fault: str):
    near.put("a", b"theirs", CREATE)
    proxy.decide = lambda number: fault
    with pytest.raises(PreconditionFailed):
        far.put("a", b"ours", CREATE)
    assert near.get("a") == b"theirs"


@pytest.mark.parametrize("fault", ["500", "409"])
def test_a_put_that_did_not_happen_is_sent_again(proxy, far, near, fault: str):
    proxy.decide = lambda number: fault if number <= 3 else "pass"
    far.put("a", b"ours", CREATE)
    assert near.get("a") == b"ours"
    assert proxy.conditional == 4


@pytest.mark.parametrize("fault", ["500", "409"])
def test_a_put_that_never_happens_is_unknown_after_the_deadline(proxy, far, near, fault: str):
    proxy.decide = lambda number: fault
    with pytest.raises(PutUnknown):
        far.put("a", b"ours", CREATE)
    assert near.list("") == []


def test_a_put_that_cannot_be_read_back_is_unknown(proxy, far):
    proxy.decide = lambda number: "drop after"
    proxy.is_deaf = True
    with pytest.raises(PutUnknown):
        far.put("a", b"ours", CREATE)


def in_parts(storage: ObjectStorage) -> None:
    """Stream more than one part."""
    with storage.open_output("a") as sink:
        sink.write(bytes(20 << 20))


@pytest.mark.parametrize(
    "call",
    [
        lambda storage: storage.put("a", b"1"),
        lambda storage: storage.delete("a"),
        lambda storage: storage.head("a"),
        lambda storage: storage.list(""),
        in_parts,
    ],
    ids=["put", "delete", "head", "list", "stream"],
)
def test_a_conflict_is_no_condition_that_failed_where_there_was_none(proxy, far, call):
    proxy.is_busy = True
    with pytest.raises(StorageUnavailable):
        call(far)


def test_an_empty_file_after_a_lost_reply_may_be_anybodys(proxy, far):
    proxy.decide = lambda number: "drop after"
    with pytest.raises(PutUnknown):
        far.put("a", b"", CREATE)


def test_an_empty_file_that_was_there_is_somebody_elses(far, near):
    near.put("a", b"", CREATE)
    with pytest.raises(PreconditionFailed):
        far.put("a", b"", CREATE)


def test_a_lost_reply_of_a_created_stream_is_recognised(proxy, far, near):
    proxy.decide = lambda number: "drop after"
    with far.open_output("a", CREATE) as sink:
        sink.write(b"ours" * 1000)
    assert near.get("a") == b"ours" * 1000


def test_a_lost_reply_of_a_swap_is_recognised(proxy, far, near):
    near.put("a", b"1")
    _, version = near.get_versioned("a")
    proxy.decide = lambda number: "drop after"
    swapped = far.cas("a", b"2", version)
    assert near.get_versioned("a") == (b"2", swapped)


def test_a_swap_that_another_won_is_refused_whatever_the_reply(proxy, far, near):
    near.put("a", b"1")
    _, version = near.get_versioned("a")
    near.put("a", b"theirs")
    for fault in ("500", "409", "drop after", "pass"):
        proxy.decide = lambda number, fault=fault: fault
        with pytest.raises(PreconditionFailed):
            far.cas("a", b"2", version)


def test_a_swap_that_did_not_happen_is_sent_again(proxy, far, near):
    near.put("a", b"1")
    _, version = near.get_versioned("a")
    proxy.decide = lambda number: "409" if number < 3 else "pass"
    far.cas("a", b"2", version)
    assert near.get("a") == b"2"


def test_a_success_overwritten_before_the_read_back_counts_as_lost(proxy, far, near):
    proxy.decide = lambda number: "drop after"
    proxy.on_reply = lambda: near.put("a", b"later")
    with pytest.raises(PreconditionFailed):
        far.put("a", b"ours", CREATE)


# how many requests


def test_a_footer_and_a_small_file_take_one_request(proxy, far, near):
    rows = pa.table({"id": range(1000)})
    with near.open_output("small.parquet") as sink:
        pq.write_table(rows, sink)
    proxy.requests.clear()
    assert pq.read_table(far.open_input("small.parquet")).equals(rows)
    assert proxy.requests == ["GET bytes=-1048576"]


def test_small_reads_side_by_side_take_one_request(proxy, far, near):
    near.put("a", bytes(5_000_000))
    with far.open_input("a") as file:
        proxy.requests.clear()
        for offset in range(0, 500_000, 10_000):
            file.seek(1_000_000 + offset)
            assert len(file.read(10_000)) == 10_000
    assert proxy.requests == ["GET bytes=1000000-2048575"]


# credentials


SENTINELS = ["SENTINELKEYID", "SENTINEL/SECRET+VALUE", "SENTINELTOKEN=="]


@pytest.fixture
def secret_options(s3_server: str) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": SENTINELS[0], "AWS_SECRET_ACCESS_KEY": SENTINELS[1], "AWS_SESSION_TOKEN": SENTINELS[2],
        "AWS_ENDPOINT_URL": s3_server, "AWS_REGION": "us-east-1",
    }  # fmt: skip


def chain(error: BaseException | None) -> str:
    """Return every text of an error and what led to it."""
    texts = []
    while error is not None:
        texts += [str(error), repr(error), repr(error.__dict__), repr(error.args)]
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def test_credentials_show_nowhere(secret_options, monkeypatch):
    monkeypatch.setattr(store, "_RETRIES", {"max_retries": 0})
    monkeypatch.setattr(store, "SETTLE_S", 0)
    texts = []
    for url, extra in [("s3://bucket/t", {}), ("s3://nobucket/t", {}),
                       ("s3://bucket/t", {"endpoint": "http://127.0.0.1:1"}),
                       ("s3://bucket/t", {"endpoint": f"http://{SENTINELS[0]}:SENTINELPASS@127.0.0.1:1"})]:  # fmt: skip
        options = {**secret_options, **extra}
        if extra:
            options.pop("AWS_ENDPOINT_URL")
        storage = open_storage(url, options, FixedEnv())
        texts += [repr(storage), str(storage), storage.url, repr(storage.__dict__), repr(storage.traits)]
        for call in (lambda s=storage: s.get("missing"), lambda s=storage: s.put("a", b"1", CREATE),
                     lambda s=storage: s.put("a", b"2", CREATE), lambda s=storage: s.cas("a", b"1", "x"),
                     lambda s=storage: s.list(""), lambda s=storage: s.get_range("a", 100, 1)):  # fmt: skip
            try:
                call()
            except HudiError as error:
                texts.append(chain(error))
    assert len(texts) > 30
    for sentinel in [*SENTINELS, "SENTINELPASS"]:
        assert sentinel not in "\n".join(texts)


def test_credentials_travel_in_a_pickle(secret_options):
    storage = open_storage("s3://bucket/travelling", secret_options)
    storage.put("a", b"1")
    assert pickle.loads(pickle.dumps(storage)).get("a") == b"1"


def test_no_metadata_service_is_asked_where_that_is_forbidden(s3_server: str):
    with pytest.raises(PermissionDenied, match="credentials"):
        open_storage("s3://bucket/t", {"endpoint": s3_server})
    assert open_storage("s3://bucket/t", {"endpoint": s3_server, "anonymous": True}).list("never") == []


def test_a_session_token_of_the_environment_is_not_mixed_with_explicit_keys(s3_server: str, proxy: Proxy, monkeypatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-another-account")
    tokens = []
    real = _Pass._pass

    def watch(self: _Pass) -> None:
        tokens.append(self.headers.get("x-amz-security-token"))
        real(self)

    monkeypatch.setattr(_Pass, "do_GET", watch)
    open_s3(proxy.url).list("")
    assert tokens == [None]


def test_the_environment_opens_a_store_when_no_options_are_given(s3_server: str, monkeypatch):
    for name, value in [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s"), ("AWS_ENDPOINT_URL", s3_server)]:
        monkeypatch.setenv(name, value)
    storage = open_storage("s3://bucket/from-environment", env=FixedEnv())
    storage.put("a", b"1")
    assert storage.get("a") == b"1"

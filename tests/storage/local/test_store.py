"""Local disk: what is special to it beside the contract of every store."""

import fcntl
import os
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.conformance.storage import StorageTests, break_off
from tests.fixed_env import FixedEnv

from pyhudi.errors import FileMissing, HudiError, InvalidInput, PermissionDenied, PreconditionFailed, StorageFull
from pyhudi.storage.api import PutMode
from pyhudi.storage.local import LocalStorage, posix, publish


class TestLocalStorage(StorageTests):
    has_head_version = False

    @pytest.fixture
    def storage(self, tmp_path: Path):
        return LocalStorage(str(tmp_path / "some" / "table"))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
def storage(base: Path) -> LocalStorage:
    return LocalStorage(str(base))


@pytest.mark.parametrize("spelling", ["{}", "file:{}", "file://{}", "file://{}/"])
def test_every_spelling_of_a_path_is_the_same_place(base: Path, spelling: str):
    storage = LocalStorage(spelling.format(base))
    assert storage.url == f"file://{base}"
    assert repr(storage) == f"LocalStorage({str(base)!r})"


def test_the_address_of_another_store_is_no_local_path():
    with pytest.raises(InvalidInput):
        LocalStorage("s3://bucket/t")


def test_relative_and_home_paths_are_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert LocalStorage("trips").url == f"file://{tmp_path}/trips"
    assert LocalStorage("~/trips").url == f"file://{tmp_path}/home/trips"


def test_a_pickled_store_opens_the_same_place_from_another_directory(monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    packed = pickle.dumps(LocalStorage("trips"))
    monkeypatch.chdir("/")
    assert pickle.loads(packed).url == f"file://{tmp_path}/trips"


def test_reading_creates_nothing(storage: LocalStorage, base: Path):
    storage.list("")
    storage.delete("a/b")
    storage.delete_tree("a")
    with pytest.raises(FileMissing):
        storage.get("a")
    assert not base.exists()


# order of system calls


class Calls:
    """Record the calls that decide durability, but for syncs of directories that other programs change, as `/tmp`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, storage: LocalStorage) -> None:
        self.seen: list[str] = []
        self.own = os.path.dirname(storage.url.removeprefix("file://"))
        for name in ("fsync", "link", "rename", "unlink"):
            self._wrap(monkeypatch, name, getattr(os, name))

    def _wrap(self, monkeypatch: pytest.MonkeyPatch, name: str, real):
        def call(*args, **kwargs):
            what, is_own = name, True
            if name == "fsync":
                path = os.readlink(f"/proc/self/fd/{args[0]}")
                what, is_own = ("fsync directory" if os.path.isdir(path) else "fsync file"), path.startswith(self.own)
            result = real(*args, **kwargs)
            if is_own:
                self.seen.append(what)
            return result

        monkeypatch.setattr(os, name, call)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="tells files from directories by /proc")
@pytest.mark.parametrize(("mode", "move"), [(PutMode.CREATE, "link"), (PutMode.OVERWRITE, "rename")])
@pytest.mark.parametrize("is_streamed", [True, False])
def test_a_file_is_synced_before_it_is_named_and_its_directory_after(storage, monkeypatch, mode, move, is_streamed):
    warm_up(storage, "d/warm")
    calls = Calls(monkeypatch, storage)
    if is_streamed:
        with storage.open_output("d/a", mode) as sink:
            sink.write(b"x")
    else:
        storage.put("d/a", b"x", mode)
    assert [call for call in calls.seen if call != "unlink"] == ["fsync file", move, "fsync directory"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="tells files from directories by /proc")
def test_new_directories_are_synced_into_their_parents(storage: LocalStorage, monkeypatch):
    warm_up(storage, "warm")
    calls = Calls(monkeypatch, storage)
    storage.put("x/y/a", b"x")
    assert calls.seen.count("fsync directory") == 3


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="tells files from directories by /proc")
def test_directories_that_others_made_are_synced_into_their_parents_until_they_stay_as_they_are(storage, monkeypatch):
    warm_up(storage, "warm")
    os.makedirs(os.path.join(storage.url.removeprefix("file://"), "x/y"))
    calls = Calls(monkeypatch, storage)
    storage.put("x/y/a", b"x")
    assert calls.seen.count("fsync directory") == 2 + 1
    warm_up(storage, "x/y/a")
    calls.seen.clear()
    storage.put("x/y/b", b"x")
    assert calls.seen.count("fsync directory") == 1


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="tells directories by /proc")
def test_a_directory_is_synced_that_has_the_inode_of_one_that_was_removed(storage: LocalStorage, base, monkeypatch):
    synced = []
    fstat, fsync = os.fstat, os.fsync

    def fstat_with_few_inodes(fd):
        found = fstat(fd)
        if not os.path.isdir(f"/proc/self/fd/{fd}"):
            return found
        same = [number if field != 1 else 7 for field, number in enumerate(found)]
        return os.stat_result(same, {"st_ctime_ns": found.st_ctime_ns})

    def noted_fsync(fd):
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        fsync(fd)

    monkeypatch.setattr(os, "fstat", fstat_with_few_inodes)
    monkeypatch.setattr(os, "fsync", noted_fsync)
    warm_up(storage, "old/a")
    storage.delete_tree("old")
    for name in ("new", "newer"):
        synced.clear()
        storage.put(f"{name}/a", b"x")
        assert str(base) in synced


def warm_up(storage: LocalStorage, path: str) -> None:
    """Write a file twice, the second time when the clock of files has moved on: the directories are known then."""
    storage.put(path, b"up")
    time.sleep(0.05)
    storage.put(path, b"up")


# temporary files


def test_temporary_files_show_in_no_listing(storage: LocalStorage):
    with storage.open_output("d/a") as sink:
        sink.write(b"x")
        assert storage.list("") == []
        assert storage.list(".hoodie") == []
        assert storage.list_directory("").directories == ()
        assert storage.list_names(".hoodie/.tmp") == ()
    storage.put(".hoodie/hoodie.properties", b"x")
    assert [found.path for found in storage.list("")] == [".hoodie/hoodie.properties", "d/a"]
    assert storage.list_directory(".hoodie").directories == ()


def test_names_are_read_without_a_look_at_the_files(storage: LocalStorage, monkeypatch: pytest.MonkeyPatch):
    for name in ("b", "a"):
        storage.put(f"d/{name}", b"x")
    monkeypatch.setattr(posix, "require_plain", pytest.fail)
    assert storage.list_names("d") == ("a", "b")


def test_nothing_temporary_is_left_by_success_or_failure(storage: LocalStorage, base: Path):
    storage.put("a", b"1", PutMode.CREATE)
    with pytest.raises(PreconditionFailed):
        storage.put("a", b"2", PutMode.CREATE)
    with pytest.raises(KeyError):
        break_off(storage, "b", PutMode.OVERWRITE, b"x")
    assert os.listdir(base / ".hoodie" / ".tmp") in ([], ["swap.lock"])


def test_two_writers_with_the_same_seed_do_not_share_a_temporary_file(base: Path):
    one, other = LocalStorage(str(base), FixedEnv(seed=1)), LocalStorage(str(base), FixedEnv(seed=1))
    with one.open_output("a") as first, other.open_output("b") as second:
        first.write(b"1")
        second.write(b"2")
    assert (one.get("a"), one.get("b")) == (b"1", b"2")


def test_what_a_killed_writer_left_is_swept_and_a_living_one_is_left_alone(storage: LocalStorage, base: Path):
    with storage.open_output("alive") as sink:
        (base / ".hoodie" / ".tmp" / "left").write_bytes(b"x")
        assert storage._temporaries.sweep(older_than_ms=0) == 1
        sink.write(b"x")
    assert storage.get("alive") == b"x"


def test_a_fresh_leftover_is_not_swept(storage: LocalStorage, base: Path):
    storage.put("a", b"x")
    (base / ".hoodie" / ".tmp" / "left").write_bytes(b"x")
    assert storage._temporaries.sweep() == 0


KILLED = """
    import sys, time
    from pyhudi.storage.local import LocalStorage
    from pyhudi.storage.api import PutMode
    with LocalStorage(sys.argv[1]).open_output("d/a", PutMode(sys.argv[2])) as sink:
        sink.write(b"x" * 5_000_000)
        print("written", flush=True)
        sys.stdin.read()
"""


@pytest.mark.parametrize("mode", list(PutMode))
def test_a_writer_killed_in_the_middle_leaves_nothing_to_see(storage: LocalStorage, base: Path, mode: PutMode):
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(base), mode.value]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"written\n"
        assert storage._temporaries.sweep(older_than_ms=0) == 0
        writer.send_signal(signal.SIGKILL)
    assert storage.list("") == []
    assert storage._temporaries.sweep(older_than_ms=0) == 1
    assert os.listdir(base / ".hoodie" / ".tmp") == []


# other processes

RACING = """
    import sys
    from pyhudi.errors import PreconditionFailed
    from pyhudi.storage.local import LocalStorage
    from pyhudi.storage.api import PutMode
    storage, racer = LocalStorage(sys.argv[1]), sys.argv[2]
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            storage.put(f"race/{line.strip()}", f"racer {racer}".encode(), PutMode.CREATE)
            print("won", flush=True)
        except PreconditionFailed:
            print("lost", flush=True)
"""


def test_one_of_many_processes_creates_a_file(storage: LocalStorage, base: Path):
    command = [sys.executable, "-c", textwrap.dedent(RACING), str(base)]
    racers = [
        subprocess.Popen([*command, str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for n in range(4)
    ]
    assert {racer.stdout.readline() for racer in racers} == {"ready\n"}
    for number in range(25):
        for racer in racers:
            racer.stdin.write(f"{number}\n")
            racer.stdin.flush()
        results = [racer.stdout.readline().strip() for racer in racers]
        assert sorted(results) == ["lost", "lost", "lost", "won"]
        assert storage.get(f"race/{number}") == f"racer {results.index('won')}".encode()
    for racer in racers:
        racer.stdin.close()
        racer.stdout.close()
        racer.wait()


HOLDING = """
    import sys
    from pyhudi.storage.local import LocalStorage
    with LocalStorage(sys.argv[1]).guard("l", 1):
        print("held", flush=True)
        sys.stdin.read()
"""


def test_the_guard_of_a_killed_process_is_free_at_once(storage: LocalStorage, base: Path):
    command = [sys.executable, "-c", textwrap.dedent(HOLDING), str(base)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(HudiError), storage.guard("l", 0.01):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with storage.guard("l", 5):
            pass


def test_a_guard_whose_file_was_deleted_does_not_let_two_in(storage: LocalStorage, base: Path):
    with storage.guard("l", 0):
        (base / "l").unlink()
        with storage.guard("l", 0), pytest.raises(HudiError), storage.guard("l", 0):
            pass


def test_the_guard_waits_through_the_env(base: Path):
    env = FixedEnv()
    waiting = LocalStorage(str(base), env)
    with LocalStorage(str(base)).guard("l", 0):
        before_s = env.monotonic_s()
        with pytest.raises(HudiError), waiting.guard("l", 60):
            pass
    assert 60 <= env.monotonic_s() - before_s < 61


# links, pipes and devices


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    (place / "secret").write_bytes(b"secret")
    return place


def test_no_link_is_followed_out_of_the_base_path(storage: LocalStorage, base: Path, outside: Path):
    storage.put("p/a", b"1")
    (base / "link").symlink_to(outside)
    (base / "p" / "file").symlink_to(outside / "secret")
    calls = [
        lambda: storage.get("link/secret"), lambda: storage.get("p/file"), lambda: storage.head("p/file"),
        lambda: storage.get_range("p/file", 0, 1), lambda: storage.open_input("link/secret"),
        lambda: storage.put("link/new", b"x"), lambda: storage.put("link/new", b"x", PutMode.CREATE),
        lambda: storage.open_output("link/new").__enter__().write(b"x") and storage.delete("link/secret"),
        lambda: storage.list("link"), lambda: storage.list("p"), lambda: storage.list(""),
        lambda: storage.list_directory("p"), lambda: storage.list_names("p"), lambda: storage.delete("link/secret"),
        lambda: storage.delete_tree("link/x"), lambda: storage.guard("link/l", 0).__enter__(),
        lambda: storage.make_directory("link/d"), lambda: storage.guard("p/file", 0).__enter__(),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(InvalidInput, match="link"):
            call()
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_bytes() == b"secret"


def test_deleting_a_tree_removes_links_and_not_their_targets(storage: LocalStorage, base: Path, outside: Path):
    storage.put("p/a", b"1")
    (base / "p" / "link").symlink_to(outside)
    storage.delete_tree("p")
    assert not (base / "p").exists()
    assert (outside / "secret").exists()


def test_overwriting_a_link_replaces_the_link(storage: LocalStorage, base: Path, outside: Path):
    storage.put("a", b"1")
    (base / "link").symlink_to(outside / "secret")
    storage.put("link", b"mine")
    assert (outside / "secret").read_bytes() == b"secret"
    assert storage.get("link") == b"mine"


def test_a_base_path_that_is_a_link_is_the_users(tmp_path: Path, storage: LocalStorage, base: Path):
    storage.put("a", b"1")
    (tmp_path / "alias").symlink_to(base)
    assert LocalStorage(str(tmp_path / "alias")).get("a") == b"1"


def test_a_pipe_in_the_table_neither_hangs_nor_hides(storage: LocalStorage, base: Path):
    storage.put("p/a", b"1")
    os.mkfifo(base / "p" / "pipe")
    for call in (storage.get, storage.open_input, storage.head):
        with pytest.raises(InvalidInput):
            call("p/pipe")
    with pytest.raises(InvalidInput, match="pipe"):
        storage.list("p")


def test_a_socket_in_the_table_is_refused(storage: LocalStorage, base: Path, monkeypatch):
    storage.put("a", b"1")
    monkeypatch.chdir(base)
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind("s")
        with pytest.raises(HudiError):
            storage.get("s")
        with pytest.raises(InvalidInput):
            storage.list("")


# errors


@pytest.mark.parametrize("mode", list(PutMode))
def test_a_directory_in_the_way_of_a_file_is_named(storage: LocalStorage, mode: PutMode):
    storage.put("d/a", b"1")
    with pytest.raises(InvalidInput, match="directory"):
        storage.put("d", b"x", mode)
    with pytest.raises(InvalidInput, match="directory"):
        storage.put("d/a/b", b"x", mode)
    assert storage.get("d/a") == b"1"


def test_deleting_a_directory_as_a_file_does_nothing(storage: LocalStorage):
    storage.put("d/a", b"1")
    storage.delete("d")
    assert storage.get("d/a") == b"1"


def test_a_name_the_file_system_cannot_store_is_bad_input(storage: LocalStorage):
    with pytest.raises(InvalidInput):
        storage.put("x" * 300, b"1")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory_is_permission_denied(storage: LocalStorage, base: Path):
    storage.put("a", b"1")
    (base / ".hoodie" / ".tmp").chmod(0o500)
    try:
        with pytest.raises(PermissionDenied):
            storage.put("b", b"1")
    finally:
        (base / ".hoodie" / ".tmp").chmod(0o700)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk_is_storage_full_and_nothing_is_left(storage: LocalStorage, monkeypatch):
    storage.put("a", b"old")
    real = os.open

    def on_full_disk(name, flags, *args, **kwargs):
        return real("/dev/full", os.O_WRONLY) if flags & os.O_EXCL else real(name, flags, *args, **kwargs)

    monkeypatch.setattr(publish.os, "open", on_full_disk)
    with pytest.raises(StorageFull):
        storage.put("a", b"new")
    with pytest.raises(StorageFull), storage.open_output("a") as sink:
        sink.write(b"x" * 5_000_000)
    with pytest.raises(StorageFull), storage.open_output("a") as sink:
        sink.write(b"x")
    monkeypatch.undo()
    assert storage.get("a") == b"old"
    assert [found.path for found in storage.list("")] == ["a"]


def test_a_short_write_is_continued(storage: LocalStorage, monkeypatch):
    real = os.write
    monkeypatch.setattr(posix.os, "write", lambda fd, data: real(fd, data[:7]))
    storage.put("a", b"0123456789" * 10)
    with storage.open_output("b") as sink:
        sink.write(b"0123456789" * 10)
    monkeypatch.undo()
    assert storage.get("a") == storage.get("b") == b"0123456789" * 10


def test_an_error_of_the_callers_own_passes_through_a_stream(storage: LocalStorage):
    with pytest.raises(FileNotFoundError) as raised, storage.open_output("a"):
        (Path(storage.url) / "nowhere").read_bytes()
    assert not isinstance(raised.value, HudiError)


# checksums that Hadoop keeps beside its files


def overwrite(storage: LocalStorage, path: str) -> None:
    storage.put(path, b"new")


def stream(storage: LocalStorage, path: str) -> None:
    with storage.open_output(path) as sink:
        sink.write(b"new")


def swap(storage: LocalStorage, path: str) -> None:
    storage.cas(path, b"new", storage.get_versioned(path)[1])


def create(storage: LocalStorage, path: str) -> None:
    os.remove(f"{storage.url.removeprefix('file://')}/{path}")
    storage.put(path, b"new", PutMode.CREATE)


def delete(storage: LocalStorage, path: str) -> None:
    storage.delete(path)


@pytest.mark.parametrize("change", [overwrite, stream, swap, create, delete])
def test_the_checksum_of_hadoop_goes_before_its_file_is_replaced_or_deleted(storage, base: Path, monkeypatch, change):
    storage.put("d/a", b"old")
    storage.put("d/.a.crc", b"of the old bytes")
    storage.put("d/.b.crc", b"of another file")
    seen = []
    for name in ("rename", "link", "unlink"):
        real = getattr(os, name)

        def watch(*args, name=name, real=real, **kwargs):
            seen.append((name, (base / "d" / ".a.crc").exists()))
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, watch)
    change(storage, "d/a")
    monkeypatch.undo()
    assert seen[0] == ("unlink", True)
    assert len(seen) > 1
    assert not any(is_there for _, is_there in seen[1:])
    assert (base / "d" / ".b.crc").exists()


def test_a_file_that_was_created_before_keeps_its_checksum(storage: LocalStorage):
    storage.put("d/lock", b"")
    storage.put("d/.lock.crc", b"of Apache Hudi's lock")
    with pytest.raises(PreconditionFailed):
        storage.put("d/lock", b"ours", PutMode.CREATE)
    assert storage.get("d/.lock.crc") == b"of Apache Hudi's lock"


def test_a_name_too_long_to_have_a_checksum_is_written_and_deleted(storage: LocalStorage):
    storage.put("x" * 255, b"1")
    storage.put("x" * 255, b"2")
    storage.delete("x" * 255)
    assert storage.list("") == []


# swapping beside replacing


def is_locked_against(base: Path, kind: int) -> bool:
    with (base / ".hoodie" / ".tmp" / "swap.lock").open("ab") as file:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_nothing_is_replaced_between_the_look_and_the_replacement_of_a_swap(storage, base: Path, monkeypatch):
    storage.put("a", b"1")
    _, version = storage.get_versioned("a")
    seen = []
    monkeypatch.setattr(storage, "_require_version", lambda *_: seen.append(is_locked_against(base, fcntl.LOCK_SH)))
    storage.cas("a", b"2", version)
    assert seen == [True]


@pytest.mark.parametrize("call", ["rename", "unlink"])
def test_what_replaces_or_removes_a_file_waits_for_a_swap(storage, base: Path, monkeypatch, call: str):
    storage.put("a", b"1")
    real, seen = getattr(os, call), []

    def watch(name, *args, **kwargs):
        seen.append(is_locked_against(base, fcntl.LOCK_EX))
        return real(name, *args, **kwargs)

    monkeypatch.setattr(os, call, watch)
    if call == "rename":
        storage.put("a", b"2")
    else:
        storage.delete("a")
    assert seen[0]


def test_errors_of_the_file_system_name_the_table(tmp_path):
    storage = LocalStorage(str(tmp_path / "trips"))
    (tmp_path / "trips" / "a").mkdir(parents=True)
    for call in (lambda: storage.get("gone"), lambda: storage.put("a", b"data")):
        with pytest.raises(HudiError) as told:
            call()
        assert told.value.values["table"] == storage.url

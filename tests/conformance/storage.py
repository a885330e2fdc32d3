"""What every store owes, as one test class.

Subclass it, give a `storage` fixture (an empty store), and set the class attributes that say where it may differ.
"""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.errors import CorruptData, FileMissing, InvalidInput, LockNotAcquired, PreconditionFailed, Unsupported
from pyhudi.storage.api import Directory, PutMode, Storage

CREATE = PutMode.CREATE
ODD_NAMES = ["a=b c", "per%2Fcent", "q#?*~", "ü", "x[1]", "it's \"{}^|`<>", ".hidden", "a:b", "day=2026-01-01+00%3A00"]
OUTSIDE = ["../x", "a/../../x", "/etc/passwd", "a//b", "a/./b", "a\\b", "a\x00b", "s3://bucket/x", "a/", ".."]


def break_off(storage: Storage, path: str, mode: PutMode, data: bytes) -> None:
    """Begin a stream and leave it by a KeyError."""
    with storage.open_output(path, mode) as sink:
        sink.write(data)
        raise KeyError


class StorageTests:
    """The contract of `pyhudi.storage.api.Storage`."""

    racers = 32
    rounds = 100
    has_head_version = True
    """`head` and listings give the version that `cas` compares."""

    @pytest.fixture
    def storage(self) -> Storage:
        raise NotImplementedError

    # reading and writing whole files

    def test_what_was_put_is_read_back(self, storage: Storage):
        storage.put("a/b/c.txt", b"hello")
        assert storage.get("a/b/c.txt") == b"hello"

    def test_an_empty_file_is_a_file(self, storage: Storage):
        storage.put("empty", b"")
        assert storage.get("empty") == b""
        assert storage.head("empty").size_bytes == 0
        with storage.open_input("empty") as file:
            assert file.read() == b""

    def test_put_replaces(self, storage: Storage):
        storage.put("a", b"1")
        storage.put("a", b"22")
        assert storage.get("a") == b"22"

    def test_create_does_not_replace(self, storage: Storage):
        storage.put("a", b"1", CREATE)
        with pytest.raises(PreconditionFailed):
            storage.put("a", b"2", CREATE)
        assert storage.get("a") == b"1"

    def test_create_after_delete_works(self, storage: Storage):
        storage.put("a", b"1", CREATE)
        storage.delete("a")
        storage.put("a", b"2", CREATE)
        assert storage.get("a") == b"2"

    def test_empty_files_are_created_once(self, storage: Storage):
        storage.put("a", b"", CREATE)
        with pytest.raises(PreconditionFailed):
            storage.put("a", b"", CREATE)

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_odd_names_survive(self, storage: Storage, name: str):
        path = f"odd/{name}/{name}"
        storage.put(path, name.encode())
        assert storage.get(path) == name.encode()
        assert [found.path for found in storage.list("")] == [path]
        assert storage.list_directory("odd").directories == (f"odd/{name}",)
        storage.delete(path)
        assert storage.list("") == []

    def test_a_large_file_survives(self, storage: Storage):
        data = bytes(range(256)) * 4096 * 12
        storage.put("large", data)
        assert storage.get("large") == data
        storage.put("large-created", data, CREATE)
        assert storage.get("large-created") == data

    # what is not there

    @pytest.mark.parametrize("path", ["nothing", "a/nothing", "file/below", "a"])
    def test_reading_what_is_no_file_says_so(self, storage: Storage, path: str):
        storage.put("a/file", b"1")
        storage.put("file", b"1")
        for read in (storage.get, storage.head, storage.open_input, lambda path: storage.get_range(path, 0, 1)):
            with pytest.raises(FileMissing):
                read(path)

    def test_deleting_twice_is_fine(self, storage: Storage):
        storage.put("a/b", b"1")
        storage.delete("a/b")
        storage.delete("a/b")
        storage.delete("never/was")
        with pytest.raises(FileMissing):
            storage.get("a/b")

    def test_listing_nothing_is_empty(self, storage: Storage):
        assert storage.list("") == []
        assert storage.list("nothing/here") == []
        assert storage.list_directory("nothing") == Directory(files=(), directories=())
        assert storage.list_names("nothing") == storage.list_names(".hoodie/.tmp") == ()

    # ranges

    def test_a_range_is_exact(self, storage: Storage):
        storage.put("a", b"0123456789")
        assert storage.get_range("a", 2, 3) == b"234"
        assert storage.get_range("a", 0, 10) == b"0123456789"
        assert storage.get_range("a", 9, 1) == b"9"
        assert storage.get_range("a", 4, 0) == b""

    @pytest.mark.parametrize(("offset", "length"), [(8, 3), (10, 1), (100, 5), (0, 11)])
    def test_a_range_past_the_end_is_corrupt_data(self, storage: Storage, offset: int, length: int):
        storage.put("a", b"0123456789")
        with pytest.raises(CorruptData):
            storage.get_range("a", offset, length)

    @pytest.mark.parametrize(("offset", "length"), [(-1, 3), (0, -1)])
    def test_a_negative_range_is_refused(self, storage: Storage, offset: int, length: int):
        storage.put("a", b"0123456789")
        with pytest.raises(InvalidInput):
            storage.get_range("a", offset, length)

    # listings

    def test_listing_is_deep_sorted_and_whole(self, storage: Storage):
        paths = ["b", "a/2", "a/1", "a/sub/deep/er", "a-b/x", "ab"]
        for path in paths:
            storage.put(path, path.encode())
        assert [found.path for found in storage.list("")] == sorted(paths)
        assert [found.path for found in storage.list("a")] == ["a/1", "a/2", "a/sub/deep/er"]
        assert [found.size_bytes for found in storage.list("a")] == [3, 3, 13]

    def test_a_directory_lists_its_direct_children(self, storage: Storage):
        for path in ["b", "a/2", "a/1", "a/sub/deep/er", "a/.dot/x", "c/y"]:
            storage.put(path, b"x")
        found = storage.list_directory("a")
        assert [file.path for file in found.files] == ["a/1", "a/2"]
        assert found.directories == ("a/.dot", "a/sub")
        root = storage.list_directory("")
        assert [file.path for file in root.files] == ["b"]
        assert root.directories == ("a", "c")

    def test_a_directory_names_its_files(self, storage: Storage):
        for path in ["b", "a/2", "a/1", "a/sub/deep/er"]:
            storage.put(path, b"x")
        assert storage.list_names("a") == ("1", "2")
        assert storage.list_names("") == ("b",)

    def test_a_listing_shows_each_write_and_delete_at_once(self, storage: Storage):
        for number in range(20):
            storage.put(f"d/{number:02}", b"x", CREATE)
            assert len(storage.list("d")) == number + 1
        storage.delete("d/07")
        assert "d/07" not in [found.path for found in storage.list("d")]

    def test_head_agrees_with_the_listing(self, storage: Storage):
        storage.put("a/b", b"123")
        [listed] = storage.list("a")
        assert storage.head("a/b") == listed
        assert listed.name == "b"
        assert listed.modified_ms > 1_500_000_000_000

    def test_a_tree_is_deleted_and_nothing_else(self, storage: Storage):
        for path in ["a/1", "a/b/2", "ab", "a-/x", "c"]:
            storage.put(path, b"x")
        storage.delete_tree("a")
        assert [found.path for found in storage.list("")] == ["a-/x", "ab", "c"]
        storage.delete_tree("a")
        storage.delete_tree("")
        assert storage.list("") == []
        storage.put("again", b"x")
        assert [found.path for found in storage.list("")] == ["again"]

    def test_making_a_directory_shows_no_file(self, storage: Storage):
        storage.make_directory("a/b")
        storage.make_directory("a/b")
        assert storage.list("") == []
        storage.put("a/b/c", b"x")
        assert [found.path for found in storage.list("")] == ["a/b/c"]

    # versions

    def test_a_stale_version_is_refused(self, storage: Storage):
        self._need_cas(storage)
        storage.put("a", b"1")
        data, first = storage.get_versioned("a")
        second = storage.cas("a", b"2", first)
        assert (data, first != second) == (b"1", True)
        with pytest.raises(PreconditionFailed):
            storage.cas("a", b"3", first)
        assert storage.get_versioned("a") == (b"2", second)

    def test_swapping_what_was_deleted_is_refused(self, storage: Storage):
        self._need_cas(storage)
        storage.put("a", b"1")
        _, version = storage.get_versioned("a")
        storage.delete("a")
        with pytest.raises(PreconditionFailed):
            storage.cas("a", b"2", version)
        assert storage.list("") == []

    def test_head_gives_the_version_where_it_has_one(self, storage: Storage):
        self._need_cas(storage)
        storage.put("a", b"1")
        assert storage.head("a").version == (storage.get_versioned("a")[1] if self.has_head_version else "")

    def test_one_of_many_swappers_wins(self, storage: Storage):
        self._need_cas(storage)
        storage.put("a", b"0")
        for number in range(5):
            _, version = storage.get_versioned("a")
            winners = self._race(lambda racer, n=number, v=version: storage.cas("a", f"{n} {racer}".encode(), v))
            assert len(winners) == 1
            assert storage.get("a") == f"{number} {winners[0]}".encode()

    # streams

    def test_a_stream_appears_whole_when_it_is_left(self, storage: Storage):
        with storage.open_output("d/a") as sink:
            sink.write(b"x" * 100_000)
            sink.write(b"y" * 3_000_000)
            assert storage.list("") == []
        assert storage.get("d/a") == b"x" * 100_000 + b"y" * 3_000_000

    @pytest.mark.parametrize("size_bytes", [10, 20_000_000])
    @pytest.mark.parametrize("mode", list(PutMode))
    def test_a_stream_left_by_an_exception_never_appears(self, storage: Storage, size_bytes: int, mode: PutMode):
        with pytest.raises(KeyError):
            break_off(storage, "d/a", mode, b"x" * size_bytes)
        assert storage.list("") == []

    def test_a_stream_left_by_an_exception_keeps_what_was_there(self, storage: Storage):
        storage.put("a", b"old")
        with pytest.raises(KeyError):
            break_off(storage, "a", PutMode.OVERWRITE, b"new")
        assert storage.get("a") == b"old"

    def test_an_empty_stream_is_an_empty_file(self, storage: Storage):
        with storage.open_output("a"):
            pass
        assert storage.head("a").size_bytes == 0

    def test_a_created_stream_does_not_replace(self, storage: Storage):
        storage.put("a", b"old")
        with pytest.raises(PreconditionFailed), storage.open_output("a", CREATE) as sink:
            sink.write(b"new")
        assert storage.get("a") == b"old"

    @pytest.mark.parametrize("mode", list(PutMode))
    def test_parquet_is_written_and_read_through_streams(self, storage: Storage, mode: PutMode):
        rows = pa.table({"id": range(50_000), "text": [f"row {i % 977}" for i in range(50_000)]})
        with storage.open_output("p/rows.parquet", mode) as sink, pq.ParquetWriter(sink, rows.schema) as writer:
            for batch in rows.to_batches(10_000):
                writer.write_batch(batch, row_group_size=10_000)
        assert pq.read_table(storage.open_input("p/rows.parquet")).equals(rows)
        assert pq.ParquetFile(storage.open_input("p/rows.parquet")).read_row_group(3, ["id"])["id"][0].as_py() == 30_000

    def test_a_writer_may_close_the_stream(self, storage: Storage):
        with storage.open_output("a") as sink:
            sink.write(b"x")
            sink.close()
        assert storage.get("a") == b"x"

    def test_an_input_reads_anywhere(self, storage: Storage):
        data = bytes(range(256)) * 16_384
        storage.put("a", data)
        with storage.open_input("a") as file:
            assert file.size() == len(data)
            for offset, length in [
                (0, 4),
                (len(data) - 8, 8),
                (1_500_000, 100),
                (1_500_050, 10),
                (2_000_000, 2_000_000),
            ]:
                file.seek(offset)
                assert file.read(length) == data[offset : offset + length]
            file.seek(len(data) - 3)
            assert file.read(10) == data[-3:]
            assert file.read(10) == b""

    # paths

    @pytest.mark.parametrize("path", OUTSIDE)
    def test_no_path_leaves_the_base_path(self, storage: Storage, path: str):
        calls = [
            storage.get, storage.get_versioned, storage.head, storage.list, storage.list_directory, storage.list_names,
            storage.delete, storage.delete_tree, storage.make_directory, storage.open_input,
            lambda path: storage.get_range(path, 0, 1), lambda path: storage.put(path, b"x"),
            lambda path: storage.put(path, b"x", CREATE), lambda path: storage.cas(path, b"x", "1"),
            lambda path: storage.open_output(path).__enter__(), lambda path: storage.guard(path, 0).__enter__(),
        ]  # fmt: skip
        for call in calls:
            with pytest.raises((InvalidInput, Unsupported)):
                call(path)

    def test_the_base_path_is_no_file(self, storage: Storage):
        for call in (storage.get, storage.head, storage.delete, lambda path: storage.put(path, b"x")):
            with pytest.raises(InvalidInput):
                call("")

    # many at once

    def test_one_of_many_creators_wins(self, storage: Storage):
        if not storage.traits.has_atomic_create:
            pytest.skip("one writer only")
        with ThreadPoolExecutor(self.racers) as pool:
            for number in range(self.rounds):
                path = f"race/{number}"
                winners = _race(lambda racer, path=path: storage.put(path, f"racer {racer}".encode(), CREATE), pool)
                assert len(winners) == 1
                assert storage.get(path) == f"racer {winners[0]}".encode()
        assert len(storage.list("race")) == self.rounds

    def test_one_of_many_created_streams_wins(self, storage: Storage):
        if not storage.traits.has_atomic_create:
            pytest.skip("one writer only")

        def create(racer: int) -> None:
            with storage.open_output("race", CREATE) as sink:
                sink.write(f"racer {racer}".encode() * 1000)

        winners = self._race(create)
        assert len(winners) == 1
        assert storage.get("race") == f"racer {winners[0]}".encode() * 1000

    def test_a_reader_sees_old_or_new_and_nothing_between(self, storage: Storage):
        if not storage.traits.has_atomic_create:
            pytest.skip("one writer only, and readers beside it may miss a file that is replaced")
        sizes = [10, 300_000]
        contents = {bytes([65 + n]) * sizes[n % 2] for n in range(4)}
        ordered = sorted(contents)
        storage.put("a", ordered[0])
        stop = threading.Event()
        seen: set[bytes] = set()

        def read() -> None:
            while not stop.is_set():
                seen.add(storage.get("a"))

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(20):
            storage.put("a", ordered[number % 4])
        stop.set()
        reader.join()
        assert seen <= contents

    def test_the_guard_excludes(self, storage: Storage):
        if not storage.traits.has_guard:
            with pytest.raises(Unsupported):
                storage.guard("l", 0).__enter__()
            return
        inside = []

        def enter(racer: int) -> None:
            with storage.guard(".hoodie/.locks/l", 30):
                inside.append(racer)
                assert inside == [racer]
                inside.pop()

        assert len(self._race(enter)) == self.racers

    def test_a_held_guard_is_given_up_after_the_timeout(self, storage: Storage):
        if not storage.traits.has_guard:
            pytest.skip("no guard")
        with storage.guard("locks/l", 0):
            with pytest.raises(LockNotAcquired), storage.guard("locks/l", 0.02):
                pass
            with storage.guard("locks/other", 0):
                pass
        with suppress(KeyError), storage.guard("locks/l", 0):
            raise KeyError
        with storage.guard("locks/l", 0):
            pass

    def test_a_store_pickles_or_says_why_not(self, storage: Storage):
        storage.put("a", b"1")
        if not storage.traits.is_picklable:
            with pytest.raises(Exception, match="worker"):
                pickle.dumps(storage)
            return
        other = pickle.loads(pickle.dumps(storage))
        assert other.url == storage.url
        assert other.get("a") == b"1"

    def _race(self, write) -> list[int]:
        with ThreadPoolExecutor(self.racers) as pool:
            return _race(write, pool)

    def _need_cas(self, storage: Storage) -> None:
        if not storage.traits.has_cas:
            pytest.skip("no compare-and-swap")


def _race(write, pool: ThreadPoolExecutor) -> list[int]:
    """Run `write(racer)` in all threads of the pool at once; give those that did not lose."""
    racers = range(pool._max_workers)
    start = threading.Barrier(len(racers))

    def run(racer: int) -> bool:
        start.wait()
        try:
            write(racer)
        except PreconditionFailed:
            return False
        return True

    return [racer for racer, is_winner in enumerate(pool.map(run, racers)) if is_winner]

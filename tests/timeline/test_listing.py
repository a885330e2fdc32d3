"""A listing that the store makes of several answers, between which writers go on."""

import os
from dataclasses import replace
from itertools import count

import pytest
from tests.fixed_env import FixedEnv
from tests.new_states import new_state

from pyhudi.errors import StorageUnavailable
from pyhudi.storage.api import Directory
from pyhudi.storage.local import LocalStorage
from pyhudi.storage.memory import MemoryStorage
from pyhudi.storage.object_store import ObjectStorage
from pyhudi.storage.opening import open_storage
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.listing import list_instants

FIRST, A, B = "20260101000000001", "20260101000000003", "20260101000000005"


class Torn(MemoryStorage):
    """Files that are listed in two answers, of which the second begins with B; what comes between may be told."""

    listed_at_once = 0

    def __init__(self, env):
        super().__init__(env=env)
        self.between = []
        """What happens in the middle of each listing, one after the other."""
        self.listings = 0

    @property
    def traits(self):
        return replace(super().traits, listed_at_once=self.listed_at_once)

    def list_directory(self, prefix):
        self.listings += 1
        first = super().list_directory(prefix)
        if self.between:
            self.between.pop(0)()
        second = super().list_directory(prefix)
        kept = [one for one in first.files if one.name < B] + [one for one in second.files if one.name >= B]
        return Directory(files=tuple(kept), directories=second.directories)


@pytest.fixture
def torn():
    env = FixedEnv()
    storage = Torn(env)
    return storage, new_state(storage=storage, env=env)


def put(state, *names):
    for name in names:
        state.storage.put(f"{state.layout.timeline_path}/{name}", b"{}")


def begin(state, *times):
    for time in times:
        put(state, f"{time}.commit.requested", f"{time}.inflight" if layout_1(state) else f"{time}.commit.inflight")


def layout_1(state):
    return state.layout.timeline_layout == 1


def finish(state, *commits):
    put(
        state, *(f"{time}.commit" if layout_1(state) else f"{time}_{completion}.commit" for time, completion in commits)
    )


def done(state):
    return list(load_timeline(state).completed)


def test_a_commit_that_a_listing_missed_is_found_before_a_later_one_is_shown(torn):
    storage, state = torn
    begin(state, FIRST, A, B)
    finish(state, (FIRST, "20260101000000002"))
    storage.between = [lambda: finish(state, (A, "20260101000000007"), (B, "20260101000000008"))]
    assert done(state) == [FIRST, A, B]


def test_commits_later_than_all_that_were_seen_need_no_further_listing(torn):
    storage, state = torn
    begin(state, FIRST, A, B)
    finish(state, (FIRST, "20260101000000002"))
    storage.between = [lambda: None, lambda: finish(state, (A, "20260101000000007"), (B, "20260101000000008"))]
    assert done(state) == [FIRST]
    assert storage.listings == 2


def test_under_the_table_lock_one_listing_is_enough(torn):
    storage, state = torn
    begin(state, FIRST, A, B)
    finish(state, (FIRST, "20260101000000002"), (A, "20260101000000004"))
    assert list(load_timeline(state, is_locked=True).completed) == [FIRST, A]
    assert storage.listings == 1


def test_a_writer_that_never_stops_does_not_keep_a_reader_from_its_listing(torn):
    storage, state = torn
    times = count(1)

    def commit():
        number = next(times)
        begin(state, f"2026020100000{2 * number:04}")
        finish(state, (f"2026020100000{2 * number:04}", f"2026020100000{2 * number + 1:04}"))

    commit()
    storage.between = [commit] * 50
    assert done(state) != []
    assert storage.listings <= 3


def test_an_instant_that_is_archived_meanwhile_leaves_no_hole(torn):
    storage, state = torn
    begin(state, FIRST, A, B)
    finish(state, (FIRST, "20260101000000002"), (A, "20260101000000004"), (B, "20260101000000006"))

    def archive():
        for name in (f"{FIRST}_20260101000000002.commit", f"{A}_20260101000000004.commit"):
            storage.delete(f"{state.layout.timeline_path}/{name}")
        for time in (FIRST, A):
            for pending in ("requested", "inflight"):
                storage.delete(f"{state.layout.timeline_path}/{time}.commit.{pending}")

    storage.between = [archive]
    assert [one.requested_time for one in load_timeline(state).instants] == [B]


def test_in_layout_1_no_request_is_missed_that_is_older_than_a_commit():
    env = FixedEnv()
    storage = Torn(env)
    state = new_state(6, storage=storage, env=env)
    begin(state, FIRST)
    finish(state, (FIRST, ""))

    def overtake():
        begin(state, A, B)
        finish(state, (B, ""))

    storage.between = [overtake]
    assert [one.requested_time for one in load_timeline(state).instants] == [FIRST, A, B]


def test_a_directory_that_the_store_lists_at_once_is_listed_once(torn):
    storage, state = torn
    begin(state, FIRST)
    storage.listed_at_once = 2
    load_timeline(state)
    assert storage.listings == 1
    begin(state, A)
    load_timeline(state)
    assert storage.listings == 3


def test_a_timeline_that_never_stands_still_is_told(torn):
    storage, state = torn
    begin(state, FIRST)
    finish(state, (FIRST, "20260101000000002"))
    names = [f"{FIRST}_20260101000000002.commit", f"{FIRST}_20260101000000003.commit"]

    def replace_it():
        finish(state, (FIRST, names[1].partition("_")[2].partition(".")[0]))
        storage.delete(f"{state.layout.timeline_path}/{names[0]}")
        names.reverse()

    storage.between = [replace_it] * 1_000
    with pytest.raises(StorageUnavailable):
        list_instants(state)


def test_a_local_directory_is_listed_until_nothing_was_missed(tmp_path, monkeypatch):
    storage = LocalStorage(str(tmp_path / "trips"))
    state = new_state(storage=storage)
    begin(state, FIRST, A, B)
    finish(state, (FIRST, "20260101000000002"))
    scandir, commits = os.scandir, [(A, "20260101000000007"), (B, "20260101000000008")]

    class InPieces:
        """A directory's entries in order, of which the second half is read later."""

        def __init__(self, fd):
            self.fd = fd

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def __iter__(self):
            with scandir(self.fd) as found:
                first = sorted(found, key=lambda entry: entry.name)
            yield from (entry for entry in first if entry.name < B)
            if commits and any(entry.name.startswith(B) for entry in first):
                finish(state, *commits)
                commits.clear()
            with scandir(self.fd) as found:
                yield from sorted((entry for entry in found if entry.name >= B), key=lambda entry: entry.name)

    monkeypatch.setattr(os, "scandir", InPieces)
    assert done(state) == [FIRST, A, B]


def test_stores_say_how_many_names_they_list_at_once(tmp_path):
    options = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "aws_region": "us-east-1"}
    far = open_storage("s3://bucket/trips", options)
    assert isinstance(far, ObjectStorage)
    assert 0 < far.traits.listed_at_once < 1_000
    assert LocalStorage(str(tmp_path)).traits.listed_at_once == 0
    assert MemoryStorage().traits.listed_at_once > 1_000_000

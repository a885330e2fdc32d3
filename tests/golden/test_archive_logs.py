"""The archive that Apache Hudi wrote at version 6: what it says is what the upgrade to version 9 made of it."""

import pytest
from tests.golden.catalogue import kept_tables

from pyhudi.env import SystemEnv
from pyhudi.state.properties_file import open_state
from pyhudi.storage.local import LocalStorage
from pyhudi.timeline.archive_logs import load_archive_logs
from pyhudi.timeline.codec import decode_clean_metadata, decode_clean_plan, decode_commit, decode_plan
from pyhudi.timeline.history import find_archived
from pyhudi.timeline.lsm import ARCHIVED, load_archived

WORDS = ("archived", "cleaned", "compacted", "kept")
ARCHIVING = [one for one in kept_tables() if one.version == 6 and any(word in one.name for word in WORDS)]
(UPGRADED,) = (one for one in kept_tables() if one.name == "cow_upgraded-v9")


@pytest.mark.parametrize("golden", ARCHIVING, ids=lambda golden: golden.name)
def test_every_archived_instant_is_loaded_and_what_it_says_decodes(golden, unpacked):
    state = open_state(LocalStorage(str(unpacked(golden)), SystemEnv()), SystemEnv())
    rows = load_archive_logs(state).to_pylist()
    has_archive = bool(state.storage.list_names(state.layout.history_path))
    assert bool(rows) is has_archive
    times = [row["instantTime"] for row in rows]
    assert times == sorted(set(times))
    if rows:
        assert find_archived(state, str(int(times[0]) - 1)) is None
        assert find_archived(state, str(int(times[-1]) + 1)) is False
    active = {name.split(".")[0] for name in state.storage.list_names(state.layout.timeline_path)}
    assert not active & set(times)
    for row in rows:
        assert row["completionTime"] > row["instantTime"]
        is_write = row["action"] in {"commit", "deltacommit", "replacecommit"}
        assert find_archived(state, row["instantTime"]) is is_write
        if is_write:
            said = decode_commit(row["metadata"], "here")
            assert said.stats or said.replaced
            assert row["action"] != "replacecommit" or decode_plan(row["plan"], "here") is not None
        elif row["action"] == "clean":
            assert decode_clean_plan(row["plan"], "here").files == {
                where: files.patterns
                for where, files in decode_clean_metadata(row["metadata"], "here").partitions.items()
            }
        else:
            assert decode_plan(row["metadata"], "here")


def test_it_says_what_the_upgrade_of_the_same_files_says(unpacked):
    """The archive of version 6 is left beside the history that was made of it."""
    upgraded = open_state(LocalStorage(str(unpacked(UPGRADED)), SystemEnv()), SystemEnv())
    made = {row["instantTime"]: row for row in load_archived(upgraded, ARCHIVED.names).to_pylist()}
    (golden,) = (one for one in ARCHIVING if one.name == "cow_archived-v6")
    rows = load_archive_logs(open_state(LocalStorage(str(unpacked(golden)), SystemEnv()), SystemEnv())).to_pylist()
    assert {row["instantTime"] for row in rows} == made.keys()
    for row in rows:
        theirs = made[row["instantTime"]]
        assert (row["action"], row["completionTime"]) == (theirs["action"], theirs["completionTime"])
        if row["action"] == "commit":
            assert decode_commit(row["metadata"], "here").stats == decode_commit(theirs["metadata"], "here").stats
        else:
            assert decode_plan(row["metadata"], "here") == decode_plan(theirs["metadata"], "here")

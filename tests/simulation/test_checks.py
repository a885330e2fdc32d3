"""Each checker can fail: a run that is all right is spoilt in one place, and the invariant of that place is named."""

import importlib.util
import io
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from tests.simulation.explorer import ends
from tests.simulation.explorer.checks import UNBUILT, WATCHES, Watcher, judged
from tests.simulation.explorer.ends import ENDS
from tests.simulation.explorer.hunting import begin_of, hunt, scenarios, ways
from tests.simulation.explorer.kernel import Move
from tests.simulation.explorer.operations import Operation, reading, writing
from tests.simulation.explorer.process import simulated
from tests.simulation.explorer.scenario import BYSTANDERS
from tests.simulation.explorer.search import replayed
from tests.simulation.mutants import MUTANTS
from tests.simulation.world import OPTIONS

from pyhudi.state.properties_file import update_properties
from pyhudi.table import Table
from pyhudi.table.unbuilt import WAYS_ROUND
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.codec import decode_commit, encode_commit

NONCE = bytes(16)
NUMBERS = [*(f"I{number}" for number in range(1, 21)), "L1"]


def played(name):
    """Return a run of a scenario in which one actor goes after the other."""
    with simulated():
        return replayed(begin_of(scenarios()[name]), [])


@pytest.fixture
def play():
    return played("update-apart")


def numbers_of(found):
    return {text.partition(":")[0] for text in found}


def newest(play, partition):
    """Name the newest two base files of a partition, the older first."""
    return base_files(play, partition)[-2:]


def base_files(play, partition):
    """Name all base files of a partition, older before newer."""
    found = [path for path in play.run.disk.files if path.startswith(f"{partition}/") and path.endswith(".parquet")]
    return sorted(found, key=lambda path: path.rsplit("_", 1)[-1])


def completed(play):
    """Return the path of the completed instant that came last."""
    found = [path for path in play.run.disk.files if path.endswith(".commit")]
    return max(found, key=lambda path: path.rsplit("_", 1)[-1])


def put(play, path, data):
    play.run.disk.storage.put(path, data)


def take(play, path):
    play.run.disk.storage.delete(path)


def stored(play, path):
    return play.run.disk.files[path].data


# ends


def undo_an_update(play):
    older, newer = newest(play, "b")
    put(play, newer, stored(play, older))


def put_a_file_group_twice(play):
    _, newer = newest(play, "b")
    put(play, newer.replace("b/", "b/f"), stored(play, newer))


def forget_keys(play):
    """Write a base file anew, with a footer that says it has one key."""
    _, newer = newest(play, "b")
    rows = pq.read_table(io.BytesIO(stored(play, newer)))
    said = {**rows.schema.metadata, b"hoodie_min_record_key": b"k3", b"hoodie_max_record_key": b"k3"}
    file = io.BytesIO()
    pq.write_table(rows.replace_schema_metadata(said), file)
    put(play, newer, file.getvalue())


def leave_a_file(play):
    _, newer = newest(play, "b")
    put(play, f"{newer.rsplit('_', 1)[0]}_20260101000099999.parquet", stored(play, newer))


def outcomes(**changed):
    """Pretend that every call ended otherwise than it did."""

    def tell(play):
        play.outcomes = [replace(one, **changed) for one in play.outcomes]

    return tell


def move(operation):
    return lambda play: play.run.trace.append(Move("w1", operation))


def lose_a_column(play):
    """Let the commit before the last have had one more."""
    path = sorted(path for path in play.run.disk.files if path.endswith(".commit"))[-2]
    commit = decode_commit(stored(play, path), path)
    wider = commit.extra["schema"].replace(
        '{"name":"rider"', '{"name":"more","type":["null","string"]},{"name":"rider"'
    )
    assert wider != commit.extra["schema"]
    put(play, path, encode_commit(replace(commit, extra={**commit.extra, "schema": wider}), 2, NONCE))


BROKEN_ENDS = {
    "I2 two reads differ": lambda play: play.seen.append(("r/0", (("k1", "b", 1.0),), ())),
    "I2 a moment that never was": lambda play: play.seen.append(("r/0", (("k1", "b", 77.0),), (("k1", "b", 77.0),))),
    "I3 an update is undone": undo_an_update,
    "I3 a column is lost": lose_a_column,
    "I4 a row is older than its last change": undo_an_update,
    "I5 a key is there twice": put_a_file_group_twice,
    "I6 an acknowledged commit is gone": lambda play: take(play, completed(play)),
    "I7 a failed call is committed": outcomes(result="WriteConflict"),
    "I9 a file is left over": leave_a_file,
    "I12 a key range leaves keys out": forget_keys,
    "I13 the past is another": undo_an_update,
    "I19 a path leads out": move(reading("get", "b/../../etc/passwd")),
    "I19 an absolute path": move(writing("put", "/tmp/x")),
    "I19 another file is read": move(reading("get", next(iter(BYSTANDERS)))),
    "I19 another file is gone": lambda play: take(play, next(iter(BYSTANDERS))),
    "I20 a file is missing": lambda play: take(play, newest(play, "b")[1]),
    "I20 a file has another size": undo_an_update,
    "L1 no writer wins": outcomes(result="WriteConflict", instant=""),
    "L1 a living writer is taken for dead": outcomes(result="HeartbeatExpired"),
    "L1 a writer meets a bug": outcomes(result="InternalError"),
    "L1 a lock is never free": outcomes(result="LockNotAcquired"),
}


def test_a_run_that_is_all_right_is_judged_so(play):
    assert judged(play) == []


@pytest.mark.parametrize("name", BROKEN_ENDS)
def test_an_end_that_is_wrong_is_called_so(play, name):
    BROKEN_ENDS[name](play)
    assert name.partition(" ")[0] in numbers_of(judged(play))


@pytest.mark.parametrize(("name", "found"), [("update-move-global", 1), ("update-apart", 0)])
def test_a_key_in_two_partitions_is_there_twice_under_a_global_index(name, found):
    end = ends.End.of(played(name))
    vars(end)["rows"] = [(("k1", "a"), 1.0, ""), (("k1", "b"), 1.0, "")]
    assert len(list(ends.i5_no_key_is_there_twice(end))) == found


@pytest.mark.parametrize(("name", "found"), [("update-update-bucket", 1), ("update-apart", 0)])
def test_keys_of_another_bucket_than_the_files_are_called_so(name, found):
    end = ends.End.of(played(name))
    path, stored = next((path, stored) for path, stored in end.files.items() if path.startswith("b/"))
    vars(end)["files"] = {f"b/00000007{path[len('b/00000000') :]}": stored}
    assert len(list(ends.i12_what_files_say_of_their_keys_is_true(end))) == found


@pytest.mark.parametrize("kind", ["RECORD_INDEX", "RECORD_LEVEL_INDEX"])
def test_a_record_index_that_lacks_a_key_is_called_so(kind):
    end = ends.End.of(played("update-apart"))
    end.table.repair("files", options=OPTIONS)
    end.table.create_index("record_index", options={**OPTIONS, "hoodie.index.type": kind})
    assert list(ends.i12_what_files_say_of_their_keys_is_true(end)) == []
    vars(end)["rows"] = [*end.rows, (("k77", "b"), 1.0, "")]
    assert len(list(ends.i12_what_files_say_of_their_keys_is_true(end))) == 1


LIES = {
    "a row is left out": lambda changed: dict(list(changed.items())[1:]),
    "nothing has changed": lambda changed: {},
    "a row is as it was": lambda changed: dict.fromkeys(changed, 0.0),
    "a row that never was": lambda changed: {**changed, ("k77", "b"): 1.0},
}


@pytest.mark.parametrize("lie", LIES)
def test_changes_that_are_wrong_are_called_so(play, monkeypatch, lie):
    changed = ends._changed
    monkeypatch.setattr(ends, "_changed", lambda *given: LIES[lie](changed(*given)))
    assert numbers_of(judged(play)) == {"I14"}


@pytest.mark.parametrize("name", ["clustering", "compaction"])
def test_a_service_that_changes_rows_is_called_so(name):
    """What it wrote is spoilt: the rows are those of before the commit that came before it."""
    moved = played(name)
    assert judged(moved) == []
    one = ends.End.of(moved).commits[-1][0]
    assert ends.End.of(moved).said(one).operation in ends.MOVES
    *_, older, _, of_the_service = base_files(moved, "b")
    put(moved, of_the_service, stored(moved, older))
    assert "I16" in numbers_of(judged(moved))


@pytest.mark.parametrize("kind", ["records", "columns"])
def test_an_index_that_lacks_what_was_committed_beside_it_is_called_so(kind):
    mutant = next(one for one in MUTANTS if one.name == f"an index that is being built is told of no commit: {kind}")
    with mutant.at_work():
        found = hunt(scenarios()[mutant.scenario], *ways(*mutant.ways, seed=mutant.seed, runs=50))
    assert any(text.startswith("I16") for text in found.wrong)


# while a run goes on


@pytest.fixture
def watched(play):
    """Return a function that spoils a run at rest, and tells what the watcher says to each step."""

    def after(*steps):
        watcher = Watcher(play)
        for step in steps:
            step(play)
            watcher(play.run, play.run.actors["w1"], Operation("put", ".hoodie/timeline/x"))
        return numbers_of(play.run.violations)

    return after


def again(changed_name, spoil=lambda commit: commit):
    """Complete the last commit once more, under a name made from its own."""

    def step(play):
        path = completed(play)
        commit = spoil(decode_commit(stored(play, path), path))
        head, _, name = path.rpartition("/")
        begun, done = name.removesuffix(".commit").split("_")
        put(play, f"{head}/{changed_name.format(begun=begun, done=done)}", encode_commit(commit, 2, NONCE))

    return step


def without_files(commit):
    return replace(commit, stats={})


def with_a_file_that_is_not_there(commit):
    stats = {
        city: tuple(replace(stat, path=f"{stat.path}x") for stat in all_of) for city, all_of in commit.stats.items()
    }
    return replace(commit, stats=stats)


def declare_a_metadata_table(play):
    update_properties(play.run.disk.storage, play.run.disk.clock, {"hoodie.table.metadata.partitions": "files"})


LATER = "20270101000000000_20270101000000001.commit"
BROKEN_STEPS = {
    "I1 a completed instant is replaced": [lambda play: put(play, completed(play), b"{}")],
    "I1 a data file is replaced": [lambda play: put(play, newest(play, "b")[1], b"other")],
    "I1 what no commit names is visible": [put_a_file_group_twice],
    "I8 a file that counts is removed": [lambda play: take(play, newest(play, "b")[0])],
    "I10 a second instant of one time": [again("{begun}_20270101000000001.commit", without_files)],
    "I10 an instant before what is visible": [again("20270101000000000_20250101000000000.commit", without_files)],
    "I10 completed before it was requested": [again("20280101000000000_20270101000000001.commit", without_files)],
    "I10 two requests of one time": [
        lambda play: put(play, ".hoodie/timeline/20270101000000000.commit.requested", b""),
        lambda play: put(play, ".hoodie/timeline/20270101000000000.replacecommit.requested", b""),
    ],
    "I11 a commit beside a metadata table": [declare_a_metadata_table, again(LATER, without_files)],
    "I18 a completed instant is taken away": [lambda play: take(play, completed(play))],
    "I20 a commit names no file": [again(LATER, with_a_file_that_is_not_there)],
}


@pytest.mark.parametrize("name", BROKEN_STEPS)
def test_a_step_that_is_wrong_is_called_so(watched, name):
    assert name.partition(" ")[0] in watched(*BROKEN_STEPS[name])


def test_a_rollback_that_leaves_files_is_called_so():
    mutant = next(one for one in MUTANTS if one.name == "rollback leaves the files")
    with mutant.at_work():
        found = hunt(scenarios()[mutant.scenario], *ways(*mutant.ways, seed=mutant.seed, runs=50))
    assert any(text.startswith("I9") and "leaves" in text for text in found.wrong)


def test_a_savepoint_of_which_a_file_is_gone_is_called_so():
    play = played("clean-savepoint")
    assert judged(play) == []
    [kept] = [path for path in play.run.disk.files if path.endswith(".savepoint")]
    time = kept.rsplit("/", 1)[-1].partition("_")[0]
    timeline = load_timeline(ends.End.of(play).table.state)
    path = f".hoodie/timeline/{timeline.completed[time].file_name}"
    take(play, next(iter(decode_commit(play.run.disk.files[path].data, path).stats["b"])).path)
    assert "I17" in numbers_of(judged(play))


def test_a_restore_that_leaves_files_is_called_so():
    mutant = next(one for one in MUTANTS if one.name == "a restore leaves the files")
    with mutant.at_work():
        found = hunt(scenarios()[mutant.scenario], *ways(*mutant.ways, seed=mutant.seed, runs=50))
    assert any(text.startswith("I17") and "are left" in text for text in found.wrong)


# the list


def test_every_invariant_is_checked_or_waits_for_something():
    checked = {check.__name__.partition("_")[0].upper() for check in (*ENDS, *WATCHES)}
    assert {*checked, *(one.invariant for one in UNBUILT)} == set(NUMBERS)
    broken = {name.partition(" ")[0] for name in (*BROKEN_ENDS, *BROKEN_STEPS)}
    assert checked - broken == {"I14", "I16", "I17"}  # which have tests of their own


def is_there(sign):
    """Return whether a module of pyhudi, or a method of Table that does something, exists."""
    owner, _, name = sign.rpartition(".")
    if owner == "Table":
        return hasattr(Table, name) and name not in WAYS_ROUND
    try:
        return importlib.util.find_spec(f"pyhudi.{sign}") is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("unbuilt", UNBUILT, ids=lambda one: f"{one.invariant} {one.signs[0]}")
def test_what_is_built_is_checked(unbuilt):
    built = [sign for sign in unbuilt.signs if is_there(sign)]
    assert built == [], f"{unbuilt.invariant} can be meant now: {unbuilt.part}; write its checker"


def test_signs_are_seen():
    assert is_there("actions.rollback")
    assert is_there("Table.rollback")
    assert not is_there("actions.nothing")
    assert not is_there("nothing.at_all")

import pytest
from tests.building import TableBuilder, trip, trips
from tests.new_states import new_state
from tests.timeline.test_history import OLD, UNDONE, archive, row, undoing
from tests.txn.writing import begun, committed, proposal_of, write

from pyhudi.actions.rollback import rollback_instant
from pyhudi.actions.unfinished import resolve, writer_of
from pyhudi.errors import HistoryExpired, InvalidInput
from pyhudi.options import Settings
from pyhudi.storage.process import process_name
from pyhudi.timeline.active import request, start
from pyhudi.timeline.instant import Action, Instant, State

SETTINGS = Settings()
LATER = "20260101120000000"


@pytest.fixture
def state():
    return new_state()


# what became of it


@pytest.mark.parametrize("version", [6, 8, 9])
def test_an_instant_is_pending_then_committed_or_not(version):
    state = new_state(version)
    with begun(state) as txn:
        assert resolve(state, txn.time) == "pending"
        txn.start(None)
        assert resolve(state, txn.time) == "pending"
        txn.commit(proposal_of(write(txn)))
    assert resolve(state, txn.time) == "committed"
    with begun(state) as failed:
        failed.start(None)
    assert resolve(state, failed.time) == "not committed"
    assert resolve(state, LATER) == "not committed"


def test_the_first_instant_of_a_table_may_have_been_rolled_back(state):
    first = begun(state)
    rollback_instant(state, first.time, SETTINGS)
    committed(state)
    assert resolve(state, first.time) == "not committed"


def test_a_rollback_is_no_write(state):
    with begun(state):
        pass
    assert resolve(state, str(int(LATER) + 1)) == "not committed"


def test_an_archived_commit_is_committed_and_what_was_never_there_is_not(state):
    committed(state)
    archive(state, row(OLD, "commit"), row("20250101000000005", "clean"), undoing(UNDONE))
    assert resolve(state, OLD) == "committed"
    assert resolve(state, UNDONE) == "not committed"
    assert resolve(state, "20250101000000005") == "not committed"
    assert resolve(state, "20250101000000001") == "not committed"


def test_what_version_6_archived_cannot_be_told():
    state = new_state(6)
    committed(state)
    assert resolve(state, OLD) == "not committed"
    state.storage.put(".hoodie/archived/.commits_.archive.1_1-0-1", b"")
    with pytest.raises(HistoryExpired):
        resolve(state, OLD)


# what to do about it


def pending(state, action):
    return request(state, Instant(requested_time=LATER, action=action, state=State.REQUESTED), b"")


def test_who_writes_is_told_with_what_to_do(state):
    with begun(state) as txn:
        assert writer_of(state, txn.instant, SETTINGS) == ("alive", process_name(), "wait for it")
    dead = begun(state).instant
    state.env.sleep(121)
    assert writer_of(state, dead, SETTINGS) == ("dead", process_name(), "nothing: the next write rolls it back")


@pytest.mark.parametrize(
    ("action", "advice"),
    [(Action.COMMIT, "table.rollback"), (Action.ROLLBACK, "finishes it, an hour")],
)
def test_what_to_do_about_others_depends_on_what_it_is(state, action, advice):
    judged, owner, said = writer_of(state, pending(state, action), SETTINGS)
    assert (judged, owner) == ("foreign", "")
    assert advice in said


SERVICES = [
    (Action.COMPACTION, "table.compact()"),
    (Action.LOGCOMPACTION, "table.log_compact()"),
    (Action.INDEXING, "table.index()"),
    (Action.CLUSTERING, "table.cluster()"),
]


@pytest.mark.parametrize(("action", "verb"), SERVICES)
def test_a_plan_that_waits_is_planned_whoever_made_it(state, action, verb):
    assert writer_of(state, pending(state, action), SETTINGS) == ("planned", "", f"nothing: {verb} runs it")


@pytest.mark.parametrize(("action", "verb"), SERVICES)
def test_a_service_that_stopped_half_way_is_finished_by_its_verb(state, action, verb):
    begun = start(state, pending(state, action), b"")
    judged, _, said = writer_of(state, begun, SETTINGS)
    back = "table.drop_index(name)" if action is Action.INDEXING else "table.rollback(instant)"
    assert (judged, said) == ("foreign", f"finish it: {verb}; or take it back: {back}")


@pytest.mark.parametrize("version", [6, 8, 9])
def test_a_scheduled_compaction_is_no_problem_of_a_table(version):
    table = TableBuilder("mor").create(version=version)
    for ts in (1, 2):
        table.upsert(trips(trip("a", ts=ts)))
    table.compact(schedule=True)
    assert table.inspect.pending()["writer"].to_pylist() == ["planned"]
    assert table.check().ok
    table.upsert(trips(trip("a", ts=3)))
    assert table.check().ok


@pytest.mark.parametrize("given", ["", "yesterday", "2026-01-01", "202601010000000000", None, 20260101120000000])
def test_what_is_no_instant_is_not_asked_about(state, given):
    with pytest.raises(InvalidInput, match="17 digits"):
        resolve(state, given)

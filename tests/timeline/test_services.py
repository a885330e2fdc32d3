import pytest
from tests.new_states import new_state

from pyhudi.errors import NotBuilt
from pyhudi.state.refusals import require_writable
from pyhudi.timeline.instant import collapse, parse_name
from pyhudi.timeline.services import pending_refusals
from pyhudi.timeline.view import Timeline, timeline_of

T = "20250101000000000"


def timeline(*names: str) -> Timeline:
    return timeline_of(collapse(one for name in names if (one := parse_name(name))), 2)


@pytest.mark.parametrize("action", ["indexing"])
def test_a_pending_service_is_refused_with_its_instant(action):
    state = new_state()
    with pytest.raises(NotBuilt, match=f"{T}.{action}"):
        require_writable(state.config, state.layout, pending_refusals(timeline(f"{T}.{action}.inflight")))


def test_what_others_completed_or_write_is_no_reason():
    names = (
        f"{T}_{T}.savepoint",
        f"{T}.savepoint.inflight",
        f"{T}.restore.inflight",
        f"{T}_{T}.clean",
        f"{T}.commit.requested",
        f"{T}.rollback.inflight",
        f"{T}.clean.inflight",
        f"{T}.compaction.requested",
        f"{T}.logcompaction.requested",
        f"{T}.clustering.inflight",
        f"{T}.replacecommit.requested",
    )
    assert pending_refusals(timeline(*names)) == []

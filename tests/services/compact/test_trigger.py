import pytest
from tests.building import TIMELINE_LAYOUTS

from pyhudi.options import Settings
from pyhudi.services.compact.trigger import deltas_to_retain, is_compaction_triggered
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.view import timeline_of

TRIGGER = "hoodie.compact.inline.trigger.strategy"


def timeline(text, layout=2):
    """Make a timeline of `action requested completed` by words: d1-2 is a delta commit, c a compaction, - pending."""
    actions = {"d": Action.DELTACOMMIT, "c": Action.COMMIT, "p": Action.COMPACTION}
    found = []
    for word in text.split():
        requested, _, completed = word[1:].partition("-")
        state = State.COMPLETED if completed else State.REQUESTED
        times = {"requested_time": requested, "completion_time": completed or None}
        found.append(Instant(action=actions[word[0]], state=state, **times))
    return timeline_of(found, TIMELINE_LAYOUTS[layout])


def is_due(text, trigger="NUM_COMMITS", count=2, cutoff="0", layout=2):
    settings = Settings.of({TRIGGER: trigger, "hoodie.compact.inline.max.delta.commits": count})
    return is_compaction_triggered(timeline(text, layout), settings, cutoff)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("d1-2", False),
        ("d1-2 d3-4", True),
        ("d1-2 d3", False),
        ("d1-2 d3-4 c5-6", False),
        ("d1-2 d3-4 c5-6 d7-8", False),
        ("d1-2 d3-4 c5-6 d7-8 d8-9", True),
        ("d1-2 d3-4 p5 d7-8", True),
    ],
)
def test_delta_commits_are_counted_since_the_last_completed_compaction(text, expected):
    assert is_due(text) is expected


@pytest.mark.parametrize(("layout", "expected"), [(1, False), (2, True)])
def test_a_delta_commit_that_a_compaction_overtook_counts_where_it_is_in_the_next_slice(layout, expected):
    assert is_due("d3-7 c5-6 d7-8", layout=layout) is expected


@pytest.mark.parametrize(("text", "expected"), [("d1-2 d3-4 p5 d7-8", False), ("d1-2 p3 d4-5 d6-7", True)])
def test_delta_commits_are_counted_since_the_last_plan_where_asked_for(text, expected):
    assert is_due(text, "NUM_COMMITS_AFTER_LAST_REQUEST") is expected


@pytest.mark.parametrize(
    ("text", "cutoff", "elapsed", "both", "either"),
    [
        ("d2-3", "1", False, False, False),
        ("d2-3", "2", True, False, True),
        ("d2-3 d4-5", "1", False, False, True),
        ("d2-3 d4-5", "2", True, True, True),
        ("d2-3 c4-5 d6-7", "3", False, False, False),
        ("d2-3 c4-5 d6-7", "4", True, False, True),
        ("d2-3 c4-5", "9", False, False, False),
    ],
)
def test_time_is_counted_from_the_last_compaction_or_the_first_delta_commit(text, cutoff, elapsed, both, either):
    names = ("TIME_ELAPSED", "NUM_AND_TIME", "NUM_OR_TIME")
    assert [is_due(text, one, cutoff=cutoff) for one in names] == [elapsed, both, either]


def test_delta_commits_are_kept_active_where_they_are_counted():
    assert deltas_to_retain(Settings.of({})) == 5
    assert deltas_to_retain(Settings.of({TRIGGER: "num_and_time"})) == 5
    assert deltas_to_retain(Settings.of({TRIGGER: "TIME_ELAPSED"})) is None

"""Columns are those of the newest write, wherever it stands: active, or in the history behind a savepoint."""

import json

import pytest
from tests.building import TINY_FILTERS, TableBuilder, trip
from tests.queries.cleaning import put_instant

from pyhudi.options import Settings
from pyhudi.queries.expired import cut_at
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.archiving import archive_instants
from pyhudi.timeline.codec import encode_commit
from pyhudi.timeline.columns import committed_schema, said_newest_first
from pyhudi.timeline.instant import Action
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation
from pyhudi.timeline.view import as_of


@pytest.fixture
def grown(version):
    """Make a table each of whose commits adds a column."""
    table = TableBuilder().create(version=version)
    rows = [trip("a", **dict.fromkeys("xyz"[:number], 1.0)) for number in range(4)]
    return table, [table.upsert([row], options=TINY_FILTERS) for row in rows]


def archived(table, *done):
    completed = table.timeline.completed
    archive_instants(table.state, [completed[one.instant] for one in done], Settings(), lambda: None)
    return table.state


def added(state, timeline):
    schema, file = committed_schema(state, timeline)
    names = {field["name"] for field in json.loads(schema)["fields"]} if schema else set()
    return "".join(sorted(names & set("xyz"))), file


def test_the_newest_commit_says_the_columns(grown):
    table, done = grown
    timeline = load_timeline(table.state)
    assert added(table.state, timeline) == ("xyz", timeline.completed[done[3].instant].file_name)
    for number, one in enumerate(done):
        point = timeline.point(timeline.completed[one.instant])
        assert added(table.state, as_of(timeline, point))[0] == "xyz"[:number]


def test_archived_commits_say_them_of_moments_before_the_active_ones(grown):
    table, done = grown
    before = load_timeline(table.state)
    points = [before.point(before.completed[one.instant]) for one in done]
    state = archived(table, *done[:3])
    for number, (one, point) in enumerate(zip(done[:3], points, strict=False)):
        columns, file = added(state, cut_at(load_timeline(state), point))
        assert columns == "xyz"[:number]
        assert one.instant in file, "an error of it names where it stands"


def test_between_active_commits_archived_ones_count(grown):
    table, done = grown
    table.savepoint(done[0].instant)
    before = load_timeline(table.state)
    points = [before.point(before.completed[one.instant]) for one in done]
    state = archived(table, *done[1:3])
    timeline = load_timeline(state)
    said = [one.extra["schema"] for one, _ in said_newest_first(state, timeline)]
    assert len(said) == 4
    assert said == sorted(said, key=len, reverse=True), "newest first"
    assert [added(state, cut_at(timeline, point))[0] for point in points] == ["", "x", "xy", "xyz"]


def test_where_nothing_was_committed_nothing_says_columns(version):
    state = TableBuilder().create(version=version).state
    assert committed_schema(state, load_timeline(state)) == ("", "")
    assert committed_schema(state, as_of(load_timeline(state), "20200101000000000")) == ("", "")


def test_a_table_without_savepoints_is_not_looked_up_in_its_history(version, monkeypatch):
    table = TableBuilder().create(version=version)
    table.upsert([trip("a")], options=TINY_FILTERS)
    timeline = load_timeline(table.state)
    monkeypatch.setattr(type(timeline.archive), "completed_after", lambda *_: pytest.fail("the history was read"))
    assert len(list(said_newest_first(table.state, timeline))) == 1


def test_where_only_services_are_active_the_newest_of_them_says_the_columns(version):
    """Its writes were archived; a compaction that was planned before a write and completed after it is not the last."""
    state = TableBuilder().create(version=version).state
    for day, schema in ((1, "older"), (2, "newer"), (3, "")):
        said = CommitMetadata(operation=WriteOperation.COMPACT, extra={"schema": schema}, compacted=True)
        layout = state.layout.timeline_layout
        data = encode_commit(said, layout, b"n" * 16 if layout == 2 else b"")
        put_instant(state, f"2027010{day}000000000", Action.COMMIT, data)
    assert committed_schema(state, load_timeline(state))[0] == "newer"

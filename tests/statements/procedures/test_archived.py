from tests.building import TableBuilder, trip

from pyhudi.statements.procedures.archived import archived_instants
from pyhudi.timeline.instant import Action


def test_archived_instants_come_newest_first_with_what_they_said():
    table = TableBuilder().create()
    for number in range(5):
        table.upsert([trip("a", ts=number)])
    gone = table.archive(
        options={"hoodie.keep.min.commits": 2, "hoodie.keep.max.commits": 3, "hoodie.clean.commits.retained": 1}
    ).instants
    found = archived_instants(table.state)
    assert [one.instant.requested_time for one in found] == sorted(gone, reverse=True)
    assert all(one.instant.is_completed and one.metadata and one.path for one in found)
    assert [one.instant.requested_time for one in archived_instants(table.state, gone[1])] == sorted(gone[1:])[::-1]
    assert [one.instant.requested_time for one in archived_instants(table.state, "", gone[0])] == [gone[0]]
    assert archived_instants(table.state, actions=[Action.CLEAN]) == []

"""Copies of what Apache Hudi wrote go back to its savepoints, and a restore that died there is finished by ours."""

import pytest
from tests.golden.catalogue import kept_tables, spelled
from tests.golden.writing import rows_of, upsert_some

from pyhudi.errors import WriteConflict
from pyhudi.table import open_table
from pyhudi.timeline.instant import Action

KEPT = [one for one in kept_tables() if one.script.name in {"cow_savepoint", "cow_savepoint_kept"}]
DIED = [one for one in kept_tables() if one.script.name == "cow_restore_inflight"]


def of(table, action):
    return [one for one in table.timeline.instants if one.action is action]


@pytest.mark.parametrize("golden", KEPT, ids=lambda one: one.name)
def test_a_table_goes_back_to_a_savepoint_of_apache_hudi_and_is_written_on(tmp_path, golden):
    path = golden.unpack(tmp_path)
    table = open_table(str(path))
    [saved] = of(table, Action.SAVEPOINT)
    then = spelled(table.scan(as_of=saved.requested_time).to_arrow())
    later = [one for one in table.timeline.completed if one > saved.requested_time]
    assert [time for time, _ in table.restore(saved.requested_time).instants] == later[::-1]
    assert spelled(rows_of(table)) == then
    assert not [path for path in path.rglob("*.parquet") if any(time in path.name for time in later)]
    assert spelled(upsert_some(golden, path)) == spelled(rows_of(table))


@pytest.mark.parametrize("golden", DIED, ids=lambda one: one.name)
def test_a_restore_of_apache_hudi_that_died_is_finished(tmp_path, golden):
    path = golden.unpack(tmp_path)
    table = open_table(str(path))
    before = spelled(rows_of(table))
    with pytest.raises(WriteConflict, match="is being restored") as refused:
        upsert_some(golden, path)
    [saved] = of(table, Action.SAVEPOINT)
    assert refused.value.values["target"] == saved.requested_time
    table.restore(saved.requested_time)
    assert [one.is_completed for one in of(table, Action.RESTORE)] == [True]
    assert spelled(rows_of(table)) == before
    assert spelled(upsert_some(golden, path)) == spelled(rows_of(table))

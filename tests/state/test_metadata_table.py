import pytest
from tests.new_states import new_state

from pyhudi.state.metadata_table import drop_metadata_table
from pyhudi.state.properties_file import open_state, update_properties
from pyhudi.state.refusals import require_writable


@pytest.fixture
def state():
    made = new_state()
    said = {
        "hoodie.table.metadata.partitions": "column_stats,files",
        "hoodie.table.metadata.partitions.inflight": "record_index",
    }
    update_properties(made.storage, made.env, said)
    made.storage.put(".hoodie/metadata/files/x.hfile", b"1")
    made.storage.put("city=a/x.parquet", b"1")
    return open_state(made.storage, made.env)


def test_a_table_is_written_also_once_its_metadata_table_is_gone(state):
    require_writable(state.config, state.layout)
    without = drop_metadata_table(state)
    require_writable(without.config, without.layout)
    assert without.config == open_state(state.storage, state.env).config
    assert state.storage.list(".hoodie/metadata") == []
    assert state.storage.get("city=a/x.parquet") == b"1"


def test_dropping_it_stops_readers_before_the_files_go(state, monkeypatch):
    class Killed(Exception):
        pass

    def die(_prefix):
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(state.storage, "delete_tree", die)
        with pytest.raises(Killed):
            drop_metadata_table(state)
    again = open_state(state.storage, state.env)
    assert again.config.metadata_partitions == ()
    drop_metadata_table(again)
    assert state.storage.list(".hoodie/metadata") == []


def test_a_table_without_one_is_left_alone():
    state = new_state()
    assert drop_metadata_table(state).config == state.config

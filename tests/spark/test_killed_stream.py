import pytest
from tests.spark.killed_stream import COMMITS_A_LIFE, ROWS, chained


@pytest.mark.all
@pytest.mark.timeout(1800)
def test_tables_chained_by_a_stream_that_is_killed_agree_at_the_end(tmp_path):
    kills = 3
    done = chained(kills, tmp_path)
    commits = 1 + kills * COMMITS_A_LIFE
    assert done["kills"] == kills
    assert done["commits"] == done["batches"] >= commits
    assert done["rows"] == done["commits"] * ROWS

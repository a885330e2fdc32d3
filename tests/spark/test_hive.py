import pytest
from tests.spark.apart import run_apart


@pytest.mark.all
@pytest.mark.timeout(900)
def test_tables_live_in_a_hive_metastore_and_are_read_without_hooks(tmp_path):
    for session in ("hooked", "unhooked"):
        assert run_apart("tests.spark.on_hive", tmp_path, session).stdout.endswith("done\n")

"""A choice of the shared tests of actions, with Spark doing the work: one of each thing that Spark does another way.

More of them are in `test_more_shared_behaviour.py`; `make test-spark` runs all of them on Spark.
"""

import pytest
from tests.actions.test_merge import (  # noqa: F401
    test_by_source_clauses_reach_every_file_group,
    test_the_first_clause_whose_condition_is_true_acts,
)
from tests.actions.test_write import (  # noqa: F401
    test_a_global_index_drops_rows_whose_key_is_stored_elsewhere,
    test_an_upsert_inserts_new_keys_and_updates_existing_ones,
    test_rows_marked_deleted_delete,
)
from tests.spark.building import SparkTableBuilder


@pytest.fixture
def engine(spark, tmp_path):
    """Return tables on Spark."""
    return SparkTableBuilder(spark, tmp_path)


@pytest.fixture
def version():
    """Return the newest version: versions differ below the engine."""
    return 9

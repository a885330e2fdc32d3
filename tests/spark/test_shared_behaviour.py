"""A choice of the shared tests of actions, with Spark doing the work: one of each thing that Spark does another way.

`make test-spark` runs all of them on Spark.
"""

import pytest
from tests.actions.test_merge import (  # noqa: F401
    test_by_source_clauses_reach_every_file_group,
    test_the_first_clause_whose_condition_is_true_acts,
    test_two_source_rows_for_one_row_are_refused,
)
from tests.actions.test_write import (  # noqa: F401
    test_a_global_index_drops_rows_whose_key_is_stored_elsewhere,
    test_an_upsert_inserts_new_keys_and_updates_existing_ones,
    test_delete_takes_records_away_in_their_partition,
    test_insert_overwrite_replaces_the_partitions_it_names,
    test_meta_columns_name_key_partition_file_and_commit,
    test_rows_marked_deleted_delete,
    test_several_ordering_fields_compare_one_after_the_other,
)
from tests.actions.test_write_keys import (  # noqa: F401
    test_a_users_own_key_generator_makes_keys_and_paths,
    test_keys_are_generated_where_the_table_has_no_key_fields,
    test_rows_read_from_a_table_without_key_fields_update_and_delete_by_their_meta_columns,
)
from tests.actions.test_write_sizes import (  # noqa: F401
    test_rows_are_split_into_file_groups_of_the_size_asked_for,
    test_updates_go_to_the_file_groups_that_hold_their_keys,
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

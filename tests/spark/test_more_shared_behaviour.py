"""More of the shared tests of actions, with Spark doing the work, than `test_shared_behaviour.py` has for every day."""

import pytest
from tests.actions.test_merge import test_two_source_rows_for_one_row_are_refused  # noqa: F401
from tests.actions.test_write import (  # noqa: F401
    test_delete_takes_records_away_in_their_partition,
    test_insert_overwrite_replaces_the_partitions_it_names,
    test_meta_columns_name_key_partition_file_and_commit,
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
from tests.spark.test_shared_behaviour import engine, version

__all__ = ["engine", "version"]

pytestmark = pytest.mark.all

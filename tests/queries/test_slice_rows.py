"""What tasks of a read are given, and what they refuse."""

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest
from tests.building import TableBuilder
from tests.filegroup.slices import EVERYTHING, Change, History

from pyhudi.errors import InternalError, NotBuilt
from pyhudi.filegroup.merge_memory import MERGE_MEMORY
from pyhudi.options import Settings
from pyhudi.queries.slice_rows import read_planned, scan_file_of, slice_spec
from pyhudi.schema.meta_fields import with_meta_fields
from pyhudi.state.config import MergeMode, TableConfig

SCHEMA = with_meta_fields(pa.schema([("uuid", pa.string()), ("ts", pa.int64()), ("fare", pa.float64())]))


@pytest.fixture
def table():
    return TableBuilder().create()


def reads(table, settings=None, **said):
    config = replace(table.state.config, **said)
    assert isinstance(config, TableConfig)
    state = replace(table.state, config=config)
    return slice_spec(state, SCHEMA, table.timeline, settings or Settings())


def history():
    made = History()
    made.write_base(Change("a", 1, 1.0), Change("b", 1, 2.0))
    made.append(Change("b", 2, 7.0))
    return made


def read(made, task, **said):
    asked = {"schema": SCHEMA, "columns": ("uuid", "fare"), "predicate": None, "reads": None, "values": None, **said}
    batches = read_planned(task, storage=made.storage, **asked)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_a_slice_with_logs_is_merged_and_one_without_is_scanned(table):
    made = history()
    found = replace(reads(table), instants=EVERYTHING)
    assert read(made, made.slice, reads=pickle.loads(pickle.dumps(found))) == [("a", 1.0), ("b", 7.0)]
    assert read(made, replace(made.slice, logs=())) == [("a", 1.0), ("b", 2.0)]


def test_columns_of_the_path_stand_beside_merged_rows_too(table):
    made = history()
    found = replace(reads(table), instants=EVERYTHING)
    values = pa.table({"_hoodie_partition_path": ["sf"], "city": ["SF"]})
    said = {"schema": SCHEMA.append(pa.field("city", pa.string())), "columns": ("city", "fare"), "values": values}
    assert read(made, made.slice, reads=found, **said) == [("SF", 1.0), ("SF", 7.0)]


def test_logs_without_merge_rules_and_slices_without_files_are_bugs():
    made = history()
    with pytest.raises(InternalError, match="no rules"):
        read(made, made.slice)
    with pytest.raises(InternalError, match="neither"):
        scan_file_of(replace(made.slice, base=None, logs=()))


def test_the_limit_of_memory_is_an_option_and_columns_of_the_path_are_not_stored(table):
    found = reads(table, Settings.of({MERGE_MEMORY.key: 5000}), drops_partition_columns=True)
    assert found.memory.max_bytes == 5000
    assert found.layout.dropped == ("city",)


def test_merge_rules_that_are_not_built_are_refused(table):
    with pytest.raises(NotBuilt, match="merge rules"):
        reads(table, merge_mode=MergeMode.CUSTOM)

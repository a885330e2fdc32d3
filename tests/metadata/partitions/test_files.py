"""Names of files as actions change them."""

from pyhudi.metadata.partitions.api import Clean
from pyhudi.metadata.partitions.files import FilesKind

KIND = FilesKind()


def told(records):
    return {
        key: {name: (info["size"], info["isDeleted"]) for name, info in names}
        for key, names in zip(records.keys.to_pylist(), records.values.to_pylist(), strict=True)
    }


def test_a_rollback_adds_the_logs_that_it_leaves():
    found = told(KIND.records_of_rollback({"sf": {"a.log": 7}}))
    assert found == {"__all_partitions__": {"sf": (0, False)}, "sf": {"a.log": (7, False)}}


def test_a_clean_leaves_tombstones():
    clean = Clean(deleted={"sf": ["a.parquet"]}, dropped=["rio"], columns=(), table_version=9)
    found = told(KIND.records_of_clean(clean))
    assert found == {"__all_partitions__": {"rio": (0, True)}, "sf": {"a.parquet": (0, True)}}

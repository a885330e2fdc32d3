"""The file groups of a partition as it is built."""

from tests.metadata.checking import metadata_of, new_table

from pyhudi.metadata.file_entries import file_entries
from pyhudi.metadata.partitions.api import file_group
from pyhudi.metadata.partitions.kinds import kind_of
from pyhudi.metadata.records import files_records
from pyhudi.metadata.table.groups import first_records, write_base_files, write_empty_groups
from pyhudi.options import Settings

TIME = "00000000000000099"


def test_only_groups_with_records_get_a_base_file():
    own, kind = metadata_of(new_table()).state, kind_of("files")
    own.storage.delete_tree("files")
    groups = [file_group(kind, number) for number in range(3)]
    write_empty_groups(own, kind, groups, TIME, own.env)
    records = files_records(file_entries([], {"p": {"f": 1}}))
    written = write_base_files(own, kind, records, groups=groups, time=TIME, settings=Settings({}))
    names = sorted(one.path for one in own.storage.list("files"))
    assert len(names) == 1 + 3 + 1
    assert [stat.num_inserts for stat in written] == [1]
    assert list(first_records(own, {kind.name: written}).stats) == ["files"]
    assert first_records(own, {kind.name: ()}).stats == {}

from dataclasses import replace

from tests.building import trip
from tests.filegroup.test_appender import changes_of, spec_of
from tests.filegroup.test_writer import SECOND, TASK, keyed

from pyhudi.filegroup.log_blocks import encode_changes
from pyhudi.filegroup.model import PartitionPath


def test_a_delete_without_ordering_value_has_apache_hudis_bytes():
    task = replace(TASK, partition=PartitionPath(""))
    block = encode_changes(changes_of(keyed(trip("TXN-005")), (0,), (0,)), spec_of(SECOND), task)
    assert block.content == bytes.fromhex("00000003 0000000f 02 02 0e 54584e2d303035 02 00 04 00 00")

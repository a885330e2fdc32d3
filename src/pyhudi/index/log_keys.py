"""Whether the logs of a file slice alone have some keys: rows that are written once more need no look at its base file.

Runs in tasks. Start at `are_in_logs`.
"""

import pyarrow.compute as pc

from pyhudi.filegroup.log_records import ReadSpec, read_changes
from pyhudi.filegroup.log_scan import blocks_to_merge
from pyhudi.filegroup.model import FileSlice
from pyhudi.filegroup.reader import SliceSpec
from pyhudi.index.lookup import WantedKeys
from pyhudi.storage.api import Storage

__all__ = ["are_in_logs"]


def are_in_logs(one: FileSlice, *, keys: WantedKeys, storage: Storage, spec: SliceSpec) -> bool:
    """Return whether the logs of a slice have all keys that are wanted of its partition, those that they delete too.

    Cost: the keys of the newest blocks, as long as each of them has half of those that are left.
    """
    left = keys.in_partition(one.group.partition)
    reads = ReadSpec.of_keys(spec.layout)
    for block in reversed(blocks_to_merge(storage, one.logs, spec.counts, spec.instants)):
        found = pc.is_in(left, value_set=read_changes(block, reads).keys)
        fewer = left.filter(pc.invert(found))
        if not len(fewer):
            return True
        if len(fewer) * 2 > len(left):
            break
        left = fewer
    return False

"""Which files of a metadata table are read: the newest HFile of each group and the logs on top of it, in their order.

Held against the rules of the format, one name at a time.
"""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from tests.fixed_env import FixedEnv
from tests.golden.catalogue import kept_tables

from pyhudi.filegroup.file_index import FILES
from pyhudi.filegroup.view import latest_file_slices
from pyhudi.formats.log import BlockKind, read_blocks
from pyhudi.state.properties_file import open_state
from pyhudi.storage.local import LocalStorage
from pyhudi.timeline.active import load_timeline

BASE = re.compile(r"([^_]+)_[^_]*_(\d+)\.hfile")
LOG = re.compile(r"\.([^_]+)_(\d+)\.log\.(\d+)_(.+)")
DONE = re.compile(r"(\d+)_(\d+)\.[a-z]+")


def metadata_tables():
    """Return the golden tables that have a metadata table."""
    return [
        pytest.param(one, id=one.name)
        for one in kept_tables()
        if "metadata" in one.script.name or "index" in one.script.name
    ]


def by_the_rules(root: Path, folder: Path, version: int):
    """Yield (file id, base file, logs in merge order) of each group in a partition."""
    done = dict(found.groups() for one in root.rglob("*") if (found := DONE.fullmatch(one.name)))
    bases, logs = {}, {}
    for name in sorted(one.name for one in folder.iterdir()):
        if found := BASE.fullmatch(name):
            bases.setdefault(found[1], []).append((found[2], name))
        elif found := LOG.fullmatch(name):
            logs.setdefault(found[1], []).append((found[2], int(found[3]), found[4], name))
    for group in sorted(bases.keys() | logs.keys()):
        time, base = max(bases.get(group, [("", None)]))
        of_group = sorted(logs.get(group, []))
        if version == 6:
            newest = max(time, of_group[-1][0])
            yield group, base if time == newest else None, [one[-1] for one in of_group if one[0] == newest]
        else:
            joined = [one for one in of_group if max(one[0], done.get(one[0], "")) >= time]
            yield group, base, [one[-1] for one in joined]


@pytest.mark.parametrize("golden", metadata_tables())
def test_the_newest_slices_of_a_metadata_table_are_those_of_the_rules(unpacked, golden):
    root = unpacked(golden) / ".hoodie" / "metadata"
    partitions = sorted({one.parent for one in root.rglob(".hoodie_partition_metadata")})
    assert partitions
    files = [
        (folder.relative_to(root).as_posix(), one.name, one.stat().st_size)
        for folder in partitions
        for one in sorted(folder.iterdir())
    ]
    timeline = load_timeline(open_state(LocalStorage(str(root)), FixedEnv()))
    columns = [pa.array(column) for column in zip(*files, strict=True)]
    found = latest_file_slices(pa.table(columns, FILES.names).cast(FILES), timeline, {})
    expected = [
        (folder.relative_to(root).as_posix(), *one)
        for folder in partitions
        for one in by_the_rules(root, folder, golden.version)
    ]
    assert [
        (one.group.partition, one.group.file_id, one.base and one.base.name, [log.name for log in one.logs])
        for one in found
    ] == expected


@pytest.mark.parametrize("golden", metadata_tables())
def test_logs_of_a_metadata_table_hold_hfiles_deletes_and_rollbacks_in_the_order_of_their_commits(unpacked, golden):
    root = unpacked(golden) / ".hoodie" / "metadata"
    for folder in sorted({one.parent for one in root.rglob(".hoodie_partition_metadata")}):
        for group, _, logs in by_the_rules(root, folder, golden.version):
            instants = []
            for name in logs:
                data = (folder / name).read_bytes()
                blocks = list(read_blocks(lambda offset, length, data=data: data[offset : offset + length], len(data)))
                assert {one.kind for one in blocks} <= {BlockKind.HFILE, BlockKind.DELETE, BlockKind.COMMAND}
                instants += [one.instant for one in blocks if one.kind is not BlockKind.COMMAND]
            assert instants == sorted(instants), group

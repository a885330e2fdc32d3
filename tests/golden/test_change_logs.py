"""Change logs that Apache Hudi wrote: what their blocks hold is what its own change query says."""

import json

import pyarrow as pa
import pytest
from tests.formats.log.samples import Counted, golden_logs

from pyhudi.formats.avro_rows.decode import decode_batches
from pyhudi.formats.log import BlockKind, read_blocks, split_rows

NAMES = [f"cow_cdc_{mode}-v{n}" for mode in ("op_key_only", "data_before", "data_before_after") for n in (6, 9)]


def stored(name):
    """Return (operation, instant, row) of each change."""
    found = []
    for path, data in golden_logs(name).items():
        blocks = read_blocks(Counted(data), len(data)) if path.endswith(".cdc") else ()
        for block in blocks:
            assert block.kind is BlockKind.CDC
            rows = pa.Table.from_batches(decode_batches(split_rows(block.read_content()), block.schema))
            found += [(row["op"], block.instant, row) for row in rows.to_pylist()]
    return sorted(found, key=lambda one: one[:2])


def image(text):
    """Return a row as a change query shows it, without meta columns and nulls."""
    row = json.loads(text) if text else None
    return row and plain(row)


def plain(row):
    return row and {key: value for key, value in row.items() if value is not None and not key.startswith("_hoodie_")}


@pytest.mark.parametrize("name", NAMES)
def test_change_logs_hold_what_the_change_query_of_apache_hudi_says(name, request):
    expected = json.loads((request.path.parent / "expected" / f"{name}.json").read_text())["cdc"]["rows"]
    told = {(op, instant): (image(before), image(after)) for op, instant, before, after in expected}
    changes = stored(name)
    assert [op for op, _, _ in changes] == ["d", "u"]
    for op, instant, row in changes:
        before, after = told[op, instant]
        assert row.get("ts_ms", instant) == instant
        assert row.get("record_key", before["id"]) == before["id"]
        assert plain(row.get("before", before)) == before
        assert plain(row.get("after", after)) == after

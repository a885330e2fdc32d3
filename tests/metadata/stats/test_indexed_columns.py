import pyarrow as pa
import pytest

from pyhudi.metadata.stats.indexed_columns import indexed_columns
from pyhudi.options import Settings
from pyhudi.schema.meta_fields import META_FIELDS

KEYS = "hoodie.metadata.index.column.stats"
OWN = ("_hoodie_commit_time", "_hoodie_record_key", "_hoodie_partition_path")
SCHEMA = pa.schema(
    {"id": pa.string(), "tags": pa.list_(pa.string()), "raw": pa.binary(), "fare": pa.float64(), "ts": pa.int64()}
)
WIDE = pa.schema({f"c{at}": pa.int32() for at in range(40)})


@pytest.mark.parametrize(
    ("schema", "options", "version", "expected"),
    [
        (SCHEMA, {}, 9, (*OWN, "id", "fare", "ts")),
        (SCHEMA, {f"{KEYS}.column.list": "ts, tags,id, gone"}, 9, (*OWN, "id", "ts")),
        (SCHEMA, {f"{KEYS}.max.columns.to.index": "2"}, 8, (*OWN, "id", "fare")),
        (WIDE, {}, 8, (*OWN, *WIDE.names[:32])),
        (WIDE, {}, 6, (*META_FIELDS, *WIDE.names)),
    ],
)
def test_the_first_columns_that_can_are_indexed_or_those_that_are_named(schema, options, version, expected):
    assert indexed_columns(schema, Settings.of(options), version, has_meta_fields=True) == expected
    without = indexed_columns(schema, Settings.of(options), version, has_meta_fields=False)
    assert without == tuple(name for name in expected if not name.startswith("_hoodie"))

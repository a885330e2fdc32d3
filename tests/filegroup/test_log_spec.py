import json
import logging

import pyarrow as pa
import pytest
from tests.filegroup.test_writer import LAYOUT

from pyhudi.filegroup.log_spec import log_spec
from pyhudi.formats.log import BlockKind
from pyhudi.kernels.rules import LogRule, MergeSpec
from pyhudi.options import Settings
from pyhudi.state.layout import LAYOUTS

FORMAT = "hoodie.logfile.data.block.format"


def kind(merge, said=None):
    return log_spec(Settings.of({} if said is None else {FORMAT: said}), LAYOUTS[9], LAYOUT, "trips", merge).kind


def rules(*ordering, **more):
    assert all(pa.types.is_string(LAYOUT.schema.field(name).type) == (name == "rider") for name in ordering)
    return MergeSpec(ordering=ordering, **({"is_event_time": True} | more))


@pytest.mark.parametrize(
    "merge", [rules("rider"), rules("ts", "rider"), rules("rider", is_event_time=False, log_rule=LogRule.PRECOMBINED)]
)
def test_text_that_orders_changes_of_a_log_is_written_in_avro(merge):
    assert kind(merge) is kind(merge, "avro") is BlockKind.AVRO


@pytest.mark.parametrize("merge", [None, rules("ts"), rules("rider", is_event_time=False)])
def test_blocks_are_parquet_where_no_text_orders_them(merge):
    assert kind(merge) is kind(merge, "parquet") is BlockKind.PARQUET
    assert kind(merge, "avro") is BlockKind.AVRO


def test_parquet_for_text_that_orders_is_a_warning(caplog):
    with caplog.at_level(logging.WARNING, "pyhudi"):
        assert kind(rules("ts"), "parquet") is kind(None, "parquet") is BlockKind.PARQUET
        assert not caplog.records
        assert kind(rules("ts", "rider"), "parquet") is BlockKind.PARQUET
    (record,) = caplog.records
    assert "rider" in record.getMessage()
    assert FORMAT in record.getMessage()


@pytest.mark.parametrize("version", [6, 8, 9])
def test_rows_of_a_log_are_in_avro_with_null_first(version):
    """As base files and commits have them, and as Apache Hudi resolves them."""
    spec = log_spec(Settings(), LAYOUTS[version], LAYOUT, "trips")
    fields = {field["name"]: field["type"] for field in json.loads(spec.schema)["fields"]}
    optional = [kind for kind in fields.values() if isinstance(kind, list)]
    assert optional
    assert all(kind[0] == "null" for kind in optional)
    assert spec.is_by_slice is (version == 6)

import pytest
from tests.new_states import new_state

from pyhudi.errors import NotBuilt, Unsupported
from pyhudi.state.config import TableConfig
from pyhudi.state.layout import layout_of
from pyhudi.state.refusals import find_refusals, require_writable


def config(version: int = 9, **said: str) -> TableConfig:
    return TableConfig.of({"hoodie.table.name": "t", "hoodie.table.version": str(version), **said})


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("ordering", [(), ("ts",)])
def test_a_new_table_is_written(version, ordering):
    state = new_state(version, ordering=ordering)
    require_writable(state.config, state.layout)


@pytest.mark.parametrize(
    ("said", "feature"),
    [
        ({"hoodie.table.cdc.enabled": "true"}, "change data capture"),
        ({"hoodie.bootstrap.base.path": "/data"}, "bootstrap"),
        ({"hoodie.table.base.file.format": "ORC"}, "parquet.*ORC"),
        ({"hoodie.table.multiple.base.file.formats.enable": "true"}, "several base file formats"),
        ({"hoodie.record.merge.mode": "CUSTOM"}, "merge rules"),
        ({"hoodie.compaction.payload.class": "x.Mine"}, "merge rules.*x.Mine"),
        ({"hoodie.table.partial.update.mode": "FILL_DEFAULTS"}, "merge rules.*FILL_DEFAULTS"),
        ({"hoodie.partition.metafile.use.base.format": "true"}, "partition metadata"),
        ({"hoodie.table.format": "iceberg"}, "foreign table formats"),
    ],
)
def test_a_property_of_what_is_not_built_is_refused_by_name(said, feature):
    with pytest.raises(NotBuilt, match=feature):
        require_writable(config(**said), layout_of(9))


def test_properties_that_say_the_default_are_no_feature():
    said = {
        "hoodie.table.metadata.partitions": "",
        "hoodie.table.metadata.partitions.inflight": "",
        "hoodie.table.cdc.enabled": "false",
        "hoodie.table.format": "native",
        "hoodie.table.partial.update.mode": "NONE",
        "hoodie.table.base.file.format": "PARQUET",
    }
    assert find_refusals(config(**said)) == []


@pytest.mark.parametrize("version", [1, 5, 7])
def test_old_versions_are_only_read(version):
    with pytest.raises(Unsupported, match=f"table_version={version}"):
        require_writable(config(version), layout_of(version))


def test_all_features_are_told_at_once():
    said = {"hoodie.table.cdc.enabled": "true", "hoodie.bootstrap.base.path": "/data"}
    with pytest.raises(NotBuilt, match="change data capture") as told:
        require_writable(config(**said), layout_of(9))
    assert told.value.values["also"] == ["bootstrapped tables"]

"""Tests for metadata/partitions/defined.py."""

import pyarrow as pa
import pytest

from pyhudi.errors import OptionError
from pyhudi.hashing import SHARD_HASH
from pyhudi.metadata.partitions.api import file_group
from pyhudi.metadata.partitions.defined import EXPRESSION_GROUPS, DefinedKind
from pyhudi.metadata.partitions.expression_blooms import ExpressionBloomKind
from pyhudi.metadata.partitions.expression_stats import ExpressionStatsKind
from pyhudi.metadata.partitions.secondary_index import SecondaryIndexKind
from pyhudi.options import Settings
from pyhudi.state.config import TableConfig
from pyhudi.state.index_definition import IndexDefinition

_KINDS = (ExpressionStatsKind, ExpressionBloomKind, SecondaryIndexKind)
_DAYS = IndexDefinition(partition="expr_index_of_days", type="column_stats", fields=("ts",))
_CONFIG = TableConfig.of({"hoodie.table.name": "t", "hoodie.table.version": "9"})


@pytest.mark.parametrize("make", _KINDS)
def test_a_kind_is_called_as_its_definition_says(make: type[DefinedKind]) -> None:
    kind = make(_DAYS)
    assert kind.name == "expr_index_of_days"
    assert file_group(kind, 3).file_id == "expr-index-of-days-0003-0"


@pytest.mark.parametrize("make", _KINDS)
def test_no_option_gives_a_new_metadata_table_such_a_partition(make: type[DefinedKind]) -> None:
    kind = make(_DAYS)
    assert not kind.is_first(_CONFIG, Settings({"hoodie.metadata.index.expression.enable": "true"}))
    assert kind.enabled_by is None


def test_the_number_of_file_groups_is_an_option() -> None:
    kind = DefinedKind(_DAYS)
    assert kind.groups(Settings()) == 2
    assert kind.groups(Settings({EXPRESSION_GROUPS.key: "5"}), records_count=10**9) == 5
    with pytest.raises(OptionError, match="at least one"):
        kind.groups(Settings({EXPRESSION_GROUPS.key: "0"}))


def test_keys_are_in_groups_by_all_of_their_text() -> None:
    keys = pa.array(["a", "b", "c$d"])
    assert DefinedKind(_DAYS).key_hash.place_of(keys, 7).tolist() == SHARD_HASH.place_of(keys, 7).tolist()

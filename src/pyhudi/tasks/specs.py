"""What all tasks of one instant share: keys, columns, merge rules, how files are written.

Functions of a table and its options, for writes and for services. Start at `write_spec`.
"""

import json
from dataclasses import replace

import pyarrow as pa

from pyhudi.filegroup.key_filter import BloomSpec
from pyhudi.filegroup.log_spec import log_spec
from pyhudi.filegroup.rows import RowLayout
from pyhudi.filegroup.write_task import WriteSpec
from pyhudi.formats.parquet import parquet_options
from pyhudi.kernels.keys import KeySpec
from pyhudi.metadata.partitions.changes import measures_of
from pyhudi.options import Settings
from pyhudi.schema.types import arrow_to_avro, record_name
from pyhudi.state.config import TableConfig, TableType, key_spec
from pyhudi.state.merging import merge_spec, required_columns
from pyhudi.state.model import TableState
from pyhudi.timeline.instant import InstantTime

__all__ = ["commit_schema", "keys_of", "write_spec"]


def keys_of(
    state: TableState, settings: Settings, key_encoding: bool | None, instant: InstantTime | None = None
) -> KeySpec:
    """Return the table's key generator; generated keys start with the instant.

    `key_encoding`: the single-field complex key is prefixed, as the table's own keys show; None where it does not
    matter.
    """
    spec = key_spec(state.config, settings)
    if key_encoding is not None:
        spec = replace(spec, has_prefixed_single_key=key_encoding)
    return replace(spec, key_prefix=instant or "")


def write_spec(
    state: TableState, settings: Settings, schema: pa.Schema, instant: InstantTime, *, key_encoding: bool | None
) -> WriteSpec:
    """Make the constants that all tasks of an instant share.

    `schema` has the table's columns; `key_encoding` is that of `keys_of`.
    """
    config = state.config
    keys = keys_of(state, settings, key_encoding, instant)
    layout = RowLayout(
        schema=schema,
        key_spec=keys,
        has_meta_values=config.populates_meta_fields,
        dropped=config.columns_in_paths,
    )
    merge = merge_spec(config, settings)
    merges_logs = merge if config.table_type is TableType.MERGE_ON_READ else None
    return WriteSpec(
        instant=instant,
        layout=layout,
        merge=merge,
        parquet=parquet_options(settings),
        bloom=BloomSpec.of(settings) if config.populates_meta_fields else None,
        logs=log_spec(settings, state.layout, layout, config.name, merges_logs),
        required=tuple(name for name in required_columns(config, settings) if name in schema.names),
        measures=measures_of(state, schema, settings),
    )


def commit_schema(config: TableConfig, schema: pa.Schema) -> str:
    """Format the table's columns as every commit carries them: Avro, null first.   Spec: format/timeline 3.2."""
    avro = arrow_to_avro(schema, *record_name(config.name), null_first=True)
    return json.dumps(avro, separators=(",", ":"))

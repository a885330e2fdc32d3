"""Avro records without a container, many of one schema, to Arrow columns: values of HFiles, records of log blocks.

Rows are never looped over: each field of the schema is one step over all records. Start at `decode_rows`.
"""

from pyhudi.formats.avro_rows.decode import decode_rows

__all__ = ["decode_rows"]

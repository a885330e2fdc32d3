"""Avro records of one schema without a container, values of HFiles or records of log blocks, to Arrow columns and back.

Rows are never looped over: each field of the schema is one step over all records. Start at `decode_rows`, then
`encode_rows`.
"""

from pyhudi.formats.avro_rows.decode import decode_batches, decode_rows
from pyhudi.formats.avro_rows.encode import encode_rows

__all__ = ["decode_batches", "decode_rows", "encode_rows"]

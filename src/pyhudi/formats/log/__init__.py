"""Log files: blocks of rows, deletes and commands, one behind the other.

No paths and no knowledge of tables: bytes are read by `read_at(offset, length)`. Start at `read_blocks` and
`encode_blocks`.
"""

from pyhudi.formats.log.block import BlockKind, Command, HeaderKey, LogBlock, NewBlock
from pyhudi.formats.log.delete_encoding import encode_deletes
from pyhudi.formats.log.deletes import DELETES, decode_deletes
from pyhudi.formats.log.reader import read_blocks
from pyhudi.formats.log.rows import join_rows, read_rows, split_rows
from pyhudi.formats.log.writer import encode_blocks, rollback_block

__all__ = [
    "DELETES",
    "BlockKind",
    "Command",
    "HeaderKey",
    "LogBlock",
    "NewBlock",
    "decode_deletes",
    "encode_blocks",
    "encode_deletes",
    "join_rows",
    "read_blocks",
    "read_rows",
    "rollback_block",
    "split_rows",
]

"""HFiles, version 3: sorted keys with values, found by their blocks' index.

What the metadata table's base files are, and the content of its data blocks in logs. Keys and values are bytes. Start
at `open_hfile` and `write_hfile`.
"""

from pyhudi.formats.hfile.block import HFileCodec
from pyhudi.formats.hfile.index import KeyForm
from pyhudi.formats.hfile.kept import KeptBlock
from pyhudi.formats.hfile.reader import HFile, open_hfile
from pyhudi.formats.hfile.writer import write_hfile

__all__ = ["HFile", "HFileCodec", "KeptBlock", "KeyForm", "open_hfile", "write_hfile"]

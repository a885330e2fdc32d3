"""The file info of an HFile: a map of names to bytes, of which some are the format's own.

Start at `decode_file_info` and `encode_file_info`.
"""

from collections.abc import Mapping

from pyhudi.errors import CorruptData, Unsupported
from pyhudi.formats.hfile.protobuf import decode_message, encode_message, encode_varint, split_delimited

__all__ = ["decode_file_info", "encode_file_info", "has_mvcc", "standard_file_info"]

_MAGIC = b"PBUF"
_PAIR = 1
_FIRST, _SECOND = 1, 2
_KEY_VALUE_VERSION, _MVCC_VERSION = "KEY_VALUE_VERSION", 1
_MAX_MVCC = "MAX_MEMSTORE_TS_KEY"
_MAX_TAGS = "MAX_TAGS_LEN"
_LAST_KEY, _CREATED = "hfile.LASTKEY", "hfile.CREATE_TIME_TS"
_KEY_BYTES, _VALUE_BYTES = "hfile.AVG_KEY_LEN", "hfile.AVG_VALUE_LEN"
_INT_BYTES, _LONG_BYTES = 4, 8


def decode_file_info(payload: bytes) -> dict[str, bytes]:
    """Read the map; of names that are written twice the last counts.

    Raises: CorruptData where the bytes are none.
    Spec:   format/files 5.5.
    """
    if not payload.startswith(_MAGIC):
        raise CorruptData("HFile's file info does not begin as one", found=payload[: len(_MAGIC)])
    found: dict[str, bytes] = {}
    for number, pair in decode_message(split_delimited(payload[len(_MAGIC) :])):
        if number != _PAIR or not isinstance(pair, bytes):
            raise CorruptData("HFile's file info has what is no pair", field=number)
        fields = dict(decode_message(pair))
        first, second = fields.get(_FIRST, b""), fields.get(_SECOND, b"")
        if not isinstance(first, bytes) or not isinstance(second, bytes):
            raise CorruptData("HFile's file info has a number where bytes belong")
        try:
            found[first.decode()] = second
        except UnicodeDecodeError as error:
            raise CorruptData("HFile's file info has a name that is no text", name=first) from error
    return found


def encode_file_info(values: Mapping[str, bytes]) -> bytes:
    """Write the map in the order given.

    Bytes: PBUF, length, a message of pairs.
    Spec:  format/files 5.5.
    """
    pairs = [(_PAIR, encode_message([(_FIRST, name.encode()), (_SECOND, value)])) for name, value in values.items()]
    message = encode_message(pairs)
    return _MAGIC + encode_varint(len(message)) + message


def standard_file_info(
    *, last_key: bytes | None, key_bytes: int, value_bytes: int, created_ms: int
) -> dict[str, bytes]:
    """Return what the format itself says: the last key, average lengths, when it was made, versions that are all 0.

    Bytes: big-endian integers.
    Spec:  format/files 5.5.
    """
    values = {
        _KEY_VALUE_VERSION: _MVCC_VERSION.to_bytes(_INT_BYTES, "big"),
        _MAX_MVCC: bytes(_LONG_BYTES),
        _KEY_BYTES: key_bytes.to_bytes(_INT_BYTES, "big"),
        _VALUE_BYTES: value_bytes.to_bytes(_INT_BYTES, "big"),
        _CREATED: created_ms.to_bytes(_LONG_BYTES, "big"),
    }
    return values if last_key is None else values | {_LAST_KEY: last_key}


def has_mvcc(file_info: Mapping[str, bytes]) -> bool:
    """Check whether a version, which is always 0, follows each value.

    Raises: Unsupported where versions other than 0, or tags, are stored.
    Spec:   format/files 5.3.
    """
    if int.from_bytes(file_info.get(_MAX_TAGS, b""), "big"):
        raise Unsupported("HFiles with tags are not read")
    if int.from_bytes(file_info.get(_KEY_VALUE_VERSION, b""), "big") != _MVCC_VERSION:
        return False
    if int.from_bytes(file_info.get(_MAX_MVCC, b""), "big", signed=True) > 0:
        raise Unsupported("HFiles with versions of their values are not read")
    return True

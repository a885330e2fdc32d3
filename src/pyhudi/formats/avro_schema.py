"""Avro schemas as files hold them: read as JSON, and refused where decoding by them could not be bounded.

Start at `parse_avro_schema`.
"""

from typing import Any

from pyhudi.errors import CorruptData, LimitExceeded
from pyhudi.schema.json_text import parse_json

__all__ = ["parse_avro_schema"]

_MAX_DEPTH = 64
_MAX_VALUES = 100_000
_NAMED = ("record", "error", "enum", "fixed")


def parse_avro_schema(text: bytes | str) -> Any:  # noqa: ANN401 - JSON
    """Read the text of an Avro schema as JSON, once it is known to be shallow, finite and without recursion.

    Raises: CorruptData for what is no schema; LimitExceeded for depth and for records that unfold without end.
    """
    try:
        raw = text.encode() if isinstance(text, str) else text
        _check_nesting(raw)
        schema = parse_json(raw)
    except UnicodeEncodeError as error:
        raise CorruptData("Avro schema is no Unicode") from error
    _Weigher().weigh(schema, "", 0)
    return schema


def _check_nesting(text: bytes) -> None:
    """Refuse JSON so deep that parsing it would exhaust the stack: brackets in strings only make this stricter."""
    depth = 0
    for byte in text.translate(None, bytes(set(range(256)) - set(b"[]{}"))):
        depth += 1 if byte in b"[{" else -1
        if depth > 4 * _MAX_DEPTH:
            raise LimitExceeded("Avro schema is nested too deeply", limit=_MAX_DEPTH)


class _Weigher:
    """Bounds what a schema can make a decoder do without consuming a byte of data.

    Refused are depth, recursion, lists of nothing, and records that unfold to ever more records.
    """

    def __init__(self) -> None:
        self.named: dict[str, tuple[int, int] | None] = {}

    def weigh(self, schema: object, namespace: str, depth: int) -> tuple[int, int]:
        """Return the values a decoder makes for one datum and the fewest bytes they take."""
        if depth > _MAX_DEPTH:
            raise LimitExceeded("Avro schema is nested too deeply", limit=_MAX_DEPTH)
        if isinstance(schema, list):
            parts = [self.weigh(part, namespace, depth + 1) for part in schema]
            return 1 + max((values for values, _ in parts), default=0), 1
        if isinstance(schema, str):
            return self._weigh_name(schema, namespace)
        if not isinstance(schema, dict):
            raise CorruptData("Avro schema does not parse", part=str(schema)[:80])
        kind = schema.get("type")
        if kind in _NAMED:
            return self._weigh_named(schema, namespace, depth)
        if kind in ("array", "map"):  # a tuple: what a file says may not be hashable
            values, size = self.weigh(schema.get("items" if kind == "array" else "values"), namespace, depth + 1)
            if kind == "array" and size == 0:
                raise CorruptData("Avro schema has a list of values without bytes")
            return 1 + values, 1
        return self.weigh(kind, namespace, depth + 1)

    def _weigh_name(self, name: str, namespace: str) -> tuple[int, int]:
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        for known in (full, name):
            if known in self.named:
                weight = self.named[known]
                if weight is None:
                    raise CorruptData("Avro schema is recursive", name=name)
                return weight
        return 1, 0 if name == "null" else 1

    def _weigh_named(self, schema: dict[str, Any], namespace: str, depth: int) -> tuple[int, int]:
        name = str(schema.get("name", ""))
        inner = str(schema.get("namespace") or (name.rpartition(".")[0] if "." in name else namespace))
        full = name if "." in name or not inner else f"{inner}.{name}"
        self.named[full] = None
        if schema["type"] in ("record", "error"):
            fields = schema.get("fields")
            if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
                raise CorruptData("Avro schema has a record without fields", name=name)
            parts = [self.weigh(field.get("type"), inner, depth + 1) for field in fields]
            weight = 1 + sum(values for values, _ in parts), sum(size for _, size in parts)
        else:
            weight = 1, 1 if schema["type"] == "enum" or schema.get("size") else 0
        if weight[0] > _MAX_VALUES:
            raise LimitExceeded("Avro schema unfolds to too many values", name=name, limit=_MAX_VALUES)
        self.named[full] = weight
        return weight

"""Record keys that a filter requires: those that it names, or that the key's fields make of its values.

Pure. Start at `keys_required`.

Spec: format/files 8.1, 8.2; format/metadata-table 8.6.
"""

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pyhudi.errors import KeyMissing
from pyhudi.kernels.keys import KeyGenerator, KeySpec, record_keys
from pyhudi.schema.meta_fields import RECORD_KEY

__all__ = ["keys_required", "may_require_keys"]

_MOST: Final = 100_000
"""More keys than this, of all pairs of values of a composite key, are not looked up."""


def may_require_keys(required: Mapping[str, pa.Array], key_fields: tuple[str, ...]) -> bool:
    """Return whether required values name a record key, or each of its fields."""
    return RECORD_KEY in required or (bool(key_fields) and all(name in required for name in key_fields))


def keys_required(required: Mapping[str, pa.Array], spec: KeySpec) -> pa.Array | None:
    """Return the record keys one of which a row must have; None where required values do not say.

    Only texts and whole numbers are made into keys: of them every writer makes the same text.

    Shape: `required_values.values_required` -> each key once, string.
    Cost:  of a composite key as many keys as its fields have pairs of values.
    """
    if RECORD_KEY in required:
        return required[RECORD_KEY].cast(pa.string())
    if spec.generator is KeyGenerator.USER_PROVIDED or not may_require_keys(required, spec.record_key):
        return None
    values = [required[name] for name in spec.record_key]
    counts = [len(one) for one in values]
    if not all(_makes_sure_text(one.type) for one in values) or not 0 < math.prod(counts) <= _MOST:
        return None
    places = np.indices(counts).reshape(len(counts), -1)
    columns = {name: one.take(pa.array(at)) for name, one, at in zip(spec.record_key, values, places, strict=True)}
    try:
        return pc.unique(record_keys(spec, pa.table(columns)))
    except KeyMissing:  # an empty text, which is no key
        return None


def _makes_sure_text(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_signed_integer(kind))

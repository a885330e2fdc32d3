"""The bucket index of a table that does not keep it, recognised by its file groups.

Their names tell that there are buckets, and the stored keys how many. Start at `recognised_buckets`.

Spec: format/files 9.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final

import numpy as np
import pyarrow as pa

from pyhudi.engine.api import KEY
from pyhudi.errors import FileMissing, OptionError
from pyhudi.filegroup.model import BaseFile, LogFile
from pyhudi.index.api import Hashing
from pyhudi.index.bucket import BUCKET, BUCKETS, hashing_of
from pyhudi.index.choice import INDEX_TYPE, index_declaration
from pyhudi.index.stored_keys import base_scan, stored_keys
from pyhudi.kernels.bucket import bucket_number, common_divisor
from pyhudi.kernels.keys import KeySpec
from pyhudi.options import Settings
from pyhudi.state.config import INDEX_KEYS
from pyhudi.state.model import TableState

__all__ = ["recognised_buckets"]

_ENOUGH_KEYS: Final = 64
"""So many keys lie right by chance, under a wrong number of buckets, once in 2 ** 64 tables."""
_SAMPLED_KEYS: Final = 1_000


def recognised_buckets(
    state: TableState, settings: Settings, keys: KeySpec, files: Sequence[BaseFile | LogFile]
) -> dict[str, str]:
    """Return the properties that keep the bucket index which wrote these files; options tell what the keys cannot.

    Cost:   the keys of a base file, or of so many as it takes.
    Raises: OptionError.
    """
    settings = Settings({key: text for key, text in settings.values.items() if key in INDEX_KEYS})
    key_fields = state.config.record_key
    if settings.has(INDEX_TYPE) and settings.get(INDEX_TYPE) != BUCKET:
        raise OptionError(
            "the table's file groups are hash buckets; leave the option out",
            key=INDEX_TYPE.key,
            value=settings.get(INDEX_TYPE),
            file_id=files[0].file_id,
        )
    samples, lowest = _samples(state, keys, files), max(bucket_number(file.file_id) for file in files) + 1
    counted = None if settings.has(BUCKETS) else _count(hashing_of(settings, key_fields), samples, lowest)
    if counted is None and not (settings.has(BUCKETS) or settings.has(INDEX_TYPE)):
        raise OptionError(
            f"the table's file groups are hash buckets, and their keys do not tell how many; give {INDEX_TYPE.key}="
            f"{BUCKET} and {BUCKETS.key} as the table was written with",
            file_id=files[0].file_id,
        )
    said = settings.over(Settings({INDEX_TYPE.key: BUCKET}))
    found = index_declaration(said.over(Settings({BUCKETS.key: str(counted)})) if counted else said, key_fields)
    _require_fit(hashing_of(Settings(found), key_fields), samples, lowest)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """Some keys of a file of one bucket."""

    bucket: int
    keys: pa.ChunkedArray


def _require_fit(hashing: Hashing, samples: Sequence[_Sample], lowest: int) -> None:
    for one in samples:
        if np.unique(hashing.place_of(one.keys)).tolist() not in ([], [one.bucket]):
            break
    else:
        if hashing.buckets_count >= lowest:
            return
    raise OptionError(
        "the table's hash buckets were not written with this number of buckets and these hash fields",
        key=BUCKETS.key,
        value=hashing.buckets_count,
        fields=list(hashing.key_hash.hash_fields),
    )


def _count(hashing: Hashing, samples: Sequence[_Sample], lowest: int) -> int | None:
    """Return how many buckets the keys were spread over; None where they are too few to tell."""
    fields, key_fields = hashing.key_hash.hash_fields, hashing.key_hash.key_fields
    divisor = gcd(*(common_divisor(one.keys, one.bucket, fields, key_fields) for one in samples))
    is_told = sum(len(one.keys) for one in samples) >= _ENOUGH_KEYS
    # Keys hashed by other fields have nothing in common, which is right for one bucket alone.
    is_chance = divisor == 1 and len(key_fields) > 1
    return divisor if is_told and divisor >= lowest and not is_chance else None


def _samples(state: TableState, spec: KeySpec, files: Sequence[BaseFile | LogFile]) -> list[_Sample]:
    """Read keys of so many base files as it takes."""
    samples: list[_Sample] = []
    for file in [one for one in files if isinstance(one, BaseFile)]:
        if sum(len(one.keys) for one in samples) >= _SAMPLED_KEYS:
            break
        try:
            found = stored_keys((0, base_scan(file)), storage=state.storage, spec=spec, stored=pa.schema([]))
            keys = pa.chunked_array([batch.column(KEY) for batch in found], pa.string())
        except FileMissing:  # replaced and cleaned since
            continue
        samples.append(_Sample(bucket=bucket_number(file.file_id), keys=keys.slice(0, _SAMPLED_KEYS)))
    return samples

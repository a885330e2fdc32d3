"""What the files of a write are called, and how large they get: the same for every attempt, on any worker.

Start at `new_file_id`.
"""

import uuid
from typing import Final

from pyhudi.filegroup.model import FileId
from pyhudi.kernels.bucket import bucket_file_id
from pyhudi.options import between, option
from pyhudi.timeline.instant import InstantTime

__all__ = ["MAX_FILE_SIZE", "new_bucket_file_id", "new_file_id"]

MAX_FILE_SIZE: Final = option(
    "hoodie.parquet.max.file.size",
    125_829_120,
    "Base files are not planned larger. Bytes.",
    parse=between(1, 2**63 - 1),
)
_NAMESPACE: Final = uuid.UUID("6f0c0d7e-6d5b-4f39-9a55-0a5d5a1c5c11")


def new_file_id(instant: InstantTime, partition: str, number: int) -> FileId:
    """Make a file id that is the same for every attempt of the same write."""
    return FileId(f"{_seed(instant, partition, number)}-0")


def new_bucket_file_id(instant: InstantTime, partition: str, number: int) -> FileId:
    """Make the file id of a hash bucket, which says its number; the same for every attempt of the same write."""
    return FileId(bucket_file_id(number, _seed(instant, partition, number)))


def _seed(instant: InstantTime, partition: str, number: int) -> uuid.UUID:
    return uuid.uuid5(_NAMESPACE, f"{instant}/{partition}/{number}")

"""Key generators: from rows to record keys and partition paths.

Pure Arrow kernels. Start at `record_keys` and `partition_paths`; `KeySpec` says which generator a table uses.
"""

from pyhudi.kernels.keys.generate import keys_and_paths, partition_paths, record_keys
from pyhudi.kernels.keys.parse import key_elements
from pyhudi.kernels.keys.registry import KeyFunction, register_key_generator, registered_key_generator
from pyhudi.kernels.keys.spec import KeyGenerator, KeySpec, PartitionField, TimestampSpec

__all__ = [
    "KeyFunction",
    "KeyGenerator",
    "KeySpec",
    "PartitionField",
    "TimestampSpec",
    "key_elements",
    "keys_and_paths",
    "partition_paths",
    "record_keys",
    "register_key_generator",
    "registered_key_generator",
]

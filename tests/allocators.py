"""What makes the memory of a process tell what it holds: without, allocators keep tens of MB that were freed."""

GIVES_BACK = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
}
"""Variables of a process's environment, read as it starts: what is freed goes back to the system."""

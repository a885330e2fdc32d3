"""The partitions of a metadata table that pyhudi keeps up, one kind a file: what it stores, how it follows actions."""

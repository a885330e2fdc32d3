"""Statistics of columns and of partitions: read from files, folded, widened and stored."""

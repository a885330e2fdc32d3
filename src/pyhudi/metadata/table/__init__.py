"""What changes a metadata table: delta commits, building, compaction, rollback."""

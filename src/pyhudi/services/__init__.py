"""Table services: planned, run and completed beside writes; nothing here changes a row."""

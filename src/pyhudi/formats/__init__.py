"""Bytes to Arrow and back. No paths, no knowledge of tables."""

"""Compact: put logs and base files together."""

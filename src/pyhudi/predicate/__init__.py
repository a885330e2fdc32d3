"""Expressions over columns: one small SQL grammar, the same on both engines."""

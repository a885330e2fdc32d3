"""Verbs that read a table."""

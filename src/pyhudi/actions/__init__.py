"""Verbs that change a table: one file an action of the timeline."""

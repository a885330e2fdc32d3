"""Run functions over tasks and frames."""

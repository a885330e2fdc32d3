"""The demo: a pipeline on real data, each number checked against the source."""

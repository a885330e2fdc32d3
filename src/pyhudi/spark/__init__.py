"""Spark as an engine and as a surface: the only room that imports pyspark."""

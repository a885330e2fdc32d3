"""SQL statements about Hudi tables: read here, run by whichever surface has them.

Text becomes tokens, tokens become frozen statements, and a statement becomes a verb of a table. What a query or an
expression means is left to the engine that runs it, Spark or duckdb; neither is imported here.
Start at `parse.read_statement` and `verbs.run`.
"""

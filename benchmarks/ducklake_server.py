"""The child that DuckLake lives in: a line of JSON in, an empty line out. It knows nothing of pyhudi."""

import json
import sys

import duckdb
import pyarrow as pa
from duckdb_extensions import import_extension


def main() -> None:
    """Do what the lines say: name a batch `s`, attach a lake, run statements, keep the rows of the last as a file."""
    import_extension("ducklake")
    connection = duckdb.connect()
    connection.execute("LOAD ducklake")
    for line in sys.stdin:
        order = json.loads(line)
        if "batch" in order:
            with pa.memory_map(order["batch"]) as source:
                connection.register("s", pa.ipc.open_file(source).read_all())
        if "lake" in order:
            options = f"DATA_PATH '{order['lake']}/data/', OVERRIDE_DATA_PATH true"
            connection.execute(f"ATTACH 'ducklake:{order['lake']}/catalog' AS lake ({options})")
        for statement in order.get("statements", ()):
            rows = connection.execute(statement).to_arrow_table()
        if "lake" in order:
            connection.execute("DETACH lake")
        if "keep" in order:
            with pa.OSFile(order["keep"], "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
                writer.write_table(rows)
        print(flush=True)


if __name__ == "__main__":
    main()

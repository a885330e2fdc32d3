"""The demo's stream, on Spark: what changes in the merge-on-read table is carried into a third table.

Start at `show_stream`.
"""

import shutil
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

import pyhudi
from pyhudi.demo.engines import DemoRows
from pyhudi.demo.flights import KEY, SCHEMA, Flights
from pyhudi.demo.judge import differing_rows
from pyhudi.demo.report import Report
from pyhudi.spark import install, uninstall

__all__ = ["show_stream"]

_OPTIONS: Final = {
    "hoodie.table.name": "carried",
    "hoodie.datasource.write.recordkey.field": ",".join(KEY),
    "hoodie.clean.automatic": False,
}


def show_stream(source: str, path: str, on: DemoRows, flights: Flights, report: Report) -> None:
    """Carry a table of the first month into another: all of it, then what changed since; and compare."""
    flown = flights.flown([flights.months[0]])
    checkpoint = f"{path}-checkpoint"
    shutil.rmtree(Path(checkpoint), ignore_errors=True)
    install(on.session)
    try:
        carried = _carry(on.session, source, path, checkpoint)
        report.claim("rows carried into the new table", carried, flown.num_rows)
        first_day = flown.filter(pc.equal(flown["day"], 1))
        pyhudi.open_table(source).upsert(on.give(_hurried(first_day)))
        carried = _carry(on.session, source, path, checkpoint)
        report.claim("rows carried after one day was changed", carried, first_day.num_rows)
    finally:
        uninstall()
    copy, now = (on.rows(pyhudi.open_table(where).scan(columns=SCHEMA.names)) for where in (path, source))
    report.claim("rows on which both tables differ", differing_rows(copy, now), 0)


def _carry(session: Any, source: str, path: str, checkpoint: str) -> int:  # noqa: ANN401 - a SparkSession
    """Run the query over what is there now, and return how many rows it carried."""
    rows = session.readStream.format("hudi").load(source).select(*SCHEMA.names)
    writer = rows.writeStream.format("hudi").options(**_OPTIONS).option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start(path)
    query.awaitTermination()
    return sum(int(one["numInputRows"]) for one in query.recentProgress)


def _hurried(flown: pa.Table) -> pa.Table:
    """Return flights that took a minute less."""
    at = flown.schema.get_field_index("air_time")
    return flown.set_column(at, SCHEMA.field("air_time"), pc.subtract(flown["air_time"], 1))

"""Writes on a disk that is really full: run by test_full_disk on a disk of its own.

`python -m tests.simulation.full_disk FOLDER room|names` leaves a little more in each round, until a write is done.
Prints one JSON document: what writers were told, and how often. Start at `main`.
"""

import json
import sys
from collections import Counter

from tests.amounts import amount
from tests.building import TRIPS, trip
from tests.simulation.own_disk import Ballast
from tests.simulation.world import OPTIONS, require_clean

from pyhudi.errors import HudiError, OutcomeUnknown
from pyhudi.table import create_table, open_table

ENOUGH_DONE = 3
MOST_LEFT = 200
STEP = amount(3, 1, 1)
"""How much more is left in each round."""


class Disk:
    """A table on a disk, and what its rows have to be."""

    def __init__(self, folder):
        self.path, self.ballast, self.rows = f"{folder}/trips", Ballast(folder), {}
        create_table(
            self.path,
            TRIPS,
            record_key=["uuid"],
            partition_by=["city"],
            ordering=["ts"],
            options={"hoodie.table.name": "trips"},
        )
        self.write("first")

    def write(self, key):
        """Add a row to each of two partitions."""
        open_table(self.path).upsert([trip(key, "a"), trip(key, "b")], options=OPTIONS)
        self.rows |= {(key, "a"): 1.0, (key, "b"): 1.0}

    def tried(self, key):
        """Write on the full disk, and give what the writer was told."""
        try:
            self.write(key)
        except OutcomeUnknown:
            return "OutcomeUnknown"
        except HudiError as error:
            return type(error).__name__
        return "done"

    def require(self):
        """Check the table against what was told, while the disk is still full."""
        found = open_table(self.path).scan(["uuid", "city", "fare"]).to_arrow().to_pylist()
        assert len(found) == len(self.rows), "a row is missing, or is there twice"
        assert {(row["uuid"], row["city"]): row["fare"] for row in found} == self.rows


def round_of(disk, what, left):
    """Fill the disk but for a little, write, judge; then make room, and let the next writer in."""
    take = {"room": disk.ballast.fill, "names": disk.ballast.take_names}[what]
    take(left)
    answer = disk.tried(f"on full {left}")
    disk.require()
    disk.ballast.drop()
    disk.write(f"after {left}")
    disk.require()
    require_clean(open_table(disk.path))
    return answer


def main(folder, what):
    """Print what writers were told."""
    disk, told, left = Disk(folder), Counter(), 0
    while told["done"] < ENOUGH_DONE and left < MOST_LEFT:
        told[round_of(disk, what, left)] += 1
        left += STEP
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])

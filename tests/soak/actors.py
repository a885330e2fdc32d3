"""What works on a soaked table, each in a process of its own: writers that say what was acknowledged, and readers.

An actor works until its wire says stop, and tells its wire what happened. Whatever it writes says so in the commit's
own metadata, so that the timeline can be held against what was told. A new kind of actor is a function in ACTORS.
"""

import json
import os
import random
from dataclasses import dataclass, field
from pathlib import Path

from tests.building import TINY_FILTERS, trip

from pyhudi.env import SystemEnv
from pyhudi.errors import CorruptData, HudiError, InternalError, OutcomeUnknown
from pyhudi.metadata import reader
from pyhudi.table import open_table
from pyhudi.timeline import active

NOTE = "soak"
"""Where a commit's metadata tell what it does."""
PAIRS = tuple((f"p{number}", f"p{number + 1}") for number in range(0, 8, 2))
"""Every commit writes to both partitions of a pair: a reader that sees it in one has to see it in the other."""
COUNTERS = (("count-p0", "p0"), ("count-p1", "p1"))
KEPT = 5
"""How many keys of its own a writer has at a time."""

PAUSE_S = 0.05
"""How long a reader waits between two reads."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the table is, and what writers ask for there."""

    path: str
    storage_options: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    table_type: str = "cow"
    sway_ms: int = 0
    """How far clocks may be wrong."""
    stall_s: float = 1.0
    """How long an actor that stands still does so."""
    disk: str = ""
    """The folder where a file system begins that no other process uses: it may be filled."""

    def table(self, env=None):
        """Open the table."""
        return open_table(self.path, storage_options=self.storage_options or None, env=env)

    @property
    def asked(self):
        """Return the options of a write."""
        return {**TINY_FILTERS, **self.options}


class SwayingEnv(SystemEnv):
    """The real world with a wrong clock, which jumps now and then, also backwards."""

    def __init__(self, sway_ms, chance):
        self._sway_ms, self._chance = sway_ms, chance
        self._offset_ms = chance.randint(-sway_ms, sway_ms)

    def now_ms(self):
        if self._sway_ms and self._chance.random() < 0.02:
            self._offset_ms = self._chance.randint(-self._sway_ms, self._sway_ms)
        return super().now_ms() + self._offset_ms


def write(place, name, wire):
    """Add, change, count and drop rows, each in one commit, and tell how each ended."""
    keep_little()
    chance = random.Random(name)
    table, own = place.table(SwayingEnv(place.sway_ms, chance)), []
    number = 0
    while not wire.poll():
        number += 1
        note = _drawn(f"{name}-{number}", own, chance)
        ended, instant = _committed(table, note, place.asked)
        wire.send((ended, note["token"], instant, usage()))
        if ended == "ok" and note["verb"] == "add":
            own.append(note)
        if note["verb"] == "drop":
            own[:] = [one for one in own if one["key"] != note["key"]]  # whatever came of it: no actor touches it again


def _drawn(token, own, chance):
    """Choose what to do next: with a row that all count in, or with rows of one's own beside those of others."""
    verb = chance.choice(("add", "change", "count", "drop") if len(own) >= KEPT else ("add", "add", "count"))
    said = {"token": token, "verb": verb, "fare": float(chance.randint(1, 1000))}
    if verb == "count":
        return {**said, "key": "", "pair": PAIRS[0]}
    if verb == "add":
        return {**said, "key": token, "pair": chance.choice(PAIRS)}
    chosen = chance.choice(own)
    return {**said, "key": chosen["key"], "pair": chosen["pair"]}


def _committed(table, note, options):
    """Do it; give how it ended, and the instant if it was acknowledged."""
    said = {"options": options, "commit_metadata": {NOTE: json.dumps(note)}}
    try:
        return "ok", VERBS[note["verb"]](table, note, said).instant
    except OutcomeUnknown:
        return "unknown", ""
    except HudiError as error:
        return _said(error), ""


def _put(table, note, said):
    """Write one key to two partitions: a reader that sees one of them has to see the other."""
    rows = [trip(note["key"], city, ts=_order_of(note["token"]), fare=note["fare"]) for city in note["pair"]]
    return table.upsert(rows, **said)


def _count(table, note, said):
    return table.update(set={"fare": "fare + 1"}, where="uuid in ('count-p0', 'count-p1')", **said)


def _drop(table, note, said):
    return table.delete(keys=[note["key"]], **said)


VERBS = {"add": _put, "change": _put, "count": _count, "drop": _drop}


def _order_of(token):
    """Return the ordering value of a token: later ones of a writer are larger."""
    return int(token.rpartition("-")[2])


def meaning(rows, note):
    """Do to a dictionary of rows what a commit does to the table."""
    pair = [(note["key"], city) for city in note["pair"]]
    if note["verb"] in {"add", "change"}:
        return {**rows, **dict.fromkeys(pair, note["fare"])}
    if note["verb"] == "drop":
        return {place: fare for place, fare in rows.items() if place not in pair}
    return {place: fare + (place in COUNTERS) for place, fare in rows.items()}


def read(place, name, wire):
    """Scan again and again; tell what cannot be: a key twice, half a commit, a counter that goes back."""
    keep_little()
    table, last = place.table(), 0.0
    while not wire.poll(PAUSE_S):
        try:
            rows = rows_of(table)
        except HudiError as error:
            wire.send((_said(error, f"read {type(error).__name__}: {error}"), "", "", usage()))
            continue
        wrong, last = _wrong(rows, last), rows[COUNTERS[0]]
        wire.send((f"wrong: {wrong}" if wrong else "read", "", "", usage()))


def rows_of(table):
    """Read (key, partition) to fare.

    Raises: AssertionError for a key that is there twice.
    """
    found = table.scan(["uuid", "city", "fare"]).to_arrow().to_pylist()
    rows = {(row["uuid"], row["city"]): row["fare"] for row in found}
    assert len(rows) == len(found), "a key is there twice"
    return rows


def _wrong(rows, last):
    partner = {**dict(PAIRS), **{second: first for first, second in PAIRS}}
    halves = sorted(key for key, city in rows.keys() - {*COUNTERS} if rows[key, city] != rows.get((key, partner[city])))
    first, second = (rows.get(counter) for counter in COUNTERS)
    if halves or first != second:
        return f"half a commit: {halves}, counters {first} and {second}"
    return f"a counter went back from {last} to {first}" if first < last else ""


def keep_little():
    """Cut what a process keeps to be quick, up to a bound of tens of MB: what it holds beside that may not grow."""
    for kept, most in ((reader._layers, 1 << 20), (reader._blocks, 1 << 20), (active._decoded, 500)):
        kept._most = most


def usage():
    """Measure how much memory we hold now, in kB, and what our open descriptors lead to."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024, sorted(map(_led_to, os.listdir("/dev/fd")))


def _led_to(descriptor):
    try:
        return os.readlink(f"/dev/fd/{descriptor}")
    except OSError:
        return "what was listed"


def keep(place, name, wire):
    """Run the services that are due again and again, beside those that writers run; tell which had something to do."""
    keep_little()
    table = place.table(SwayingEnv(place.sway_ms, random.Random(name)))
    while not wire.poll(PAUSE_S):
        try:
            done = " and ".join(sorted(table.run_due_services(options=place.asked)))
        except HudiError as error:
            done = _said(error)
        wire.send((done or "nothing due", "", "", usage()))


def _said(error, usual=""):
    """Return what to tell of an error; no trouble that is made here may lead to damage, or to a fault of ours."""
    if isinstance(error, CorruptData | InternalError):
        return f"wrong: {type(error).__name__}: {error}"
    return usual or type(error).__name__


ACTORS = {"writer": write, "reader": read, "keeper": keep}

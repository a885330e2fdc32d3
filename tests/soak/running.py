"""Runs actors on one table, troubles them, and writes down what they say.

Start at `Soak`. Processes come from a server that has everything imported, so that a new one is there at once.
"""

import multiprocessing
import os
import random
import resource
import signal
import time
from collections import Counter
from multiprocessing import forkserver
from multiprocessing.connection import wait
from statistics import median
from traceback import format_exception
from unittest.mock import patch

from tests.allocators import GIVES_BACK
from tests.building import TINY_FILTERS, TRIPS, trip
from tests.simulation.own_disk import Ballast
from tests.soak.actors import ACTORS, COUNTERS
from tests.soak.judging import Journal, judged

from pyhudi.table import create_table

FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["tests.soak.actors", "tests.soak.judging", "pyarrow.acero", "pyarrow.dataset", "pandas"])
LONGEST_S = 300
"""How long an actor may take to stop, or a judge to judge, however busy the machine is."""
MOST_GROWTH_KB = 16 * 1024
MOST_DESCRIPTORS = 4
FULL = "the disk"
WARM = 20
"""How many words of an actor are not yet asked how much it holds."""
LEAST_WORDS = 24
"""How many after these it takes to tell growth from chance."""
LEAST_TROUBLES = 3


def new_table(place, options=None):
    """Make the table; give the rows it begins with."""
    create_table(
        place.path,
        TRIPS,
        record_key=["uuid"],
        partition_by=["city"],
        ordering=["ts"],
        table_type=place.table_type,
        options={"hoodie.table.name": "trips", **(options or {})},
        storage_options=place.storage_options or None,
    )
    place.table().upsert([trip(key, city, fare=0.0) for key, city in COUNTERS], options=TINY_FILTERS)
    return dict.fromkeys(COUNTERS, 0.0)


class Actor:
    """One process and our end of its wire."""

    def __init__(self, kind, name, place):
        self.kind, self.name = kind, name
        with patch.dict(os.environ, GIVES_BACK):  # read as the server starts
            forkserver.ensure_running()
        self.wire, theirs = FORK.Pipe()
        self.process = FORK.Process(target=ACTORS[kind], args=(place, name, theirs), name=name, daemon=True)
        self.process.start()
        theirs.close()
        self.usages = []

    def hear(self):
        """Return what the actor said since last time; a dead one's last words count too."""
        words = []
        while self.wire.poll():
            try:
                words.append(self.wire.recv())
            except (EOFError, OSError):
                break
        self.usages += [word[3] for word in words]
        return [word[:3] for word in words]

    def growth(self):
        """Measure what the actor holds more at last than when it was warm: kB of memory, descriptors."""
        warm = self.usages[WARM:]
        if len(warm) < LEAST_WORDS:
            return 0, 0
        quarter = len(warm) // 4
        sizes = [(kilobytes, len(names)) for kilobytes, names in warm]
        first, last = zip(*sizes[:quarter], strict=True), zip(*sizes[-quarter:], strict=True)
        return tuple(int(median(late) - median(early)) for early, late in zip(first, last, strict=True))

    def left_open(self):
        """Name what the actor has open at last and had not when it was warm."""
        return sorted((Counter(self.usages[-1][1]) - Counter(self.usages[WARM][1])).elements())

    def signal(self, number):
        """Send it a signal; one that has ended by itself is a fault, and its number may be another process's by now."""
        assert self.process.is_alive(), f"{self.name} ended by itself with {self.process.exitcode}"
        os.kill(self.process.pid, number)

    def kill(self):
        """End it as no process can refuse."""
        self.signal(signal.SIGKILL)
        self.process.join()


class Soak:
    """A table, the actors that work on it, and what they were told."""

    def __init__(self, place, actors, seed, *, table_options=None):
        self.place, self.chance = place, random.Random(f"{seed}")
        self.first = new_table(place, table_options)
        self.journal, self.tally = Journal(), Counter()
        self._lives, self.growth = 0, (0, 0)
        self.actors = [self._born(kind) for kind in actors]
        self.spared = {actor.name for actor in (self.actors[0], self.actors[-1])}
        """Actors that are never killed, so that growth would show."""
        self._until = {}

    def run(self, commits, seconds, troubles=(), pause_s=0.3):
        """Work until so much is acknowledged, and every trouble had its chance, or for so long."""
        end_s = time.monotonic() + seconds
        next_s = time.monotonic() + pause_s
        while self._is_short_of(commits, troubles) and time.monotonic() < end_s:
            wait([actor.wire for actor in self.actors], timeout=0.05)
            self._hear()
            if troubles and time.monotonic() >= next_s:
                self._trouble(self.chance.choice(troubles))
                next_s = time.monotonic() + pause_s
            self._relieve()
        return self

    def _is_short_of(self, commits, troubles):
        """Return whether there is more to do: a quick machine commits all before any actor was troubled."""
        troubled = sum(self.tally[trouble] for trouble in troubles)
        return len(self.journal.acked) < commits or (bool(troubles) and troubled <= LEAST_TROUBLES)

    def settle(self):
        """Let all stop, then have a process that knows nothing else judge; give the number of commits."""
        self._relieve(at_once=True)
        for actor in self.actors:
            actor.wire.send("stop")
        end_s = time.monotonic() + LONGEST_S
        while any(actor.process.is_alive() for actor in self.actors):
            self._hear()
            assert time.monotonic() < end_s, f"did not stop: {self.actors}"
            time.sleep(0.01)
        self._hear()
        for actor in self.actors:
            assert actor.process.exitcode == 0, f"{actor.name} ended with {actor.process.exitcode}"
            kilobytes, descriptors = actor.growth()
            assert kilobytes < MOST_GROWTH_KB, f"{actor.name} grew by {kilobytes} kB"
            assert descriptors < MOST_DESCRIPTORS, f"{actor.name} left {actor.left_open()} open"
            self.growth = max(self.growth, (kilobytes, descriptors))
        return judged_apart(self.place, self.journal, self.first)

    @property
    def held(self):
        """Return how much more an actor held at the end than when it was warm, at most."""
        return f"grown by {self.growth[0]} kB and {self.growth[1]} descriptors at most"

    def _born(self, kind):
        self._lives += 1
        return Actor(kind, f"{kind}{self._lives}", self.place)

    def _hear(self):
        for actor in self.actors:
            for ended, token, instant in actor.hear():
                assert not ended.startswith("wrong"), f"{actor.name} saw {ended}"
                self.tally[f"{actor.kind} {ended.partition(':')[0]}"] += 1
                if token:
                    self.journal.add(ended, token, instant)

    def _trouble(self, trouble):
        victims = [actor for actor in self.actors if actor.name not in self.spared and actor.name not in self._until]
        if victims and FULL not in self._until:
            self.tally[trouble] += 1
            TROUBLES[trouble](self, self.chance.choice(victims))

    def kill(self, actor):
        """Kill it, and start another."""
        actor.kill()
        self._hear()
        self.actors[self.actors.index(actor)] = self._born(actor.kind)

    def stop(self, actor):
        """Let it stand still, beyond what others believe."""
        actor.signal(signal.SIGSTOP)
        self._until[actor.name] = time.monotonic() + self.place.stall_s, lambda: actor.signal(signal.SIGCONT)

    def fill(self, actor):
        """Fill the disk, of all of them where it is their own; else writes of this one fail in the middle of a file."""
        if self.place.disk:
            ballast = Ballast(self.place.disk)
            ballast.fill(self.chance.choice((0, 0, 2, 4, 8)))
            self._until[FULL] = time.monotonic() + 0.3, ballast.drop
            return
        limit = self.chance.choice((1, 500, 3000))
        resource.prlimit(actor.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        free = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        self._until[actor.name] = (
            time.monotonic() + 0.5,
            lambda: resource.prlimit(actor.process.pid, resource.RLIMIT_FSIZE, free),
        )

    def _relieve(self, *, at_once=False):
        for name, (until_s, relieve) in list(self._until.items()):
            if at_once or time.monotonic() >= until_s:
                relieve()
                del self._until[name]


TROUBLES = {"kill -9": Soak.kill, "stands still": Soak.stop, "disk full": Soak.fill}


def judged_apart(place, journal, first):
    """Judge in a fresh process; give the number of commits."""
    mine, theirs = FORK.Pipe()
    process = FORK.Process(target=_judge, args=(place, journal, first, theirs), daemon=True)
    process.start()
    theirs.close()
    assert mine.poll(LONGEST_S), "the judge does not answer"
    ended, said = mine.recv()
    process.join()
    assert ended == "ok", said
    return said


def _judge(place, journal, first, wire):
    try:
        wire.send(("ok", judged(place, journal, first)))
    except BaseException as error:  # whatever is wrong has to be told
        wire.send((type(error).__name__, "".join(format_exception(error))))

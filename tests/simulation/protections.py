"""The model's protections on the real code: each is taken away by wiring that only tests have.

No control is a lock that lets every writer in; times that are not monotonic come from a writer's own counter; with salt
the names of files and the times of instants are the writer's own, without it all writers draw the same ids and nonces.
Start at `hunt_losses`.
"""

import zlib
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest.mock import patch

from tests.simulation.explorer import scenario as worlds
from tests.simulation.explorer.actors import who_moves
from tests.simulation.explorer.checks import judged
from tests.simulation.explorer.hunting import hunt, scenarios, ways
from tests.simulation.model import Control
from tests.simulation.mutants.locking import UNGUARDED
from tests.simulation.mutants.mutant import off

from pyhudi.filegroup import writer
from pyhudi.timeline.clock import format_instant

SCENARIOS = ("count-count", "update-update", "update-apart", "insert-same-key")
"""One file group, two rows of it, two file groups, and one key in two file groups."""
LOSSES = frozenset({"I1", "I3", "I4", "I6", "I7", "I8", "I18", "I20"})
"""What is lost, double or overwritten. That times repeat themselves (I10) is no loss where they are let to."""
AHEAD_MS = (10, -10, 0)
"""Where times are of no common clock: the second writer draws later ones, or earlier ones, or the same."""
MODES = {
    Control.NONE: "OPTIMISTIC_CONCURRENCY_CONTROL",
    Control.OPTIMISTIC: "OPTIMISTIC_CONCURRENCY_CONTROL",
    Control.PESSIMISTIC: "PESSIMISTIC_CONCURRENCY_CONTROL",
}


def hunt_losses(protection, *names, runs=None, seed=1):
    """Search in all scenarios under these protections; give the first loss, or "", and how many runs there were."""
    count = 0
    for ahead_ms in _leads(protection):
        with wired(protection, ahead_ms):
            for scenario in _scenarios(protection):
                found = hunt(scenario, *ways(*names, seed=seed, runs=runs), judge=_losses)
                count += found.runs
                if found.wrong:
                    return found.wrong[0], count
    return "", count


@contextmanager
def wired(protection, ahead_ms=0):
    """Take away what is not there; `ahead_ms` is how far the second writer's times are ahead where it is not asked."""
    with ExitStack() as stack:
        if protection.control is Control.NONE:
            target, make = UNGUARDED
            stack.enter_context(patch(target, make(None)))
        if not protection.is_monotonic:
            stack.enter_context(patch("pyhudi.txn.times.HybridTimes.issue", _counted(ahead_ms, protection.is_salted)))
        if protection.is_salted:
            stack.enter_context(patch.object(writer, "planned_base_file", _salted(writer.planned_base_file)))
        else:
            stack.enter_context(patch.object(worlds, "SimEnv", _unsalted(worlds.SimEnv)))
        if not protection.checks_keys:
            stack.enter_context(patch("pyhudi.txn.commit.require_new_keys", off(None)))
        yield


def _leads(protection):
    """Return where the second writer's times may be, first where it shows soonest."""
    if protection.is_monotonic:
        return (0,)
    return AHEAD_MS if protection.has_absent else reversed(AHEAD_MS)


def _scenarios(protection):
    for name in SCENARIOS if protection.checks_keys else reversed(SCENARIOS):
        options = {"hoodie.write.concurrency.mode": MODES[protection.control]}
        yield replace(scenarios()[name], options=options, honours_create=protection.has_absent)


def _counted(ahead_ms, is_salted):
    """Issue a writer's own next number, without a look at the timeline: others issue the same, or anything.

    The name of an instant is its time, so that salt can only be a digit of it: then each writer has one of its own.
    """

    def issue(times, _):
        env = times.env
        env.issued = getattr(env, "issued", 0) + 1
        is_second = who_moves() == "w2"
        number = 10 * env.issued + is_second if is_salted else env.issued
        return format_instant(env.now_ms() + number + is_second * ahead_ms, times.zone)

    return issue


def _salted(base_file_of):
    """Name a file as only this writer does."""

    def named(spec, task):
        salt = zlib.crc32(who_moves().encode())
        file = base_file_of(spec, task)
        return replace(file, write_token=f"{file.write_token.rpartition('-')[0]}-{salt}")

    return named


def _unsalted(env_of):
    return lambda run, actor, storage, seed: env_of(run, actor, storage, seed="all")


def _losses(play):
    return [text for text in judged(play) if text.partition(":")[0] in LOSSES]

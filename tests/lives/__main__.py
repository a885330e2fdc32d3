"""Live lives of tables for some time, or one of them: `make lives SECONDS=60 SEED=7`."""

import argparse
import logging
import sys
import time
from contextlib import nullcontext
from itertools import count
from random import Random

from tests.lives.life import STEPS, live
from tests.lives.mutants import MUTANTS
from tests.lives.printing import snippet
from tests.lives.setting import Setting
from tests.lives.shrinking import shrunk


def main(arguments: list[str]) -> int:
    """Return 1 where something was found; it is printed, as small as it can be made."""
    parser = argparse.ArgumentParser(prog="make lives", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--lives", type=int, default=0, help="so many lives, however long they take")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--every", action="store_true", help="go on after what was found")
    parser.add_argument(
        "--fault", choices=[one.name for one in MUTANTS], help="put it back, in tables that can show it"
    )
    given = parser.parse_args(arguments)
    mutant = next((one for one in MUTANTS if one.name == given.fault), None)
    logging.disable(logging.CRITICAL)
    end, found_count, lived = time.monotonic() + given.seconds, 0, 0
    for seed in count(given.seed):
        if lived >= given.lives if given.lives else time.monotonic() > end:
            break
        if mutant is not None and not mutant.fits(Setting.draw(Random(seed))):
            continue
        with mutant.at_work() if mutant else nullcontext():
            found = live(seed, given.steps)
            small = found and shrunk(found)
        lived += 1
        if small is not None:
            found_count += 1
            print(snippet(small), flush=True)
            if not given.every:
                break
    print(f"{lived} lives from seed {given.seed}: {found_count} went wrong")
    return 1 if found_count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Lives of tables find nothing wrong: some of them here, three minutes with `make test-all`, any by `make lives`."""

import os
import time
from random import Random

import pytest
from tests.amounts import IS_REST, amount
from tests.lives.life import live
from tests.lives.printing import snippet
from tests.lives.shrinking import shrunk

SECONDS = amount(60 if IS_REST else 180, 30, 180, everyday=30)
SEED = int(os.environ.get("PYHUDI_SEED", "0"))


@pytest.mark.everyday
def test_lives_of_tables_are_as_their_models_promise() -> None:
    seeds = Random(SEED)
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found = live(seeds.getrandbits(32))
        assert found is None, snippet(shrunk(found))

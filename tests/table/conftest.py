import itertools

import pytest

_numbers = itertools.count()


@pytest.fixture
def path():
    return f"memory://facade-{next(_numbers)}"

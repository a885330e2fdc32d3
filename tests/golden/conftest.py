"""What the golden tests share: tables unpacked once a run."""

import pytest


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory):
    """Return a function that says where a table is, unpacked when it is first asked for; it is not to be written to."""
    folder, places = tmp_path_factory.mktemp("golden"), {}

    def place(golden):
        if golden.name not in places:
            places[golden.name] = golden.unpack(folder)
        return places[golden.name]

    return place

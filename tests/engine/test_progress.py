import io
import sys
from contextlib import contextmanager, nullcontext, suppress
from types import SimpleNamespace

import pyarrow as pa
import pytest
from tests.building import TableBuilder, trip
from tests.conformance.engine import double
from tests.fixed_env import FixedEnv

import pyhudi
from pyhudi.engine.local import LocalEngine
from pyhudi.engine.progress import NoProgress, ProgressLine, printable, progress_for
from pyhudi.engine.registry import engine_for
from pyhudi.env import SystemEnv
from pyhudi.errors import CorruptData
from pyhudi.storage.memory import MemoryStorage


class Beats(FixedEnv):
    """Beats when it is told to."""

    def __init__(self):
        super().__init__()
        self.functions = []

    @contextmanager
    def every(self, seconds, function):
        self.functions.append(function)
        yield
        self.functions.pop()

    def beat(self, seconds):
        self.sleep(seconds)
        for function in self.functions:
            function()


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def lines(self):
        return [line.removeprefix("\x1b[K") for line in self.getvalue().split("\r") if line]


@pytest.fixture
def world():
    return Beats()


@pytest.fixture
def terminal():
    return Terminal()


@pytest.fixture
def line(world, terminal):
    return ProgressLine(world, terminal)


def test_a_long_step_shows_tasks_rate_and_time_left_and_is_taken_away(line, world, terminal):
    with line.step("pyhudi write files trips"):
        line.begin(10)
        world.beat(0.5)
        assert terminal.getvalue() == ""
        world.beat(0.5)
        line.advance()
        line.advance()
        line.advance()
        line.advance()
        world.beat(1)
    assert terminal.lines() == [
        "pyhudi write files trips: 0 of 10 tasks, 1 s",
        "pyhudi write files trips: 4 of 10 tasks, 2.0 a second, 3 s left",
        "",
    ]


def test_a_step_without_tasks_shows_how_long_it_takes(line, world, terminal):
    with line.step("pyhudi commit trips"):
        world.beat(4)
    assert terminal.lines() == ["pyhudi commit trips: 4 s", ""]


def test_a_short_step_shows_nothing(line, world, terminal):
    with line.step("plan"):
        line.begin(2)
        line.advance()
        world.beat(0.9)
    assert terminal.getvalue() == ""
    assert world.functions == []


def test_a_step_inside_a_step_gives_the_line_back(line, world, terminal):
    with line.step("outer"):
        world.beat(1)
        with line.step("inner"):
            line.begin(3)
            world.beat(0.5)
        world.beat(0.5)
    assert terminal.lines()[-2:] == ["outer: 2 s", ""]


def test_a_long_name_is_cut_to_the_line(line, world, terminal):
    with line.step("x" * 200):
        world.beat(1)
    assert terminal.lines()[0] == "x" * 79


def test_an_error_takes_the_line_away_and_goes_on(line, world, terminal):
    with suppress(CorruptData), line.step("read"):
        world.beat(2)
        raise CorruptData("stop")
    assert terminal.lines()[-1] == ""


def test_a_terminal_that_is_gone_does_not_stop_the_work(line, world, terminal):
    terminal.close()
    with line.step("read"):
        world.beat(2)


def test_only_a_terminal_is_written_to(monkeypatch, terminal):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(progress_for(SystemEnv()), NoProgress)
    monkeypatch.setattr(sys, "stderr", None)
    assert isinstance(progress_for(SystemEnv()), NoProgress)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert isinstance(progress_for(SystemEnv()), ProgressLine)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_local_engine_tells_of_every_task_that_is_done(line, world, terminal, threads):
    engine = LocalEngine(MemoryStorage(), threads, line)
    with engine.describe("pyhudi find keys trips"):
        world.beat(1)
        engine.run(double, [1, 2, 3, 4])
        world.beat(1)
    assert terminal.lines()[-2] == "pyhudi find keys trips: 4 of 4 tasks, 4.0 a second, 0 s left"


def test_engines_do_not_share_who_listens(line):
    ours = engine_for(pa.table({"a": [1]}), MemoryStorage(), line)
    theirs = engine_for(pa.table({"a": [1]}), MemoryStorage())
    assert ours._progress is line
    assert theirs._progress is not line


def test_a_write_and_a_read_show_their_steps(monkeypatch, terminal, tmp_path):
    class Slow(SystemEnv):
        """Thinks that every look at the clock takes a second, and beats at once."""

        seconds = 0.0

        def monotonic_s(self):
            self.seconds += 1
            return self.seconds

        @contextmanager
        def every(self, seconds, function):
            yield
            function()

    schema = pa.schema([("id", pa.string())])
    monkeypatch.setattr(sys, "stderr", terminal)
    table = pyhudi.create_table(str(tmp_path / "t"), schema, name="t", record_key=["id"], env=Slow())
    table.upsert([{"id": "a"}])
    assert any(line.startswith("pyhudi write files t: 1 of 1 tasks") for line in terminal.lines())
    terminal.truncate(0)
    assert table.scan().count() == 1
    assert any(line.startswith("pyhudi read: 1 of 1 tasks") for line in terminal.lines())


def test_names_from_a_table_do_not_control_the_terminal():
    assert printable("read \x1b[2J\x9b1m\ntrips ö") == r"read \u001b[2J\u009b1m\u000atrips ö"


class Shell:
    kernel = "Jupyter's"


@pytest.mark.parametrize(("shell", "is_shown"), [(Shell(), True), (object(), False), (None, False)])
def test_a_notebook_shows_progress_in_its_output(monkeypatch, world, shell, is_shown):
    output = io.StringIO()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    with progress_for(world).step("pyhudi compaction trips"):
        world.beat(2)
    assert ("pyhudi compaction trips: 2 s" in output.getvalue()) is is_shown
    assert "\x1b" not in output.getvalue()
    assert not is_shown or output.getvalue().endswith("\r" + " " * 79 + "\r")


def test_a_service_shows_how_far_it_is(monkeypatch, world, terminal):
    monkeypatch.setattr(sys, "stderr", terminal)
    table = TableBuilder("mor").create()
    table.upsert([trip("a")])
    table.upsert([trip("a", ts=2)])
    steps = []
    monkeypatch.setattr(ProgressLine, "step", lambda self, name: steps.append(name) or nullcontext())
    table.compact()
    assert "pyhudi compaction trips" in steps

"""Which tests `make test` leaves to `make test-all`: the choice of tests/everyday.py, seen on tests of all kinds."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import amounts, everyday
from tests.costs import LEAST_S, costs, name_of, read, spelled
from tests.everyday import (
    CASES,
    DEAR_S,
    EXAMPLES,
    EXAMPLES_OF_DEAR,
    LONGEST_S,
    REST_S,
    SEEDS,
    TOGETHER_S,
    TURNS,
    done,
    draw_few,
    left_out,
    too_long,
    turn,
)


class Item:
    """A test as pytest collects it, as far as the choice looks at it."""

    def __init__(self, test, fixtures=(), marks=(), obj=None, file=__file__, **params):
        ids = "-".join(str(getattr(value, "name", value)) for value in params.values())
        self.nodeid = f"tests/test_a.py::{test}[{ids}]" if params else f"tests/test_a.py::{test}"
        self.fixturenames, self.marks, self.obj = list(fixtures), marks, obj
        self.path = Path(file)
        if params:
            self.callspec = SimpleNamespace(params=params)

    def get_closest_marker(self, name):
        return name if name in self.marks else None


def kept(*items):
    """Return the numbers of the tests that stay."""
    out = left_out(items)
    return [number for number, item in enumerate(items) if item not in out]


@pytest.mark.parametrize("by", ["version", "table", "state", "path"])
def test_of_a_test_on_several_versions_the_newest_stays(by):
    assert kept(*(Item("test", **{by: version}) for version in (6, 8, 9))) == [2]
    assert kept(*(Item("test", **{by: version}) for version in (6, 8))) == [1]


@pytest.mark.parametrize("spelled", ["{}", "mor_deletes-v{}", "{} fenced", "mor-v{} as_of 1"])
def test_a_version_is_found_in_a_name(spelled):
    assert kept(*(Item("test", kind=spelled.format(version)) for version in (9, 6, 8))) == [0]
    assert kept(*(Item("test", golden=SimpleNamespace(name=spelled.format(version))) for version in (6, 8))) == [1]


def test_tables_of_different_names_all_stay():
    items = [Item("test", name=name) for name in ("mor-v6", "mor-v9", "cow-v6", "9 fenced", "9", "6")]
    assert kept(*items) == [1, 2, 3, 4]


def test_a_test_of_one_old_version_stays():
    assert kept(Item("test", version=6), Item("other", version=8), Item("third")) == [0, 1, 2]


def test_tests_that_differ_by_more_than_their_version_all_stay():
    items = [Item("test", version=version, kind=kind) for version, kind in ((6, "a"), (9, "b"), (6, "b"), (8, "c"))]
    assert kept(*items) == [0, 1, 3]


def test_text_that_stands_for_a_table_is_no_version():
    assert kept(Item("test", table="trips"), Item("test", table="rides")) == [0, 1]


def test_the_first_seeds_stay():
    assert kept(*(Item("test", seed=seed, kind="a") for seed in range(40))) == list(range(SEEDS))


def test_emulators_and_what_is_marked_as_long_are_left_out():
    assert kept(Item("one", fixtures=["s3_server"]), Item("two", marks=["all"])) == []


def test_what_is_marked_for_every_day_stays():
    old = Item("one", marks=["everyday"], version=6)
    assert kept(old, Item("one", version=9), Item("two", fixtures=["s3_server"], marks=["everyday"])) == [0, 1, 2]


@pytest.fixture
def measured(monkeypatch):
    """Return what costs are: the name of a test and what a case of it takes."""
    seconds = {}
    monkeypatch.setattr(everyday, "costs", lambda: {f"tests.test_a.{test}": cost for test, cost in seconds.items()})
    return seconds


@pytest.mark.parametrize(("count", "stay"), [(1, [0]), (2, [0, 3]), (3, [0, 2, 4]), (6, [0, 1, 2, 3, 4, 5])])
def test_of_many_cases_those_stay_that_there_is_time_for_taken_evenly_from_all(measured, count, stay):
    measured["test"] = TOGETHER_S / count - 0.001
    items = [Item("test", kind=f"case {number}") for number in range(6)]
    assert kept(*items, Item("other"), Item("third", kind="case 1")) == [*stay, 6, 7]


def test_of_cases_that_take_little_so_many_stay():
    assert kept(*(Item("test", kind=f"case {number}") for number in range(2 * CASES))) == [*range(0, 2 * CASES, 2)]


def test_cases_are_taken_from_those_of_the_newest_version(measured):
    measured["test"] = TOGETHER_S
    assert kept(*(Item("test", version=version, kind=kind) for version in (6, 9) for kind in "ab")) == [2]


def test_a_test_that_takes_long_is_left_out_unless_it_is_marked(measured):
    measured |= {"test": LONGEST_S, "other": 9 * LONGEST_S}
    items = [Item("test", kind="a"), Item("third"), *(Item("other", marks=["everyday"], kind=kind) for kind in "bc")]
    assert kept(*items) == [1, 2]


def test_a_module_keeps_one_case_whatever_it_costs(measured):
    measured |= {"test": 9 * LONGEST_S, "other": 8 * LONGEST_S}
    assert kept(Item("test"), Item("other", kind="a"), Item("other", kind="b")) == [1]


@pytest.mark.parametrize(("cost", "stay"), [(REST_S / 3, [0, 1, 2]), (REST_S / 2, [0, 1]), (DEAR_S, [0])])
def test_of_what_is_left_ci_has_as_many_cases_as_there_is_time_for(measured, cost, stay):
    measured["test"] = cost
    items = [Item("test", kind=f"case {number}") for number in range(3)]
    quick = [Item("other", kind=f"case {number}") for number in range(40)]
    left = too_long([*items, *quick], 1)
    assert [number for number, item in enumerate([*items, *quick]) if item not in left] == [*stay, *range(3, 43)]


def test_cases_that_are_claims_of_their_own_take_turns_in_ci_until_each_was_run(measured):
    measured["test"] = 2 * DEAR_S
    items = [Item("test", marks=["each"], kind=f"case {number}") for number in range(2 * TURNS)]
    kept = [[item for item in items if item not in too_long(items, turn)] for turn in range(TURNS)]
    assert kept == [[items[turn], items[turn + TURNS]] for turn in range(TURNS)]


def test_the_turns_take_about_as_long_as_each_other(measured):
    items = [Item(f"test_{number}") for number in range(2 * TURNS)]
    measured |= {f"test_{number}": 9 * DEAR_S if number % TURNS == 0 else 2 * DEAR_S for number in range(2 * TURNS)}
    kept = [{item for item in items if item not in too_long(items, turn)} for turn in range(TURNS)]
    assert [len(some & {items[0], items[TURNS]}) for some in kept[:2]] == [1, 1]


def test_dear_tests_take_turns_in_ci_until_each_was_run(measured):
    items = [Item(f"test_{number}", kind=kind) for number in range(2 * TURNS) for kind in "ab"] + [Item("cheap")]
    measured |= {f"test_{number}": DEAR_S + 0.01 for number in range(2 * TURNS)}
    kept = [[item for item in items if item not in too_long(items, turn)] for turn in range(TURNS)]
    assert [len(some) for some in kept] == [3] * TURNS
    assert {item for some in kept for item in some} == {*items[::2]}


def test_a_turn_is_that_of_the_commit_or_named(monkeypatch):
    monkeypatch.delenv("PYHUDI_TURN", raising=False)
    assert turn.__wrapped__() == turn.__wrapped__() < TURNS
    monkeypatch.setenv("PYHUDI_TURN", str(TURNS + 1))
    assert turn.__wrapped__() == 1


def test_costs_are_those_of_a_report(tmp_path):
    report = tmp_path / "report.xml"
    cases = [("test_one[a]", LEAST_S), ("test_one[b]", 2 * LEAST_S), ("test_two", LEAST_S / 2)]
    lines = [f'<testcase classname="tests.test_a.TestOf" name="{name}" time="{seconds}"/>' for name, seconds in cases]
    report.write_text(f"<testsuites><testsuite>{''.join(lines)}</testsuite></testsuites>")
    known = {"tests.test_a.TestOf.test_two": 9.0, "tests.test_z.test_other": 0.25}
    lines = f"{1.5 * LEAST_S:.2f} tests.test_a.TestOf.test_one\n0.25 tests.test_z.test_other\n"
    assert spelled(read(report), known) == lines
    assert name_of("tests/test_a.py::TestOf::test_one[a::b]") == "tests.test_a.TestOf.test_one"


def test_every_cost_is_that_of_a_test_there_is():
    root = Path(__file__).parent
    texts = {file.relative_to(root.parent): file.read_text() for file in root.rglob("*.py")}
    modules = {str(file.with_suffix("")).replace("/", ".") for file in texts}
    tests = set(re.findall(r"def (test_\w+)\(", "".join(texts.values())))
    for name in costs():
        module = re.sub(r"\.Test\w+$", "", name.rpartition(".")[0])
        assert {module} <= modules, f"{name} is gone: take its line out"
        assert {name.rpartition(".")[2]} <= tests, f"{name} is gone: take its line out"


def property_of(examples):
    """Return a property that asks for so many examples, and what it was tried on."""
    seen = []

    @settings(max_examples=examples, database=None, deadline=None)
    @given(st.integers())
    def holds(number):
        seen.append(number)

    return holds, seen


@pytest.mark.parametrize(("asked", "drawn"), [(300, EXAMPLES), (4, 4)])
def test_a_property_draws_few_examples(asked, drawn):
    holds, seen = property_of(asked)
    draw_few([Item("test", obj=holds)])
    holds()
    assert len(seen) == drawn


def test_a_property_that_takes_long_draws_fewer(measured):
    measured["test"] = LONGEST_S
    holds, seen = property_of(EXAMPLES)
    draw_few([Item("test", obj=holds)])
    holds()
    assert len(seen) == EXAMPLES_OF_DEAR


def test_few_examples_are_drawn_of_a_method_too():
    seen = []

    class OfClass:
        @settings(max_examples=300, database=None, deadline=None)
        @given(st.integers())
        def holds(self, number):
            seen.append(number)

    draw_few([Item("test", obj=OfClass().holds), Item("a file")])
    OfClass().holds()
    assert len(seen) == EXAMPLES


def test_what_make_test_ran_as_it_is_is_done(tmp_path):
    shorter, plain = tmp_path / "test_shorter.py", tmp_path / "test_plain.py"
    shorter.write_text("SEEDS = amount(9, 9, 9, everyday=1)")
    plain.write_text("SEEDS = amount(9, 9, 9)")
    items = [
        Item("test", version=9, file=plain),
        Item("test", version=6, file=plain),
        Item("long", marks=["all"], file=plain),
        Item("less", file=shorter),
        Item("many", obj=property_of(EXAMPLES + 1)[0], file=plain),
        Item("few", obj=property_of(EXAMPLES)[0], file=plain),
    ]
    assert [number for number, item in enumerate(items) if item in done(items)] == [0, 5]


@pytest.mark.parametrize(
    ("is_everyday", "is_counted", "is_full", "tried"),
    [(False, False, False, 2), (True, False, False, 1), (True, True, False, 3), (True, True, True, 4)],
)
def test_an_amount_goes_by_what_was_asked_for(monkeypatch, is_everyday, is_counted, is_full, tried):
    for name, value in (("IS_EVERYDAY", is_everyday), ("IS_COUNTED", is_counted), ("IS_FULL", is_full)):
        monkeypatch.setattr(amounts, name, value)
    assert amounts.amount(2, 3, 4, everyday=1) == tried
    assert amounts.amount(2, 3, 4) == max(tried, 2)
    assert amounts.amount([2], [3], [4], everyday=[]) == ([] if tried == 1 else [tried])

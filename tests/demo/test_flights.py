import pyarrow.compute as pc
import pytest

from pyhudi.demo.flights import HAPPENED, KEY, SCHEMA, load_flights


@pytest.fixture(scope="module")
def flights():
    return load_flights()


def test_the_source_is_what_the_demo_says_it_is(flights):
    facts = flights.facts()
    assert (facts.planned, facts.flown, facts.never_left) == (336_776, 328_521, 8_255)
    assert flights.rows.schema == SCHEMA


def test_the_key_is_unique(flights):
    assert flights.rows.group_by(list(KEY)).aggregate([]).num_rows == flights.rows.num_rows


def test_a_plan_knows_nothing_of_what_happened(flights):
    planned = flights.planned([2])
    assert planned.num_rows == flights.facts([2]).planned
    assert planned.schema == SCHEMA
    assert all(planned[name].null_count == planned.num_rows for name in HAPPENED)


def test_a_flight_left_or_it_did_not(flights):
    facts = flights.facts([1, 2])
    assert flights.flown([1, 2]).num_rows == facts.flown
    assert flights.never_left([1, 2]).num_rows == facts.never_left
    assert pc.sum(flights.flown([1, 2])["dep_delay"]).as_py() == facts.dep_delay_sum


def test_fewer_months_can_be_asked_for():
    assert load_flights(2).months == (1, 2)

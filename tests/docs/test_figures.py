import json

from tools.figures import BEGIN, END, PAGE, ROWS, SLICES, STORED, missing, table


def test_the_page_shows_the_figures_that_are_stored():
    shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert shown == table(json.loads(STORED.read_text()))


def test_what_is_stored_is_enough():
    for size, found in json.loads(STORED.read_text()).items():
        assert missing(size, found["figures"]) == {}


def test_a_figure_that_is_too_low_is_named():
    for size in SLICES:
        assert missing(size, {figure: 0 for figure, *_ in ROWS.values()}) == {figure: 0 for figure, *_ in ROWS.values()}

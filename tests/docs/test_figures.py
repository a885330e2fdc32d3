import json

from tools.figures import BEGIN, END, JOBS, PAGE, ROOT, ROWS, SLICES, STORED, figures_of, missing, table


def test_the_page_shows_the_figures_that_are_stored():
    shown = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert shown == table(json.loads(STORED.read_text()))


def test_where_all_jobs_have_run_what_is_stored_is_enough():
    kept = json.loads(STORED.read_text())
    whole = [size for size in SLICES if kept[size].keys() == JOBS[size].keys()]
    assert "ci" in whole
    for size in whole:
        assert missing(size, figures_of(kept, size)) == {}


def test_a_figure_that_is_too_low_is_named():
    for size in SLICES:
        assert missing(size, {figure: 0 for figure, *_ in ROWS.values()}) == {figure: 0 for figure, *_ in ROWS.values()}


def test_every_job_runs_what_is_there():
    named = {
        word for jobs in JOBS.values() for command in jobs.values() for word in command if word.startswith("tests/")
    }
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []

import json

import pytest
import tools.figures
from tools.figures import BEGIN, END, JOBS, PAGE, ROOT, ROWS, SLICES, STORED, asked_of, figures_of, missing, run, table


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


def test_nothing_is_kept_of_a_job_that_failed(tmp_path, monkeypatch):
    stored, page = tmp_path / "figures.json", tmp_path / "page.md"
    stored.write_text(STORED.read_text())
    page.write_text(PAGE.read_text())
    monkeypatch.setattr(tools.figures, "STORED", stored)
    monkeypatch.setattr(tools.figures, "PAGE", page)
    monkeypatch.setitem(JOBS["ci"], "model", ["false"])
    assert not run("ci", tmp_path / "model", "1")
    kept = json.loads(stored.read_text())
    assert "model" not in kept["ci"]
    assert "losses, duplicates, silent wrong reads |  |" in page.read_text()


@pytest.mark.parametrize(("size", "jobs"), [("half", ""), ("ci", "pears")])
def test_a_slice_or_job_that_is_not_there_is_told(size, jobs):
    with pytest.raises(SystemExit, match="choose"):
        asked_of(size, "1", jobs)

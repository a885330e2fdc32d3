"""The pages name files, targets and commands that exist."""

import re
import tomllib

import pytest
from tests.architecture.source import ROOT

PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "ETHOS.md"])
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")
TARGET = re.compile(r"`make ([a-z]+)")
MAKE_TARGETS = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    broken = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_exist(page):
    assert set(TARGET.findall(page.read_text())) <= MAKE_TARGETS


def test_the_tour_draws_the_layers_that_are_checked():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    checked = {room.strip() for layer in layers for room in layer.split("|")}
    picture = (ROOT / "docs" / "tour.md").read_text().split("```")[1]
    drawn = set(re.findall(r"[a-z]+", " ".join(line[:24] for line in picture.splitlines())))
    lowest = set(re.findall(r"[a-z]+", picture.splitlines()[-1]))
    assert checked <= drawn | lowest


def test_changes_are_named_by_number_and_kind():
    names = [path.name for path in (ROOT / "changelog.d").iterdir()]
    assert all(re.fullmatch(r"\d+\.(feature|fix|format|doc)\.md", name) for name in names)

"""The pages name files, targets and commands that exist."""

import re
import tomllib

import pytest
from tests.architecture.source import ROOT

NAMES = ("README.md", "ETHOS.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("README.md"), *(ROOT / name for name in NAMES)])
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")
PLACE = re.compile(r"\]\((?!https?:|mailto:)([^)#]*)#([^)]+)\)")
TARGET = re.compile(r"`make ([a-z-]+)")
FILE = re.compile(r"`((?:benchmarks|docs|src|tests|tools)/[\w/.-]+|[a-z_]+/[\w/]+\.py)`")
"""A file of the repository, or of the package without `src/pyhudi`."""
MAKE_TARGETS = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
ROOTS = (ROOT, ROOT / "src" / "pyhudi", ROOT / "tests" / "simulation")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
BEGIN_OF_ITEM = re.compile(r"([-*]|\d+\.)\s")
MOST_WORDS = 80
DIFFERENCES = ROOT / "docs" / "differences.md"
MOST_WORDS_OF_A_DIFFERENCE = 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    broken = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_exist(page):
    named = FILE.findall(page.read_text())
    assert [name for name in named if not any((root / name).exists() for root in ROOTS)] == []


def headings(text):
    """Return the names by which links lead to the headings of a page."""
    titles = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_headings(page):
    places = PLACE.findall(page.read_text())
    broken = [
        (path, name)
        for path, name in places
        if name not in headings((page.parent / path if path else page).read_text())
    ]
    assert not broken


def paragraphs(text):
    """Yield the paragraphs of a page, each item of a list by itself; tables, code and headings are none."""
    words = []
    for line in [*FENCED.sub("", text).splitlines(), ""]:
        is_apart = (
            not line.strip() or line.lstrip().startswith(("|", "#", "<!--")) or (line[:4].isspace() and not words)
        )
        if words and (is_apart or BEGIN_OF_ITEM.match(line.lstrip())):
            yield words
            words = []
        words = words if is_apart else [*words, *line.split()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paragraphs_are_short(page):
    long = [f"{len(words)} words: {' '.join(words[:8])}" for words in paragraphs(page.read_text())]
    assert [line for line in long if int(line.split()[0]) > MOST_WORDS] == []


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("one two\nthree\n\nfour", [3, 1]),
        ("- one\n  two\n- three\n\n  four five", [3, 2, 2]),
        ("# Title\none\n| a | b |\n```\ncode\n```\n1. two", [1, 2]),
        ("    code\n\nafter it", [2]),
    ],
)
def test_paragraphs_are_told_apart(text, lengths):
    assert [len(words) for words in paragraphs(text)] == lengths


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


def test_the_checks_of_a_commit_are_functions():
    page = (
        (ROOT / "docs" / "reliability.md").read_text().partition("## The checks of a commit")[2].partition("\n## ")[0]
    )
    table = "".join(line for line in page.splitlines() if line.startswith(("| C", "| |")))
    named = re.findall(r"`([a-z_]+)`(?: of `([\w/.]+)`)?", table)
    missing = [name for name, place in named if f"def {name}(" not in source_of(place or "txn/checks.py")]
    assert len(named) >= 10
    assert missing == []


def source_of(path):
    return (ROOT / "src" / "pyhudi" / path).read_text()


def test_changes_are_named_by_number_and_kind():
    names = [path.name for path in (ROOT / "changelog.d").iterdir()]
    assert all(re.fullmatch(r"\d+\.(feature|fix|format|doc)\.md", name) for name in names)


def test_a_difference_is_one_short_sentence_with_a_link():
    lines = [line for line in DIFFERENCES.read_text().splitlines() if line.startswith(("- ", "* "))]
    assert len(lines) > 50
    shown = {line: re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", line[2:]) for line in lines}
    assert [line for line in lines if len(shown[line].split()) > MOST_WORDS_OF_A_DIFFERENCE] == []
    assert [line for line in lines if not LINK.search(line)] == []
    assert [line for line in lines if not line.endswith(").") or ". " in shown[line]] == []


def test_differences_are_told_by_what_differs():
    text = DIFFERENCES.read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "Not built",
        "What differs in results",
        "What differs in files",
        "What differs in options",
    ]
    apart = [words for words in paragraphs(text) if words[0] != "-"]
    assert len(apart) == 2, "what is said of one difference stands on the page that its line leads to"

"""The pages that `make docs` writes."""

import tomllib
from pathlib import Path

import pytest
from tools import changelog as tool
from tools.api_reference import reference
from tools.changelog import changelog

import pyhudi


def test_the_reference_has_every_name_that_users_call():
    page = reference()
    functions = [name for name in pyhudi.__all__ if name[0].islower() and name != "errors"]
    methods = [name for name in vars(pyhudi.Table) if not name.startswith("_")]
    headings = [*(f"pyhudi.{name}" for name in functions), *(f"Table.{name}" for name in methods), "Table.upsert"]
    assert [one for one in headings if f"\n### {one}\n" not in page] == []
    assert "- `commit_metadata`: entries of your own" in page
    assert "```python\n>>> result = trips.upsert(" in page
    assert page.count("```") % 2 == 0


def test_the_changelog_lists_fragments_by_version_step_and_kind(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "VERSIONS", {"1.1": 10, "1.0": 4})
    (tmp_path / "3.doc.md").write_text("- zero\n")
    (tmp_path / "11.doc.md").write_text("- four\n")
    (tmp_path / "2.fix.md").write_text("- one\ntwo\n\n")
    (tmp_path / "10.feature.md").write_text("- three\n")
    text = changelog(tmp_path)
    shown = [
        "\n## Not in a version yet\n\n### Step 11\n\n#### Documentation\n\n- four\n",
        "\n## 1.1\n\n### Step 10\n\n#### Added\n\n- three\n",
        "\n## 1.0\n\n### Step 3\n\n#### Documentation\n\n- zero\n",
        "\n### Step 2\n\n#### Fixed\n\n- one\n- two\n",
    ]
    assert text.endswith("".join(shown))
    (tmp_path / "other.md").touch()
    with pytest.raises(SystemExit, match=r"other\.md"):
        changelog(tmp_path)


def test_the_newest_version_of_the_changelog_is_the_packages():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert next(iter(tool.VERSIONS)) == project["version"]
    assert list(tool.VERSIONS.values()) == sorted(tool.VERSIONS.values(), reverse=True)

"""The pages that `make docs` writes."""

import pytest
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


def test_the_changelog_lists_fragments_by_step_and_kind(tmp_path):
    (tmp_path / "2.fix.md").write_text("- one\ntwo\n\n")
    (tmp_path / "10.feature.md").write_text("- three\n")
    text = changelog(tmp_path)
    assert text.index("## Step 10\n\n### Added\n\n- three\n") < text.index("## Step 2\n\n### Fixed\n\n- one\n- two\n")
    (tmp_path / "other.md").touch()
    with pytest.raises(SystemExit, match=r"other\.md"):
        changelog(tmp_path)

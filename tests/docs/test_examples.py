"""The Python blocks of the README and the guide run, one after the other, in an empty directory."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/guide.md", "docs/sql.md"])
def test_the_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = [block for block in BLOCK.findall((ROOT / page).read_text()) if "spark" not in block]
    assert blocks
    known = {}
    for block in blocks:
        exec(compile(block, page, "exec"), known)

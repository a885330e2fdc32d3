"""The golden tables are all there, small, listed in the README, and free of anything of the machine that made them."""

import re
import tarfile

import pytest
from tests.golden import make
from tests.golden.catalogue import HERE, RELEASES, golden_tables, kept_tables, scripts

LIMIT_BYTES = 8 << 20


def test_every_script_has_its_tables_and_every_table_its_script():
    wanted = {one.name for one in golden_tables()}
    assert {one.name for one in kept_tables()} == wanted
    assert {path.name.removesuffix(".tar.xz") for path in (HERE / "tables").iterdir()} == wanted
    assert {path.stem for path in (HERE / "expected").iterdir()} == wanted


def test_all_together_they_are_small():
    files = [path for path in HERE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LIMIT_BYTES


def test_the_readme_says_what_each_is_for():
    listed = dict(re.findall(r"^\| `(\w+)` \| .* \| (.+) \|$", (HERE / "README.md").read_text(), re.MULTILINE))
    assert listed == {one.name: one.about for one in scripts()}


def test_every_release_reads_and_no_read_is_left_out_in_silence():
    kinds = {word for one in scripts() for word in one.reads}
    assert kinds == {"snapshot", "as_of", "incremental", "read_optimized", "cdc", "then"}
    assert {one.release for one in kept_tables() if one.reads} == {*RELEASES}
    for one in kept_tables():
        assert all({"rows", "refused"} & read.keys() for read in one.reads.values())


@pytest.mark.parametrize("golden", [pytest.param(one, id=one.name) for one in kept_tables()])
def test_nothing_tells_who_packed_a_table(golden):
    with tarfile.open(golden.archive) as packed:
        assert {(one.uid, one.gid, one.uname, one.gname) for one in packed} == {(0, 0, "", "")}
        assert all((one.isfile() or one.isdir()) and one.name.startswith(f"{golden.name}/") for one in packed)


def test_a_table_that_is_there_is_not_made_again(capsys, monkeypatch):
    monkeypatch.setattr(make, "Peer", lambda release: pytest.fail("a peer was started"))
    assert make.main([]) == 0
    assert f"0 made, 0 failed, {len(golden_tables())} left" in capsys.readouterr().out


def test_statements_end_with_a_semicolon_and_directives_with_their_line():
    text = "-- about\nset a = b;\n--! fails\ninsert into t\nvalues (';');\n"
    assert list(make._statements(text)) == ["set a = b", "--! fails", "insert into t\nvalues (';')"]
    with pytest.raises(ValueError, match="semicolon"):
        list(make._statements("select 1"))

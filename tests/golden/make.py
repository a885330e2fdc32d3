"""Make the golden tables anew: `python -m tests.golden.make [--force] [NAME...]`.

Runs the scripts of `sql/` on Apache Hudi (`tools/peers.py` installs it), one release after the other, and keeps what it
wrote and what it read back. A table that is there is left alone without `--force`: its times and ids cannot be made
again. Start at `main`; README.md says what a script may say.
"""

import argparse
import json
import re
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.golden.catalogue import HERE, RELEASES, Golden, golden_tables, spelled
from tests.peers.peer import Peer, PeerError

from pyhudi.table import Table, open_table, table_exists
from pyhudi.timeline.instant import Action, Instant
from pyhudi.timeline.view import completed_writes

__all__ = ["main"]

WORK = Path("/tmp/golden")
"""Plans hold whole paths, so tables are made in one and the same place."""
_TYPE = "hoodie.datasource.query.type"
_BEGIN = "hoodie.datasource.read.begin.instanttime"
_FORMAT = "hoodie.datasource.query.incremental.format"


def main(arguments: list[str]) -> int:
    """Make what is missing, or what is named."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.make", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="scripts or tables; all where none is named")
    parser.add_argument("--force", action="store_true", help="make tables anew that are there")
    parser.add_argument("--reread", action="store_true", help="let Apache Hudi read again what is packed")
    parser.add_argument("--release", choices=RELEASES, action="append", help="this release only")
    given = parser.parse_args(arguments)
    releases = given.release or [*reversed(RELEASES)]  # oldest first: some tables go on with an older one
    named = [one for one in golden_tables() if not given.names or {one.name, one.script.name} & {*given.names}]
    wanted = [one for one in named if one.release in releases]
    due = [one for one in wanted if given.force or one.archive.exists() is given.reread]
    done = [_is_done(reread if given.reread else make, peer, one) for peer, one in _with_peers(releases, due)]
    sys.stdout.write(f"{sum(done)} made, {done.count(False)} failed, {len(wanted) - len(due)} left as they are\n")
    return 0 if all(done) else 1


def _with_peers(releases: list[str], tables: list[Golden]) -> Iterator[tuple[Peer, Golden]]:
    """Yield tables release by release, each with its running peer: one at a time."""
    for release in releases:
        due = [one for one in tables if one.release == release]
        if due:
            with Peer(release) as peer:
                yield from ((peer, one) for one in due)


def _is_done(work: Callable[[Peer, Golden], None], peer: Peer, golden: Golden) -> bool:
    try:
        work(peer, golden)
    except PeerError as error:
        sys.stdout.write(f"{golden.name}: {_causes(str(error))}\n")
        return False
    sys.stdout.write(f"{golden.name}: {golden.archive.stat().st_size} bytes\n")
    sys.stdout.flush()
    return True


def _causes(error: str) -> str:
    """Leave stack traces out of an error."""
    return "\n  ".join(line[:300] for line in error.splitlines() if not line.startswith("\t"))


def make(peer: Peer, golden: Golden) -> None:
    """Run one script, pack the table, read it back."""
    path = _begun(golden)
    is_failing = False
    then: dict[str, Any] = {}
    for statement in [*_statements(_settings()), *_statements(golden.script.text)]:
        if statement.startswith("--! cut "):
            _cut(path, statement.split()[-1])
        elif statement == "--! fails":
            is_failing = True
        else:
            _run(peer, _filled(statement, golden, path), is_failing=is_failing)
            is_failing = False
        if "then" in golden.script.reads:
            _remember(peer, path, then)
    _pack(golden, path)  # before it is read: a reader may tidy up
    _read(peer, golden, path, then)


def _begun(golden: Golden) -> Path:
    """Make place for a table, with the one of an older release in it where the script says so."""
    path = WORK / golden.name
    shutil.rmtree(path, ignore_errors=True)
    for older in golden_tables():
        if older.name == golden.script.begins_with:
            older.unpack(WORK).rename(path)
    return path


def reread(peer: Peer, golden: Golden) -> None:
    """Read a packed table anew, with the script's own settings."""
    shutil.rmtree(WORK / golden.name, ignore_errors=True)
    for statement in [*_statements(_settings()), *_statements(golden.script.text)]:
        if statement.startswith("set "):
            peer.run(statement)
    former = {name: read for name, read in golden.reads.items() if name.startswith("then ")}
    _read(peer, golden, golden.unpack(WORK), former)


def _settings() -> str:
    return (HERE / "sql" / "_settings.sql").read_text(encoding="utf-8")


def _remember(peer: Peer, path: Path, then: dict[str, Any]) -> None:
    """Read what the table is now, under the instants that made it so."""
    if not table_exists(str(path)):
        return
    known = {one["options"]["as.of.instant"] for one in then.values()}
    for write in completed_writes(open_table(str(path)).timeline):
        if write.requested_time not in known:
            asked = {"options": {"as.of.instant": write.requested_time}}
            then[f"then {len(then) + 1}"] = _answer(peer, path, {}) | asked


def _read(peer: Peer, golden: Golden, path: Path, then: dict[str, Any]) -> None:
    reads = {name: _answer(peer, path, options) for name, options in _reads(golden, open_table(str(path)))} | then
    golden.expectation.write_text(_shown(reads), encoding="utf-8")
    shutil.rmtree(path)


def _statements(text: str) -> Iterator[str]:
    """Yield statements, which end with a semicolon at a line's end, and directives, which are lines of their own."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("--! "):
            yield line
        elif not line.startswith("--"):
            lines.append(line.removesuffix(";"))
            if line.endswith(";"):
                yield "\n".join(lines).strip()
                lines.clear()
    if "".join(lines).strip():
        raise ValueError(f"a statement has no semicolon: {lines}")


def _run(peer: Peer, statement: str, *, is_failing: bool) -> None:
    try:
        peer.run(statement)
    except PeerError:
        if not is_failing:
            raise
    else:
        if is_failing:
            raise PeerError(f"this was to fail, and did not: {statement}")


def _filled(statement: str, golden: Golden, path: Path) -> str:
    """Put names, and instants of the table so far, into a statement."""
    statement = statement.replace("${table}", golden.name.replace("-", "_")).replace("${path}", str(path))
    if "${latest}" in statement:
        statement = statement.replace("${latest}", completed_writes(open_table(str(path)).timeline)[-1].requested_time)
    if "${savepoint}" in statement:
        kept = [one for one in open_table(str(path)).timeline.instants if one.action is Action.SAVEPOINT]
        statement = statement.replace("${savepoint}", kept[-1].requested_time)
    return statement


def _cut(path: Path, action: str) -> None:
    """Take the newest completed file of an action away: a crash right before it was published."""
    timeline = path / ".hoodie" / "timeline"
    folder = timeline if timeline.exists() else path / ".hoodie"
    newest = max(file for file in folder.iterdir() if re.fullmatch(rf"\d+(_\d+)?\.{action}", file.name))
    newest.unlink()


def _pack(golden: Golden, path: Path) -> None:
    """Pack a table without what Hadoop's local file system adds."""
    golden.archive.parent.mkdir(exist_ok=True)
    files = sorted(file for file in path.rglob("*") if not file.name.endswith(".crc"))
    with tarfile.open(golden.archive, "w:xz", format=tarfile.PAX_FORMAT, preset=9) as packed:
        for file in files:
            packed.add(file, f"{golden.name}/{file.relative_to(path)}", recursive=False, filter=_anonymous)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() else 0o644
    return member


def _reads(golden: Golden, table: Table) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the reads of a table: their names, and the data source's options."""
    writes = completed_writes(table.timeline)
    for kind in golden.script.reads:
        match kind:
            case "as_of":
                for number, write in enumerate(writes[:-1], 1):
                    yield f"as_of {number}", {"as.of.instant": write.requested_time}
            case "incremental":
                for number, begin in enumerate(["000", *(_point(golden, write) for write in writes[:-1])]):
                    yield f"incremental {number}", {_TYPE: "incremental", _BEGIN: begin}
            case "cdc":
                yield "cdc", {_TYPE: "incremental", _BEGIN: "000", _FORMAT: "cdc"}
            case "then":
                pass  # they were read when it was made
            case _:
                yield kind, {} if kind == "snapshot" else {_TYPE: kind}


def _point(golden: Golden, write: Instant) -> str:
    """Return the begin of an incremental read after a write: 1.0 takes it in, where the others leave it out."""
    if golden.version == 6 or write.completion_time is None:
        return write.requested_time
    return str(int(write.completion_time) + 1) if golden.release == "1.0.2" else write.completion_time


def _answer(peer: Peer, path: Path, options: dict[str, str]) -> dict[str, Any]:
    try:
        return {"options": options, **spelled(peer.read(path, options))}
    except PeerError as error:
        return {"options": options, "refused": str(error).splitlines()[-1][:200]}


def _shown(reads: dict[str, Any]) -> str:
    """Print one row a line, so that people can read and compare it; columns once where they stay the same."""
    parts, columns = [], None
    for name, read in reads.items():
        lines = [f'"{key}": {_json(value)}' for key, value in read.items() if key != "rows" and value != columns]
        columns = read.get("columns", columns)
        if "rows" in read:
            lines.append('"rows": [' + ",".join(f"\n      {_json(row)}" for row in read["rows"]) + "]")
        parts.append(f"  {_json(name)}: {{\n    " + ",\n    ".join(lines) + "}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

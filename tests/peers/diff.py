"""Explain how two tables differ, file by file and field by field: `python -m tests.peers.diff A B`.

Compares what a reader can see: properties, instants and their metadata, base files by partition with their schemas and
footers, and the rows of the newest snapshot. Names that are drawn (file ids, instants) are numbered in order of
appearance, so that two runs of one history can be laid side by side. Start at `differences`.
"""

import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from pyhudi.formats.properties import parse_properties
from pyhudi.table import Table, open_table
from pyhudi.timeline.active import read_commit_metadata
from pyhudi.timeline.view import completed_writes

__all__ = ["differences", "main"]

_MISSING = object()
_DRAWN = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\d+)?|(?<!\d)\d{17}(?!\d)|_\d+-\d+-\d+_")


def main(arguments: list[str]) -> int:
    """Print the differences of two tables; 1 if there are some."""
    found = list(differences(*(Path(one) for one in arguments)))
    sys.stdout.writelines(f"{line}\n" for line in found or ["the tables do not differ"])
    return 1 if found else 0


def differences(one: Path, other: Path) -> Iterator[str]:
    """Yield a line for each thing that differs: where it is, and what each table has."""
    yield from compared("", description(one), description(other))


def description(path: Path) -> dict[str, Any]:
    """Describe what a table consists of, with drawn names numbered."""
    table = open_table(str(path))
    told = {
        "properties": parse_properties((path / ".hoodie" / "hoodie.properties").read_bytes()),
        "timeline": [commit(table, instant) for instant in completed_writes(table.timeline)],
        "partitions": {name: partition(path / name) for name in table.inspect.partitions()["partition"].to_pylist()},
        "rows": rows(table),
    }
    numbered: dict[str, Any] = json.loads(_numbered(json.dumps(told, default=repr)))
    return numbered


def commit(table: Table, instant: Any) -> dict[str, Any]:
    """Describe a commit by what it says of itself."""
    said = read_commit_metadata(table.state, instant)
    return {"time": instant.requested_time, "action": str(instant.action), "metadata": plain(said)}


def plain(value: Any) -> Any:
    """Turn values with fields into dicts."""
    fields = getattr(value, "__dataclass_fields__", None)
    if fields is not None:
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, dict) or hasattr(value, "items"):
        return {str(name): plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def partition(folder: Path) -> dict[str, Any]:
    """Describe the base files of a partition, oldest first, and its metadata file."""
    marks = {path.name: path.read_text().splitlines()[-2:] for path in folder.glob(".hoodie_partition_metadata*")}
    files = sorted(folder.glob("*.parquet"), key=lambda path: path.stem.rsplit("_", 1)[-1])
    return {"metadata": marks, "files": [base_file(path) for path in files]}


def base_file(path: Path) -> dict[str, Any]:
    """Describe a base file's columns and footer."""
    read = pq.ParquetFile(path)
    footer = {key.decode(): value.decode("utf-8", "replace") for key, value in (read.metadata.metadata or {}).items()}
    return {
        "name": path.name,
        "rows": read.metadata.num_rows,
        "columns": [str(read.schema.column(place)).splitlines() for place in range(len(read.schema))],
        "footer": {key: value for key, value in footer.items() if key not in {"ARROW:schema", "pyhudi.write_status"}},
    }


def rows(table: Table) -> dict[str, Any]:
    """Return the rows of the newest snapshot by partition and key."""
    found = table.scan(meta=True, options={"pyhudi.check.files": False}).to_arrow().to_pylist()  # a missing one is told
    return {f"{row['_hoodie_partition_path']}/{row['_hoodie_record_key']}": row for row in found}


def compared(place: str, one: Any, other: Any) -> Iterator[str]:
    """Yield the differences of two values, deep inside."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            yield from compared(f"{place}/{name}", one.get(name, _MISSING), other.get(name, _MISSING))
    elif isinstance(one, list) and isinstance(other, list):
        for number, (left, right) in enumerate(itertools.zip_longest(one, other, fillvalue=_MISSING)):
            yield from compared(f"{place}[{number}]", left, right)
    elif one != other:
        yield f"{place}: {_shown(one)} | {_shown(other)}"


def _numbered(text: str) -> str:
    seen: dict[str, str] = {}
    return _DRAWN.sub(lambda match: seen.setdefault(match.group(), f"<{len(seen)}>"), text)


def _shown(value: Any) -> str:
    text = "nothing" if value is _MISSING else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:120]}... ({len(text)} characters)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

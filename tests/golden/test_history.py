"""The history that Apache Hudi wrote: every row is loaded, and what we write has its form."""

import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from tests.golden.catalogue import kept_tables

from pyhudi.env import SystemEnv
from pyhudi.state.properties_file import open_state
from pyhudi.storage.local import LocalStorage
from pyhudi.timeline.history import Past
from pyhudi.timeline.instant import WRITE_ACTIONS
from pyhudi.timeline.lsm import ARCHIVED, append_history, load_archived, read_manifest

ARCHIVING = [
    one
    for one in kept_tables()
    if one.version >= 8 and any(word in one.name for word in ("archived", "cleaned", "compacted", "kept", "upgraded"))
]


def histories(golden, unpacked):
    """Return the table, and its metadata table where it has one, where something was archived."""
    base = unpacked(golden)
    places = [base, base / ".hoodie" / "metadata"]
    states = [
        open_state(LocalStorage(str(place), SystemEnv()), SystemEnv())
        for place in places
        if (place / ".hoodie").exists()
    ]
    return [state for state in states if read_manifest(state).version]


def stored(state):
    directory = f"{state.storage.url.removeprefix('file://')}/{state.layout.history_path}"
    return [pq.ParquetFile(f"{directory}/{one.name}") for one in read_manifest(state).files]


@pytest.mark.parametrize("golden", ARCHIVING, ids=lambda golden: golden.name)
def test_all_of_a_history_is_loaded(golden, unpacked):
    for state in histories(golden, unpacked):
        rows = [row for file in stored(state) for row in file.read().to_pylist()]
        rows.sort(key=lambda row: (row["instantTime"], row["action"]))
        assert load_archived(state, ARCHIVED.names).to_pylist() == rows
        times = [row["instantTime"] for row in rows]
        for first, last in ((times[0], times[0]), (times[-1], times[-1]), (times[len(times) // 3], times[-1])):
            wanted = [row["completionTime"] for row in rows if first <= row["instantTime"] <= last]
            assert load_archived(state, ["completionTime"], first=first, last=last)[0].to_pylist() == wanted
        for row in rows:
            if row["action"] in {action.value for action in WRITE_ACTIONS}:
                assert Past(state, ()).completion_of(row["instantTime"]) == row["completionTime"]


@pytest.mark.parametrize("golden", ARCHIVING, ids=lambda golden: golden.name)
def test_what_we_write_has_the_form_of_what_apache_hudi_wrote(golden, unpacked, tmp_path):
    for at, state in enumerate(histories(golden, unpacked)):
        ours = replace(state, storage=LocalStorage(str(tmp_path / str(at)), SystemEnv()))
        append_history(ours, load_archived(state, ARCHIVED.names), lambda: None)
        theirs, (written,) = stored(state)[0], stored(ours)
        assert written.schema_arrow.remove_metadata().equals(theirs.schema_arrow.remove_metadata())
        said = [json.loads(one.metadata.metadata[b"parquet.avro.schema"]) for one in (theirs, written)]
        assert said[0] == said[1]
        assert written.metadata.row_group(0).column(0).compression == "GZIP"
        (entry,) = read_manifest(ours).files
        wanted = (
            f'{{\n  "files" : [ {{\n    "fileName" : "{entry.name}",\n    "fileLen" : {entry.size_bytes}\n  }} ]\n}}'
        )
        assert ours.storage.get(f"{ours.layout.history_path}/manifest_1").decode() == wanted
        manifests = [name for name in state.storage.list_names(state.layout.history_path) if name == "manifest_1"]
        for name in manifests:
            theirs_text = state.storage.get(f"{state.layout.history_path}/{name}").decode()
            first = json.loads(theirs_text)["files"][0]
            named = wanted.replace(entry.name, first["fileName"]).replace(str(entry.size_bytes), str(first["fileLen"]))
            assert theirs_text == named

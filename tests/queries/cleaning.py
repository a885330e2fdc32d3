"""Cleans as Apache Hudi leaves them: a table's files go, and the timeline says which."""

from dataclasses import replace

from pyhudi.formats.avro import encode_container
from pyhudi.timeline.codec.schemas import REQUESTED_REPLACE_METADATA
from pyhudi.timeline.instant import Action, Instant, State, file_name

__all__ = ["clean", "clean_metadata", "clean_plan", "plan_clustering", "put_instant", "taken_by"]

_TEXTS = {"type": "array", "items": "string"}


def clean_metadata(taken, kind="successDeleteFiles"):
    """Spell what a clean did: names by partition, in one of its three lists."""
    lists = ("deletePathPatterns", "successDeleteFiles", "failedDeleteFiles")
    fields = [{"name": "partitionPath", "type": "string"}, *({"name": name, "type": _TEXTS} for name in lists)]
    partition = {"type": "record", "name": "HoodieCleanPartitionMetadata", "fields": fields}
    schema = {
        "type": "record",
        "name": "HoodieCleanMetadata",
        "fields": [{"name": "partitionMetadata", "type": {"type": "map", "values": partition}}],
    }
    said = {
        where: {"partitionPath": where, **{name: names if name == kind else [] for name in lists}}
        for where, names in taken.items()
    }
    return encode_container(schema, {"partitionMetadata": said}, b"s" * 16)


def clean_plan(taken, version=2):
    """Spell what a clean is going to do: version 2 has whole paths, version 1 has names."""
    file = {"type": "record", "name": "HoodieCleanFileInfo", "fields": [{"name": "filePath", "type": "string"}]}
    old = {"name": "filesToBeDeletedPerPartition", "type": {"type": "map", "values": _TEXTS}}
    files = {"type": "map", "values": {"type": "array", "items": file}}
    new = {"name": "filePathsToBeDeletedPerPartition", "type": files}
    schema = {"type": "record", "name": "HoodieCleanerPlan", "fields": [old, new]}
    paths = {where: [{"filePath": f"file:/tables/{where}/{name}"} for name in names] for where, names in taken.items()}
    named = (taken, {}) if version == 1 else ({}, paths)
    return encode_container(schema, {old["name"]: named[0], new["name"]: named[1]}, b"s" * 16)


def put_instant(state, time, action, data=b"", *, done=None, progress=State.COMPLETED):
    """Put an instant's file on the timeline; give the instant."""
    completion = (done or time) if progress is State.COMPLETED else None
    instant = Instant(requested_time=time, action=action, state=progress, completion_time=completion)
    named = replace(instant, file_name=file_name(instant, state.layout.timeline_layout))
    state.storage.put(f"{state.layout.timeline_path}/{named.file_name}", data)
    return named


def plan_clustering(table, *paths):
    """Put a requested clustering of these base files behind everything else; give its time."""
    files = [(path.rpartition("/")[0], path.rsplit("/", 1)[-1].split("_")[0]) for path in paths]
    slices = [{"partitionPath": where, "fileId": file_id} for where, file_id in files]
    plan = {"operationType": "CLUSTER", "clusteringPlan": {"inputGroups": [{"slices": slices}]}}
    time = f"{int(table.timeline.instants[-1].requested_time) + 1:017d}"
    data = encode_container(REQUESTED_REPLACE_METADATA, plan, b"n" * 16)
    put_instant(table.state, time, Action.CLUSTERING, data, progress=State.REQUESTED)
    return time


def taken_by(files):
    """Return paths as names by partition."""
    taken = {}
    for path in files:
        where, name = path.rsplit("/", 1)
        taken.setdefault(where, []).append(name)
    return taken


def clean(table, *files, time=None):
    """Delete files, and put the completed clean that says so behind everything else."""
    for path in files:
        table.state.storage.delete(path)
    time = time or f"{int(table.timeline.instants[-1].requested_time) + 1:017d}"
    put_instant(table.state, time, Action.CLEAN, clean_metadata(taken_by(files)))
    return time

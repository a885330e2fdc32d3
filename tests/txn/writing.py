"""Writers in slow motion: begin, write a file, commit, each when a test says so."""

from dataclasses import replace

from pyhudi.options import Settings
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import Action
from pyhudi.timeline.metadata import CommitMetadata, WriteOperation, WriteStat
from pyhudi.txn.checks import Proposal
from pyhudi.txn.commit import begin


def begun(state, action=Action.COMMIT, **options):
    """Begin as the verbs do."""
    return begin(state, action, Settings(options))


def through(state, storage):
    """Return the table as seen through another storage."""
    return replace(state, storage=storage)


def path_of(instant, group="g", partition="sf"):
    return f"{partition}/{group}_0-0-0_{instant}.parquet"


def write(txn, group="g", partition="sf"):
    """Mark and put one data file."""
    path = path_of(txn.time, group, partition)
    txn.state.storage.put(f".hoodie/.temp/{txn.time}/{path}.marker.CREATE", b"")
    txn.state.storage.put(path, b"data")
    return path


def metadata_of(*paths, operation=WriteOperation.UPSERT, previous=None):
    """Make commit metadata that names these files."""
    stats = {}
    for path in paths:
        partition, name = path.rsplit("/", 1)
        stat = WriteStat(file_id=name.split("_")[0], path=path, prev_commit=previous)
        stats[partition] = (*stats.get(partition, ()), stat)
    return CommitMetadata(operation=operation, stats=stats)


def proposal_of(*paths, find_keys=None, read_set=None, **more):
    """Propose to commit these files."""
    return Proposal(metadata=metadata_of(*paths, **more), find_keys=find_keys, read_set=read_set)


def committed(state, group="g", partition="sf"):
    """Write and commit one file group, whole."""
    with begun(state) as txn:
        txn.start(None)
        return txn.commit(proposal_of(write(txn, group, partition))).instant


def states_of(state):
    """Return (action, state) of every instant."""
    return [(str(one.action), str(one.state)) for one in load_timeline(state).instants]


def data_files(state):
    return sorted(status.path for status in state.storage.list("") if status.path.endswith(".parquet"))


def leftovers(state):
    """List heartbeats, guards and markers."""
    found = [status.path for status in state.storage.list(".hoodie")]
    return [path for path in found if path.startswith((".hoodie/.temp/", ".hoodie/.heartbeat/", ".hoodie/.locks/h"))]

"""Compactions that lose what is appended beside them."""

from tests.simulation.mutants.mutant import Mutant, always

MUTANTS = (
    Mutant(
        "a compaction of version 6 lets every writer append",
        "compact-append-v6",
        (
            ("pyhudi.services.compact.plan.waits", always(False)),
            ("pyhudi.txn.conflicts._open_to_logs", lambda _: lambda time, action, *_: action.groups),
        ),
    ),
    Mutant(
        "logs that come late are below the compacted file",
        "compact-append",
        (("pyhudi.filegroup.view.completion_of", lambda _: lambda timeline, time: time),),
    ),
)

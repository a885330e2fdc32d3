"""Clusterings that lose what is written beside them."""

from tests.simulation.mutants.mutant import Mutant, always

MUTANTS = (
    Mutant(
        "a clustering replaces file groups that others have changed since it was planned",
        "cluster-update-allowed",
        (("pyhudi.services.cluster.cluster.find_superseded", always({})),),
    ),
    Mutant(
        "a write does not see that a clustering has taken its file groups away",
        "cluster-append-allowed",
        (("pyhudi.txn.checks.find_overlaps", always(())), ("pyhudi.txn.commit.find_overlaps", always(()))),
    ),
)

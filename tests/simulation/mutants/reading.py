"""Readers that see what does not count, or not what does."""

from tests.simulation.mutants.mutant import Mutant, always

from pyhudi.timeline.view import as_of_requested

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a listing is taken for one moment",
        "checkpoints",
        (("pyhudi.timeline.listing._has_gaps", always(False)),),
        seed=5,
    ),
    Mutant("readers see pending files", "read-update", (("pyhudi.filegroup.view.is_committed", always(True)),)),
    Mutant(
        "readers see replaced file groups",
        "read-overwrite",
        (("pyhudi.queries.slices.replaced_file_groups", always({})),),
    ),
    Mutant(
        "time travel by requested times",
        "update-apart",
        (("pyhudi.queries.expired.as_of", lambda _: as_of_requested),),
    ),
)

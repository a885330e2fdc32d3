"""The verbs of a `Table` that keep it in order. `Table` is the class to use.

Each is one call of an action. Start at `ServiceVerbs.clean`.
"""

from pyhudi.actions.archive import ArchiveResult, archive_table
from pyhudi.actions.clean import CleanResult, clean_table
from pyhudi.actions.service import service_call
from pyhudi.actions.services import run_due_services
from pyhudi.arguments import as_switch
from pyhudi.options import Settings
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import open_state
from pyhudi.table.types import Options

__all__ = ["ServiceVerbs"]


class ServiceVerbs:
    """What a `Table` can be told to do for its own sake."""

    _state: TableState

    def clean(self, *, options: Options | None = None, dry_run: bool = False, schedule: bool = False) -> CleanResult:
        """Delete older file slices that the policy of `hoodie.clean.policy` does not keep.

        What another process planned and did not finish is finished first. Writes do this by themselves when it is due,
        unless `hoodie.clean.automatic` is false.

        Args:
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return which files would go and how many bytes they have, and change nothing.
            schedule: only store the plan; the next clean of any process runs it.

        Example:
            >>> trips.clean(dry_run=True).files
            ()

        Raises: NotBuilt for a table that pyhudi does not write; LockNotAcquired; StorageUnavailable.
        """
        call = service_call(self._fresh(), Settings.of(options))
        return clean_table(
            call, is_dry_run=as_switch("dry_run", dry_run), is_only_planned=as_switch("schedule", schedule)
        )

    def archive(self, *, options: Options | None = None, dry_run: bool = False) -> ArchiveResult:
        """Move the oldest instants from the active timeline to the history, as far as none is needed there.

        Writes do this by themselves when it is due, unless `hoodie.archive.automatic` is false.

        Args:
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return which instants would go, and change nothing.

        Example:
            >>> trips.archive(dry_run=True).instants
            ()

        Raises: NotBuilt for a table of version 6, and one that pyhudi does not write; LockNotAcquired;
                StorageUnavailable.
        """
        return archive_table(
            service_call(self._fresh(), Settings.of(options)), is_dry_run=as_switch("dry_run", dry_run)
        )

    def run_due_services(self, *, options: Options | None = None) -> dict[str, tuple[str, ...]]:
        """Run the table services that are due, in this process; returns by name the instants that were completed.

        Of archiving they are those that were archived. For a process of its own, where writes leave services to it:
        `hoodie.clean.async.enabled`, `hoodie.archive.async`.

        Args:
            options: options of Apache Hudi by their keys, for this call.

        Example:
            >>> trips.run_due_services()
            {}

        Raises: as `clean`.
        """
        return run_due_services(service_call(self._fresh(), Settings.of(options)))

    def _fresh(self) -> TableState:
        self._state = open_state(self._state.storage, self._state.env)
        return self._state

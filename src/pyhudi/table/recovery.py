"""The verbs of a table that keep a moment, and that go back to one. Start at `RecoveryVerbs`."""

from pyhudi.actions.restore import PlannedRestore, restore
from pyhudi.actions.rollback import rollback_instant
from pyhudi.actions.savepoint import Savepoint, delete_savepoint, savepoint
from pyhudi.arguments import as_switch, as_text
from pyhudi.state.kept_options import settings_of
from pyhudi.state.model import TableState
from pyhudi.state.properties_file import reopened
from pyhudi.table.types import Moment, Options
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.rollback import RollbackPlan

__all__ = ["RecoveryVerbs"]


class RecoveryVerbs:
    """Savepoints, rollbacks and restores."""

    _state: TableState

    def rollback(
        self, instant: str, *, completed: bool = False, options: Options | None = None, dry_run: bool = False
    ) -> RollbackPlan:
        """Take a pending write back, whichever writer it belongs to; with `completed`, the newest commit.

        A write that is committed is left as it is, also where that happens while this call is on its way: its writer
        may have been told so.

        Args:
            instant: its requested time, as `inspect.pending()` or `history()` lists it.
            completed: true: it may be a completed commit, which has to be the newest.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return the plan and change nothing.

        Example:
            >>> last = trips.upsert([{"uuid": "c", "city": "oslo", "ts": 3, "fare": 1.0}])
            >>> trips.rollback(last.instant, completed=True).action.value
            'commit'
            >>> trips.count()
            2

        Raises: InstantNotFound; InvalidInput for a commit without `completed`, one that others build upon, or that has
                a savepoint; SnapshotExpired where files of the moment before it were cleaned; WriteConflict while the
                table is restored; LockNotAcquired.
        """
        state = self._state = reopened(self._state)
        return rollback_instant(
            state,
            InstantTime(as_text("instant", instant)),
            settings_of(state.config, options),
            is_dry_run=as_switch("dry_run", dry_run),
            takes_completed=as_switch("completed", completed),
        )

    def savepoint(
        self, instant: str, comment: str = "", *, options: Options | None = None, dry_run: bool = False
    ) -> Savepoint:
        """Keep what readers saw when a commit was completed: no clean takes its files until the savepoint is deleted.

        Args:
            instant: the commit's requested time, as `history()` lists it.
            comment: what it is for; it is kept with the savepoint.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return which files would be kept, and change nothing.

        Example:
            >>> trips.savepoint(first.instant, "before the migration", dry_run=True).files_count
            1

        Raises: InstantNotFound; InvalidInput for what is no completed commit, or has a savepoint; SnapshotExpired where
                files of that moment were cleaned; LockNotAcquired.
        """
        state = self._state = reopened(self._state)
        return savepoint(
            state,
            InstantTime(as_text("instant", instant)),
            settings_of(state.config, options),
            comment=as_text("comment", comment),
            is_dry_run=as_switch("dry_run", dry_run),
        )

    def delete_savepoint(self, instant: str, *, options: Options | None = None, dry_run: bool = False) -> None:
        """Let cleans take the files that a savepoint keeps; no file is deleted by this.

        Args:
            instant: the commit's requested time, as `savepoint()` was given it.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: check that there is such a savepoint, and change nothing.

        Example:
            >>> kept = trips.savepoint(first.instant)
            >>> trips.delete_savepoint(first.instant)

        Raises: InstantNotFound; LockNotAcquired.
        """
        state = self._state = reopened(self._state)
        delete_savepoint(
            state,
            InstantTime(as_text("instant", instant)),
            settings_of(state.config, options),
            is_dry_run=as_switch("dry_run", dry_run),
        )

    def restore(self, instant: Moment, *, options: Options | None = None, dry_run: bool = False) -> PlannedRestore:
        """Go back to an earlier moment: every commit since then is taken back, and cannot be read any more.

        Readers see that moment from the beginning of the restore on. Writers that are at work cannot commit; their
        `Conflict` says so. A restore whose process died is finished by calling it again.

        Args:
            instant: what `as_of` of `scan` takes: an instant's text, as of a savepoint, or a time, which means the
                latest commit completed by then.
            options: options of Apache Hudi by their keys, for this call.
            dry_run: return which commits and files would go, and change nothing.

        Example:
            >>> trips.restore(first.instant, dry_run=True).target == first.instant
            True
            >>> trips.restore(first.instant).size_bytes > 0
            True
            >>> trips.count()
            1

        Raises: InstantNotFound; InvalidInput where a savepoint keeps a later commit; SnapshotExpired where files of the
                moment were cleaned, or commits since were archived; Conflict; NotBuilt.
        """
        state = self._state = reopened(self._state)
        settings = settings_of(state.config, options)
        return restore(state, instant, settings, is_dry_run=as_switch("dry_run", dry_run))

"""What a service's commit changes in the metadata table. Start at `service_records`."""

from collections.abc import Sequence

from pyhudi.filegroup.write_task import WriteStatus
from pyhudi.metadata.partitions.api import Records, RowsTold
from pyhudi.metadata.partitions.changes import records_of_commit
from pyhudi.services.rows_told import rows_of_action
from pyhudi.services.service import ServiceCall
from pyhudi.state.model import TableState
from pyhudi.timeline.active import load_timeline
from pyhudi.timeline.instant import InstantTime
from pyhudi.timeline.metadata import CommitMetadata

__all__ = ["service_records"]


def service_records(
    call: ServiceCall,
    state: TableState,
    metadata: CommitMetadata,
    time: InstantTime,
    statuses: Sequence[WriteStatus] = (),
) -> Sequence[Records]:
    """Return what a service's commit changes in the metadata table.   Cost: as `records_of_commit`."""

    def tell_rows() -> RowsTold:
        timeline = load_timeline(state)
        return rows_of_action(state, timeline, call.settings, call.engine, instant=time, metadata=metadata)

    return records_of_commit(
        state,
        metadata=metadata,
        settings=call.settings,
        run=call.engine.run,
        tell_rows=tell_rows,
        statuses=statuses,
    )

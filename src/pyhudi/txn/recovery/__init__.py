"""What happens to an instant whose writer failed: rolled back by its owner, or by the next writer.

Heartbeats and markers are written here from the first moment of a write, because recovery is what reads them. Start at
`rollback.recover_failed_writes`.
"""

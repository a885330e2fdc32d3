"""S3, GCS and Azure: `store` for what a table asks of them, `settle` for puts whose reply is lost."""

from pyhudi.storage.object_store.store import ObjectStorage, object_storage

__all__ = ["ObjectStorage", "object_storage"]

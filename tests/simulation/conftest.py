"""What simulations share."""

from tests.storage.conftest import s3_server

__all__ = ["s3_server"]

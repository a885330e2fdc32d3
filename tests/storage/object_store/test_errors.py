"""Every error of obstore becomes one of ours, without secrets."""

import pytest
from obstore import exceptions

from pyhudi import errors
from pyhudi.storage.credentials import Credentials
from pyhudi.storage.object_store.errors import error_of_store

SECRET = Credentials((("secret_access_key", "SENTINEL"),))


def reply(status: int, code: str = "X") -> Exception:
    return exceptions.GenericError(f"status code: {status} Y: <Code>{code}</Code> SENTINEL\n\nDebug source: SENTINEL")


@pytest.mark.parametrize(
    ("lower", "ours"),
    [
        (FileNotFoundError("SENTINEL"), errors.FileMissing),
        (exceptions.NotFoundError("SENTINEL"), errors.FileMissing),
        (reply(404, "NoSuchBucket"), errors.FileMissing),
        (exceptions.AlreadyExistsError("SENTINEL"), errors.PreconditionFailed),
        (exceptions.PreconditionError("SENTINEL"), errors.PreconditionFailed),
        (exceptions.PermissionDeniedError("SENTINEL"), errors.PermissionDenied),
        (exceptions.UnauthenticatedError("SENTINEL"), errors.PermissionDenied),
        (reply(400, "ExpiredToken"), errors.PermissionDenied),
        (reply(403), errors.PermissionDenied),
        (exceptions.UnknownConfigurationKeyError("SENTINEL"), errors.OptionError),
        (exceptions.NotSupportedError("SENTINEL"), errors.Unsupported),
        (NotImplementedError("SENTINEL"), errors.Unsupported),
        (exceptions.InvalidPathError("SENTINEL"), errors.InvalidInput),
        (ValueError("SENTINEL"), errors.InvalidInput),
        (reply(416), errors.CorruptData),
        (reply(507), errors.StorageFull),
        (reply(301), errors.Environment),
        (reply(500), errors.StorageUnavailable),
        (reply(503, "SlowDown"), errors.StorageUnavailable),
        (reply(429, "TooManyRequests"), errors.StorageUnavailable),
        (exceptions.GenericError("SENTINEL"), errors.StorageUnavailable),
        (OSError("SENTINEL"), errors.StorageUnavailable),
        (RuntimeError("SENTINEL"), errors.StorageUnavailable),
    ],
)
def test_each_error_says_what_to_do_and_shows_no_secret(lower: Exception, ours: type):
    error = error_of_store(lower, "p", SECRET, is_conditional=True)
    assert type(error) is ours
    assert error.__cause__ is not None
    assert "SENTINEL" not in repr(error) + str(error) + repr(error.values) + repr(error.__cause__)


@pytest.mark.parametrize("lower", [exceptions.AlreadyExistsError("x"), exceptions.PreconditionError("x")])
def test_no_condition_has_failed_where_there_was_none(lower: Exception):
    assert type(error_of_store(lower, "p", SECRET)) is errors.StorageUnavailable


def test_the_table_is_named():
    told = error_of_store(OSError("no answer"), "a/b", Credentials(), table="s3://bucket/trips")
    assert told.values["table"] == "s3://bucket/trips"
    assert type(told.__cause__) is OSError

"""Map what obstore says to what the caller should do, with every secret taken out. Start at `error_of_store`."""

import re

from obstore import exceptions as obstore_errors

from pyhudi.errors import (
    CorruptData,
    Environment,
    FileMissing,
    HudiError,
    InvalidInput,
    OptionError,
    PermissionDenied,
    PreconditionFailed,
    StorageFull,
    StorageUnavailable,
    Unsupported,
)
from pyhudi.storage.credentials import Credentials
from pyhudi.storage.os_errors import naming_table

__all__ = ["error_of_options", "error_of_store"]

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_REPLY_CHARACTERS = 600
_DENIED_CODES = {
    "AccessDenied",
    "AuthorizationHeaderMalformed",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
}
_NO_CONTAINER = {"NoSuchBucket", "ContainerNotFound"}


def error_of_store(
    error: Exception, path: str, credentials: Credentials, *, is_conditional: bool = False, table: str = ""
) -> HudiError:
    """Return our error for obstore's; its cause is obstore's own, rebuilt from the redacted text.

    A store also answers 409 to a request without a condition, beside which another one is under way: it has to be sent
    again. Only the reply to a conditional put (`is_conditional`) is PreconditionFailed.
    """
    text = _redacted(error, credentials)
    ours = naming_table(_kind_of(error, text, path, is_conditional=is_conditional), table)
    return _caused(ours, error, text)


def error_of_options(error: Exception, credentials: Credentials, *, table: str) -> HudiError:
    """Return our error for what obstore says of the options that a store is opened with; no value is repeated."""
    text = _redacted(error, credentials)
    given = [key for key, _ in credentials.values]
    ours = OptionError(
        "the store cannot take the value of a storage option, or of its environment variable; correct it",
        reason=text,
        given=given,
        table=table,
    )
    return _caused(ours, error, text)


def _redacted(error: Exception, credentials: Credentials) -> str:
    return credentials.redact(str(error).partition("\n\nDebug source")[0])[:_REPLY_CHARACTERS]


def _caused(ours: HudiError, error: Exception, text: str) -> HudiError:
    ours.__cause__ = type(error)(text) if type(error).__module__.startswith("obstore") else OSError(text)
    return ours


def _kind_of(error: Exception, text: str, path: str, *, is_conditional: bool) -> HudiError:
    code = found[1] if (found := _CODE.search(text)) else ""
    status = int(found[1]) if (found := _STATUS.search(text)) else 0
    if code in _NO_CONTAINER:
        return FileMissing("the bucket or container does not exist", path=path)
    if is_conditional and isinstance(error, (obstore_errors.AlreadyExistsError, obstore_errors.PreconditionError)):
        return PreconditionFailed("the store refused the condition", path=path, status=status)
    if isinstance(error, FileNotFoundError | obstore_errors.NotFoundError):
        return FileMissing("no such file", path=path)
    denied = (obstore_errors.PermissionDeniedError, obstore_errors.UnauthenticatedError, PermissionError)
    if isinstance(error, denied) or status in {401, 403} or code in _DENIED_CODES:
        return PermissionDenied("the store refused the access; check the credentials", path=path, code=code)
    if isinstance(error, obstore_errors.UnknownConfigurationKeyError):
        return OptionError("the store does not know this storage option", reason=text)
    if isinstance(error, NotImplementedError | obstore_errors.NotSupportedError):
        return Unsupported("the store cannot do this", path=path, reason=text)
    if isinstance(error, ValueError | obstore_errors.InvalidPathError):
        return InvalidInput("the store cannot take this name", path=path, reason=text)
    return _by_status(status, text, path)


def _by_status(status: int, text: str, path: str) -> HudiError:
    if status == 416:
        return CorruptData("the file is shorter than it should be", path=path)
    if status == 507:
        return StorageFull("no space is left; free some and run the call again", path=path)
    if status in {301, 307, 308}:
        return Environment("the bucket is elsewhere; set the storage option 'region' or 'endpoint'", path=path)
    return StorageUnavailable("the store did not answer as it should; try again", path=path, reply=text)

"""Every error of the operating system becomes one of ours."""

import errno

import pytest

from pyhudi.errors import (
    Environment,
    FileMissing,
    HudiError,
    InvalidInput,
    PermissionDenied,
    StorageFull,
    StorageUnavailable,
)
from pyhudi.storage.os_errors import error_of_system, storage_errors


@pytest.mark.parametrize(
    ("code", "reading", "writing"),
    [
        (errno.ENOENT, FileMissing, FileMissing),
        (errno.ENOTDIR, FileMissing, InvalidInput),
        (errno.EISDIR, FileMissing, InvalidInput),
        (errno.EACCES, PermissionDenied, PermissionDenied),
        (errno.EROFS, PermissionDenied, PermissionDenied),
        (errno.ENOSPC, StorageFull, StorageFull),
        (errno.EDQUOT, StorageFull, StorageFull),
        (errno.ELOOP, InvalidInput, InvalidInput),
        (errno.ENAMETOOLONG, InvalidInput, InvalidInput),
        (errno.EXDEV, Environment, Environment),
        (errno.EOPNOTSUPP, Environment, Environment),
        (errno.EIO, StorageUnavailable, StorageUnavailable),
        (errno.EMFILE, StorageUnavailable, StorageUnavailable),
    ],
)
def test_each_code_says_what_to_do(code: int, reading: type, writing: type):
    assert type(error_of_system(OSError(code, "x"), "p")) is reading
    assert type(error_of_system(OSError(code, "x"), "p", is_write=True)) is writing


def test_the_lower_error_is_the_cause_and_ours_pass_through():
    lower = OSError(errno.EIO, "x")
    with pytest.raises(StorageUnavailable) as raised, storage_errors("p"):
        raise lower
    assert raised.value.__cause__ is lower
    with pytest.raises(HudiError) as raised, storage_errors("p"):
        raise StorageFull("ours")
    assert raised.value.message == "ours"

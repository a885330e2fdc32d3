"""Raise errors from Spark's workers, and Spark's own, to the caller as errors of pyhudi.

An error of a task travels in the text of Spark's exception as kind, message and values in JSON, never as a pickle:
that text can also hold rows. Start at `carried` (in workers) and `spark_errors` (on the driver).
"""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exception

import pyarrow as pa
from pyspark.errors import PySparkException

from pyhudi import errors
from pyhudi.errors import (
    CorruptData,
    Environment,
    ExpressionError,
    FileMissing,
    HudiError,
    InternalError,
    InvalidInput,
    PackageMissing,
    RowsLost,
    WorkerMismatch,
)

__all__ = ["carried", "carrying_text", "error_in_spark", "spark_errors"]

_MARK = re.compile(r"\[\[pyhudi-error:([A-Za-z0-9+/=]+)\]\]")
_LONGEST_TEXT = 2_000

_THROWN = (
    r"java\.lang\.RuntimeException: (?:(?!\n\s*at )[\s\S])*\n\s*at org\.apache\.spark\.sql\.catalyst\.expressions\."
)
"""An exception of an expression, for which Spark 3.5 has no name."""

_KNOWN: tuple[tuple[str, type[HudiError], str], ...] = (
    (r"CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", RowsLost, "an executor that held rows of the write is gone; write again"),
    (r"PYTHON_VERSION_MISMATCH", WorkerMismatch, "set PYSPARK_PYTHON to the driver's Python before Spark starts"),
    (r"No module named '(pyhudi|pyarrow|numpy)", WorkerMismatch, "install pyhudi where Spark's workers run Python"),
    (r"PACKAGE_NOT_INSTALLED|UNSUPPORTED_PACKAGE_VERSION", PackageMissing, "install pyhudi[spark]"),
    (r"FILE_NOT_EXIST|PATH_NOT_FOUND|FileNotFoundException", FileMissing, "a file is not in storage"),
    (
        r"FAILED_READ_FILE|CANNOT_READ_FILE_FOOTER|not a Parquet file|RuntimeException: corrupted file",
        CorruptData,
        "spark cannot read a base file",
    ),
    (
        rf"USER_RAISED_EXCEPTION|{_THROWN}",
        InvalidInput,
        "the DataFrame raised an error of its own, by raise_error or assert_true; its text is under `spark`",
    ),
    (
        r"UNRESOLVED_COLUMN|DATATYPE_MISMATCH|CAST_INVALID_INPUT|DIVIDE_BY_ZERO|ARITHMETIC_OVERFLOW",
        ExpressionError,
        "fix the expression, spark refuses it",
    ),
)


class _CarriedError(RuntimeError):
    """What a worker raises: the text of an error of pyhudi, and the error itself in a form that text can hold."""


@contextmanager
def carried() -> Iterator[None]:
    """Raise errors of our tasks so that they survive the way through Spark; what is none of pyhudi's is our bug.

    An input that breaks off has failed elsewhere, and is told from there. Spark leaves out what caused an error, so the
    traceback of a function that is not pyhudi's goes along as a value.
    """
    try:
        yield
    except HudiError as error:
        cause = error.__cause__
        if type(error) is InvalidInput and cause is not None and not _is_of_libraries(cause):
            error.values["traceback"] = "".join(format_exception(cause))[-_LONGEST_TEXT:]
        raise _CarriedError(carrying_text(error)) from error
    except (EOFError, ConnectionError):
        raise
    except Exception as error:
        ours = InternalError("a task failed", traceback="".join(format_exception(error))[-_LONGEST_TEXT:])
        raise _CarriedError(carrying_text(ours)) from error


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn what Spark raises into errors of pyhudi.

    Raises: the error of the task, if one was carried; InvalidInput for a Python function in the caller's DataFrame,
    whose traceback is in the cause; else WorkerMismatch, PackageMissing, FileMissing, CorruptData, ExpressionError,
    RowsLost or Environment.
    """
    try:
        yield
    except HudiError:
        raise
    except Exception as error:
        if not _is_sparks(error):
            raise
        raise error_in_spark(error) from error


def carrying_text(error: HudiError) -> str:
    """Format an error so that `error_in_spark` finds it in any text around."""
    content = {"kind": type(error).__name__, "message": error.message, "values": error.values}
    packed = base64.b64encode(json.dumps(content, default=str).encode()).decode()
    return f"{error} [[pyhudi-error:{packed}]]"


def error_in_spark(error: BaseException) -> HudiError:
    """Read an error of pyhudi out of one of Spark's."""
    text = str(error)
    if (found := _MARK.search(text)) is not None:
        return _unpacked(found[1])
    is_python = type(error).__name__ == "PythonException"
    for pattern, kind, message in _KNOWN:
        if re.search(pattern, text) and (kind is WorkerMismatch or not is_python):
            return kind(message, spark=_shortened(text))
    if is_python:
        return InvalidInput("a Python function in the DataFrame's plan failed; fix it", spark=_shortened(text))
    return Environment("spark could not do a step", spark=_shortened(text))


def _unpacked(packed: str) -> HudiError:
    content = json.loads(base64.b64decode(packed))
    kind = getattr(errors, content["kind"], InternalError) if content["kind"] in errors.__all__ else InternalError
    made: HudiError = kind(content["message"], **content["values"])
    return made


def _shortened(text: str) -> str:
    """Leave stack frames out, as the cause is chained; what is said stays."""
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith(("at ", "... ", 'File "', "^^"))]
    return "\n".join(said)[:_LONGEST_TEXT]


def _is_of_libraries(error: BaseException) -> bool:
    return isinstance(error, HudiError | pa.ArrowException)


def _is_sparks(error: BaseException) -> bool:
    is_foreign = type(error).__module__.split(".")[0] in {"py4j", "grpc", "pyspark"}
    return isinstance(error, PySparkException) or is_foreign

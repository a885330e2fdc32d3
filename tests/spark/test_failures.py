import base64
import json

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import functions as F

import pyhudi.spark
from pyhudi.errors import (
    CorruptData,
    Environment,
    ExpressionError,
    FileMissing,
    InternalError,
    InvalidInput,
    RowsLost,
    WorkerMismatch,
    WriteConflict,
)
from pyhudi.kernels.keys import register_key_generator
from pyhudi.spark.failures import carried, carrying_text, error_in_spark, spark_errors
from pyhudi.spark.releases import frame_of


def test_an_error_comes_out_of_any_text_as_it_went_in():
    error = WriteConflict("someone was first", files=["a", "ü"], number=3)
    found = error_in_spark(RuntimeError(f"Traceback ...\n {carrying_text(error)}\n\tat java.lang.Thread"))
    assert type(found) is WriteConflict
    assert (found.message, found.values) == (error.message, error.values)


def test_values_that_are_no_json_become_text():
    found = error_in_spark(RuntimeError(carrying_text(CorruptData("stop", data=b"x"))))
    assert found.values == {"data": "b'x'"}


def test_a_kind_that_is_not_ours_is_not_made():
    content = json.dumps({"kind": "SystemExit", "message": "m", "values": {}}).encode()
    forged = RuntimeError(f"[[pyhudi-error:{base64.b64encode(content).decode()}]]")
    assert type(error_in_spark(forged)) is InternalError


def test_errors_of_tasks_are_carried_and_those_that_are_not_pyhudis_are_our_bug():
    with pytest.raises(RuntimeError, match="pyhudi-error") as caught, carried():
        raise CorruptData("stop")
    assert type(error_in_spark(caught.value)) is CorruptData
    with pytest.raises(RuntimeError, match="pyhudi-error") as caught, carried():
        raise KeyError("x")
    assert type(error_in_spark(caught.value)) is InternalError
    with pytest.raises(EOFError), carried():
        raise EOFError


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version", WorkerMismatch),
        ("ModuleNotFoundError: No module named 'pyhudi'", WorkerMismatch),
        ("[FAILED_READ_FILE.FILE_NOT_EXIST] file:/x", FileMissing),
        ("[PATH_NOT_FOUND] Path does not exist: file:/x", FileMissing),
        ("[FAILED_READ_FILE.NO_HINT] file:/x", CorruptData),
        ("[UNRESOLVED_COLUMN.WITH_SUGGESTION] a column", ExpressionError),
        ("[CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND] Checkpoint block rdd_7_0 not found!", RowsLost),
        ("the cluster is gone", Environment),
    ],
)
def test_sparks_own_errors_are_mapped(text, kind):
    with pytest.raises(kind) as caught, spark_errors():
        raise PySparkException(text)
    assert type(caught.value) is kind
    assert isinstance(caught.value.__cause__, PySparkException)


def test_a_function_of_the_callers_that_fails_is_no_bug_of_ours():
    with pytest.raises(InvalidInput, match="ZeroDivisionError"), spark_errors():
        raise PythonException("Traceback: ZeroDivisionError: [PATH_NOT_FOUND]")


def _fails(value):
    return 1 // (value - value)


def _no_keys(rows):
    raise LookupError("no keys today")


def test_a_function_of_the_callers_fails_with_its_traceback(spark, tmp_path):
    rows = frame_of(spark, pa.table({"id": ["a"], "n": [1]}))
    path, options = str(tmp_path / "t"), {"hoodie.datasource.write.recordkey.field": "id"}
    with pytest.raises(InvalidInput, match="ZeroDivisionError") as caught:
        pyhudi.spark.write(rows.withColumn("n", F.udf(_fails, "long")("n")), path, options=options)
    assert "_fails" in str(caught.value.__cause__)
    register_key_generator("failing", _no_keys)
    keyed = options | {"hoodie.datasource.write.keygenerator.class": "failing"}
    with pytest.raises(InvalidInput, match="the key generator failed: LookupError: no keys today") as caught:
        pyhudi.spark.write(rows, str(tmp_path / "keyed"), options=keyed)
    assert "_no_keys" in caught.value.values["traceback"]


def test_errors_that_are_not_sparks_pass():
    with pytest.raises(ZeroDivisionError), spark_errors():
        raise ZeroDivisionError
    with pytest.raises(CorruptData), spark_errors():
        raise CorruptData("x")


@pytest.mark.parametrize(
    "expression", ["raise_error('my own words')", "cast(assert_true(id < 0, 'my own words') as string)"]
)
def test_an_error_of_the_written_frames_own_is_the_callers(spark, expression):
    with pytest.raises(InvalidInput, match="my own words"), spark_errors():
        spark.range(3).selectExpr("id", f"if(id = 2, {expression}, 'z') as v").collect()

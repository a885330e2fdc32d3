"""What stands in where another server than Spark speaks Spark Connect; `make lanes` tries Sail itself."""

import pytest
from pyspark.errors import AnalysisException, UnsupportedOperationException

from pyhudi.errors import Environment, Unsupported
from pyhudi.spark.servers import checkpointed, is_spark_itself, require_streams


class OtherFrame:
    def __init__(self, session, said=""):
        self.sparkSession, self.said = session, said

    def localCheckpoint(self, *, eager):
        self.sparkSession.asked.append(eager)
        if not eager:
            raise UnsupportedOperationException("lazy checkpoint")
        if self.said:
            raise AnalysisException(self.said)
        return "held"


class OtherSession:
    """A client of a server that has no lazy checkpoints."""

    __module__ = "pyspark.sql.connect.session"

    def __init__(self):
        self.asked = []

    def range(self, count):
        return OtherFrame(self)


def test_spark_itself_is_not_asked(spark):
    assert is_spark_itself(spark)
    require_streams(spark)


def test_another_server_is_asked_once():
    session = OtherSession()
    assert not is_spark_itself(session)
    assert not is_spark_itself(session)
    assert session.asked == [False]
    with pytest.raises(Unsupported, match="incremental"):
        require_streams(session)


def test_another_server_keeps_rows_at_once_or_says_what_it_needs():
    session = OtherSession()
    assert checkpointed(OtherFrame(session)) == "held"
    with pytest.raises(Environment, match="SAIL_EXECUTION__CHECKPOINT__PATH"):
        checkpointed(OtherFrame(session, "checkpoint path is not configured"))
    with pytest.raises(AnalysisException, match="no such column"):
        checkpointed(OtherFrame(session, "no such column"))

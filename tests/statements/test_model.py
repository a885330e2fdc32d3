import pytest

from pyhudi.statements.model import TableName


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (("hudi", "/lake/trips"), "/lake/trips"),
        (("HUDI", "s3://lake/trips"), "s3://lake/trips"),
        (("hudi", "trips"), None),
        (("db", "/lake/trips"), None),
        (("trips",), None),
    ],
)
def test_a_path_is_told_from_a_table_of_a_database(parts, path):
    assert TableName(parts).path == path


def test_names_are_compared_without_their_places():
    assert TableName(("db", "t"), 3) == TableName(("db", "t"), 9)
    assert str(TableName(("db", "t"))) == "db.t"

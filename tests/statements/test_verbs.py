def test_changes_answer_with_counts_and_definitions_with_nothing(session):
    assert session.sql("create table a (id integer) using hudi tblproperties (primaryKey = 'id')") == []
    assert session.sql("insert into a values (1)") == [
        {"num_affected_rows": 1, "num_updated_rows": 0, "num_deleted_rows": 0, "num_inserted_rows": 1}
    ]

from tests.building import listing, trip, trips

TABLE_TYPES = ["cow", "mor"]


def test_a_dry_run_tells_the_plan_and_writes_nothing(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))))
    before = listing(table)
    rows = trips(trip("a", ts=2), trip("c", "rome"))
    plan = table.upsert(engine.rows(rows), dry_run=True)
    in_sf = tuple(path for path in before if path.startswith("sf/") and path.endswith("parquet"))
    assert (plan.inserts, plan.updates, plan.deletes) == (1, 1, 0)
    rewritten = in_sf if engine.table_type == "cow" else ()
    assert (plan.partitions, plan.files_replaced) == (("rome", "sf"), rewritten)
    assert plan.bytes_written > sum(table.state.storage.head(path).size_bytes for path in rewritten)
    for verb, expected in (
        (table.insert, (2, 0, 0)),
        (table.bulk_insert, (2, 0, 0)),
        (table.insert_overwrite, (2, 0, None)),
        (table.insert_overwrite_table, (2, 0, None)),
        (table.delete, (0, 0, 1)),
    ):
        plan = verb(engine.rows(rows), dry_run=True)
        assert (plan.inserts, plan.updates, plan.deletes) == expected, verb
    assert table.delete(keys=["a"], dry_run=True).deletes == 1
    gone = table.delete(where="city = 'sf'", dry_run=True)
    assert (gone.deletes, gone.files_replaced, gone.partitions) == (1, rewritten, ("sf",))
    assert repr(gone).startswith("PlannedWrite(delete (dry run): 0 inserts, 0 updates, 1 deletes; 1 files written, ")
    assert "files_replaced" in gone._repr_html_()
    assert table.update(set={"fare": "2.0"}, dry_run=True).updates == 2
    assert table.update(set={"fare": "2.0"}, where="fare < 0", dry_run=True).files_written == ()
    assert listing(table) == before


def test_a_dry_run_of_an_overwrite_names_the_base_files_that_go(engine, version):
    table = engine.create(version=version)
    table.upsert(engine.rows(trips(trip("a"), trip("b", "oslo"))))
    in_sf = tuple(path for path in listing(table) if path.startswith("sf/") and path.endswith("parquet"))
    plan = table.insert_overwrite(engine.rows(trips(trip("c"))), dry_run=True)
    assert (plan.files_replaced, plan.partitions) == (in_sf, ("sf",))
    assert len(table.insert_overwrite_table(engine.rows(trips(trip("c"))), dry_run=True).files_replaced) == 2

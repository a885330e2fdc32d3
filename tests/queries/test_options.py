from tests.building import TableBuilder

from pyhudi.options import obeyed_options
from pyhudi.queries.options import options_in_force
from pyhudi.state.kept_options import may_be_kept


def test_options_of_the_table_come_first_then_every_default():
    table = TableBuilder().create()
    table.set_options({"hoodie.keep.max.commits": 40, "hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"})
    shown = options_in_force(table.config)
    assert shown.slice(0, 2).to_pylist() == [
        {"key": "hoodie.clean.policy", "value": "KEEP_LATEST_FILE_VERSIONS", "where_from": "table"},
        {"key": "hoodie.keep.max.commits", "value": "40", "where_from": "table"},
    ]
    rest = shown.slice(2)
    assert set(rest["where_from"].to_pylist()) == {"default"}
    assert set(shown["key"].to_pylist()) == {key for key in obeyed_options() if may_be_kept(key)}
    assert dict(zip(rest["key"].to_pylist(), rest["value"].to_pylist(), strict=True))["hoodie.keep.min.commits"] == "20"


def test_the_index_that_a_table_keeps_is_one_of_its_options():
    made = TableBuilder().create()
    made.upsert(
        [{"uuid": "a", "ts": 1, "rider": "r", "fare": 1.0, "city": "sf"}], options={"hoodie.index.type": "BUCKET"}
    )
    shown = options_in_force(TableBuilder().reopen(made).config).slice(0, 3).to_pylist()
    assert {"key": "hoodie.index.type", "value": "BUCKET", "where_from": "table"} in shown

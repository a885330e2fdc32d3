import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.errors import InvalidInput, OptionError
from pyhudi.kernels.changes import RowChanges
from pyhudi.kernels.fold import fold
from pyhudi.kernels.merge import merge_batch
from pyhudi.kernels.mergers import register_merger, registered_merger
from pyhudi.kernels.rules import Merger, MergeSpec

SCHEMA = pa.schema({"_hoodie_commit_time": "string", "_hoodie_record_key": "string", "n": "int64", "words": "string"})


def appended(older, newer):
    """Neither commutative nor idempotent: an order that is wrong shows. A negative number deletes."""
    words = pc.binary_join_element_wise(older["words"], newer["words"], "")
    made = pa.table({"n": pc.add(older["n"], newer["n"]), "words": words})
    return made.append_column("_hoodie_is_deleted", pc.less(newer["n"], 0))


def merging(function, **how):
    return MergeSpec(merger=Merger(name="mine", function=function, **how))


def table_of(rows):
    columns = list(zip(*rows, strict=True)) or [()] * 4
    return pa.table(dict(zip(SCHEMA.names, map(list, columns), strict=True)), schema=SCHEMA)


def changes_of(rows):
    """Rows (key, n, word): a word that is None deletes the key."""
    stored = table_of([("2", key, n, word) for key, n, word in rows])
    deletes = np.array([word is None for _, _, word in rows], np.bool_)
    none = np.zeros(len(rows), np.bool_)
    return RowChanges(keys=stored["_hoodie_record_key"], rows=stored, is_delete=deletes, is_unordered=none)


def reference(stored, changes):
    found = dict(stored)
    for key, n, word in changes:
        if word is None or (key in found and n < 0):
            found.pop(key, None)
        elif key in found:
            found[key] = (found[key][0] + n, found[key][1] + word)
        else:
            found[key] = (n, word)
    return found


keys = st.sampled_from("abcd")
rows = st.tuples(keys, st.integers(-1, 3), st.sampled_from(["x", "y", "z", None]))


@given(
    st.dictionaries(keys, st.tuples(st.integers(0, 3), st.sampled_from("uvw"))),
    st.lists(st.lists(rows, max_size=6), min_size=1, max_size=3),
)
def test_every_change_meets_what_those_before_it_made(stored, blocks):
    spec = merging(appended)
    probe = fold([changes_of(block) for block in blocks], spec)
    base = table_of([("1", key, n, word) for key, (n, word) in stored.items()]).combine_chunks()
    batch = base.to_batches()[0] if stored else pa.RecordBatch.from_pylist([], SCHEMA)
    met = merge_batch(batch, batch.column("_hoodie_record_key"), probe, spec)
    is_new = ~np.isin(np.arange(len(probe.keys)), met.hits) & ~probe.is_delete
    shown = [*met.batch.to_pylist(), *probe.rows.filter(pa.array(is_new)).to_pylist()]
    found = {row["_hoodie_record_key"]: (row["n"], row["words"]) for row in shown}
    assert len(found) == len(shown)
    assert found == reference(stored, [one for block in blocks for one in block])
    changed = {key for block in blocks for key, _, _ in block}
    for row in shown:
        assert row["_hoodie_commit_time"] == ("2" if row["_hoodie_record_key"] in changed else "1")
    assert met.updated_count + met.deleted_count == len(met.hits)


@pytest.mark.parametrize("is_coded", [False, True])
def test_the_function_sees_the_tables_own_columns_without_dictionaries(is_coded):
    seen = []

    def newer_one(older, newer):
        seen.append((older.schema, newer.schema))
        return newer.select(["n"])

    spec = merging(newer_one)
    batch = table_of([("1", "a", 1, "u")]).combine_chunks().to_batches()[0]
    if is_coded:
        batch = batch.set_column(3, "words", batch.column(3).dictionary_encode())
    met = merge_batch(batch, batch.column(1), fold([changes_of([("a", 2, "x")])], spec), spec)
    assert met.batch.to_pylist() == [{**dict(zip(SCHEMA.names, ("2", "a", 2, "x"), strict=True))}]
    assert met.batch.schema == batch.schema
    assert seen == [(pa.schema([SCHEMA.field("n"), SCHEMA.field("words")]),) * 2]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda older, newer: older["n"] + newer["n"], "the merger failed: TypeError"),
        (lambda older, newer: None, "a row a pair"),
        (lambda older, newer: newer.slice(1), "a row a pair"),
        (lambda older, newer: newer.append_column("o", newer["n"]), "columns that the table has not"),
        (lambda older, newer: pa.table({"n": newer["words"]}), "another type"),
    ],
)
def test_a_function_that_fails_or_returns_no_rows_is_named(function, said):
    with pytest.raises(InvalidInput, match=said) as failure:
        fold([changes_of([("a", 1, "x"), ("a", 2, "y")])], merging(function))
    assert failure.value.values["name"] == "mine"


def test_a_merger_is_registered_by_name_whatever_its_case():
    register_merger("Some-Merger", appended, order_dependent=True)
    assert registered_merger("some-merger") == Merger(name="Some-Merger", function=appended, is_order_dependent=True)
    assert registered_merger("another") is None
    with pytest.raises(OptionError, match="needs a name"):
        register_merger("", appended)
    with pytest.raises(InvalidInput, match="is a function"):
        register_merger("x", "y")

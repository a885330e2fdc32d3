"""What Apache Hudi wrote is read as Apache Hudi read it: the same options, row by row, with meta columns."""

import itertools

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.golden.catalogue import kept_tables, spelled
from tests.golden.expecting import cases, differing, listed, refusing

from pyhudi.engine.local import LocalEngine
from pyhudi.engine.registry import engine_on
from pyhudi.errors import SnapshotExpired
from pyhudi.options import Settings
from pyhudi.queries.scan import Scan
from pyhudi.queries.source_options import plan_read
from pyhudi.schema.meta_fields import META_FIELDS
from pyhudi.table import open_table
from pyhudi.timeline.instant import Action

ALL = [(one, name, read) for one in kept_tables() for name, read in one.reads.items()]
READS = {
    f"{one.name} {name}": (one, read) for one, name, read in ALL if "rows" in read and not name.startswith("then ")
}
THEN = [pytest.param(one, id=one.name) for one in kept_tables() if "then" in one.script.reads]
CLEANED = [
    pytest.param(one, read["options"], id=f"{one.name} {name}")
    for one, name, read in ALL
    if "Cleaner cleaned up" in read.get("refused", "")
]


def read(path, options):
    state = open_table(str(path)).state
    plan = plan_read(state, Settings.of(options))
    return Scan(plan=plan, engine=LocalEngine(state.storage), engine_on=engine_on).to_arrow()


def compared(found, wanted, left_out=()):
    """Return both sides alike: where Apache Hudi shows no meta columns, ours are empty and left out."""
    names = [name for name in wanted["columns"] if name not in left_out]
    places = [place for place, name in enumerate(wanted["columns"]) if name not in left_out]
    rows = sorted(([row[place] for place in places] for row in wanted["rows"]), key=repr)
    ours = spelled(found.select(names))
    columns = {name: wanted["columns"][name] for name in names}
    return (ours["columns"], sorted(ours["rows"], key=repr)), (columns, rows)


def compared_but_for(known, found, wanted):
    """Return both sides without what is known to differ; the row that does is seen to be the one that is listed."""
    if known.rows_as:
        return compared(found, READS[known.rows_as][1], left_out=META_FIELDS)
    if not known.row:
        return compared(found, wanted, left_out=[known.column])
    has_id = pc.equal(found["id"], known.row["id"])
    [shown] = found.filter(has_id).to_pylist()
    assert known.row.items() <= shown.items()
    place = [*wanted["columns"]].index("id")
    others = [row for row in wanted["rows"] if row[place] != known.row["id"]]
    return compared(found.filter(pc.invert(has_id)), wanted | {"rows": others})


@pytest.mark.parametrize(("golden", "wanted", "refused"), cases("reads", READS, *zip(*READS.values(), strict=True)))
def test_the_rows_are_those_that_apache_hudi_read(request, unpacked, golden, wanted, refused):
    with refusing(refused):
        found = read(unpacked(golden), wanted["options"])
    known = differing().get(request.node.callspec.id)
    ours, theirs = compared(found, wanted)
    assert (ours == theirs) is (known is None)
    if known is not None:
        ours, theirs = compared_but_for(known, found, wanted)
    assert ours == theirs


@pytest.mark.parametrize(("golden", "options"), CLEANED)
def test_a_moment_that_apache_hudi_refuses_is_whole_or_refused(unpacked, golden, options):
    table = open_table(str(unpacked(golden)))
    kept = {one.requested_time for one in table.timeline.instants if one.action is Action.SAVEPOINT}
    if options["as.of.instant"] in kept:  # ours to read: it is what a savepoint is for
        assert {"id": "a", "ts": 2} in read(unpacked(golden), options).select(["id", "ts"]).to_pylist()
        return
    try:
        found = read(unpacked(golden), options)
    except SnapshotExpired:
        return
    # Apache Hudi goes by the commits that the cleaner retains, and cannot see that it took nothing of this one.
    assert max(found["_hoodie_commit_time"].to_pylist()) == options["as.of.instant"]
    assert found["city"].unique().to_pylist() == table.scan(["city"]).to_arrow()["city"].unique().to_pylist()


def read_by_name(path, options):
    return open_table(str(path)).scan(as_of=options["as.of.instant"], meta=True).to_arrow()


@pytest.mark.parametrize("golden", THEN)
def test_a_moment_is_what_apache_hudi_read_then_or_it_is_refused(unpacked, golden):
    path = unpacked(golden)
    then = [wanted for name, wanted in golden.reads.items() if name.startswith("then ")]
    answered = 0
    for wanted, ask in itertools.product(then, (read, read_by_name)):
        try:
            found = ask(path, wanted["options"])
        except SnapshotExpired:
            continue
        answered += 1
        ours, theirs = compared(found, wanted)
        assert ours == theirs, wanted["options"]
    assert 2 <= answered < 2 * len(then)


def test_only_reads_that_there_are_are_listed():
    assert listed("reads").keys() | differing().keys() <= READS.keys()


def test_rows_that_differ_are_seen():
    one, other = pa.table({"id": ["a"], "n": pa.array([1], pa.int32())}), pa.table({"id": ["a"], "n": [1]})
    assert spelled(one) != spelled(other)
    assert spelled(pa.table({"n": [0.0]})) != spelled(pa.table({"n": [-0.0]}))

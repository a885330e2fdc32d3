"""For each fault that there was, a short life that meets it: no new draw moves it, and it takes no search.

`python -m tests.lives --fault NAME` searches drawn lives for a fault, and shrinks what it finds. Start at `STORED`.
"""

from collections.abc import Mapping
from typing import Any, Final

from tests.lives.change_logs import DMS, MYSQL, POSTGRES, ordering_of
from tests.lives.life import Life
from tests.lives.rows import ADDED, DECIMALS, UNAVAILABLE, Row, Where
from tests.lives.setting import BY_PARTITION, OWN_SHARDS, Setting
from tests.lives.verbs import Clause, Step
from tests.lives.verbs.indexing import CreateIndex, LoseFile
from tests.lives.verbs.recovery import Restore, Rollback, RollbackLate, Savepoint
from tests.lives.verbs.rewriting import Merge, Update
from tests.lives.verbs.services import Archive, Compact
from tests.lives.verbs.statements import SqlInsert, SqlUpdate
from tests.lives.verbs.step import STREAMED
from tests.lives.verbs.writing import AddColumn, BulkInsert, DeleteKeys, DeleteWhere, Insert, Upsert, WidenColumn


def row(key: str = "a", **others: object) -> Row:
    """Return a row of one partition."""
    return {"k": key, "n": 1, "p": "x", "q": 1, "ts": 1, "v": 1.0, "s": "u", "d": None, **others}


def upsert(key: str = "a", **others: object) -> Step:
    """Return the upsert of one row."""
    return Upsert(rows=(row(key, **others),))


def logged(*steps: Step, partition: tuple[str, ...] = ("p",), **others: Any) -> Life:
    """Return a life of a merge-on-read table."""
    writes = (("hoodie.index.type", "SIMPLE"),)
    return Life(0, Setting(table_type="mor", version=9, partition=partition, writes=writes, **others), steps)


def based(*steps: Step, **writes: object) -> Life:
    """Return a life of a copy-on-write table."""
    options = tuple((f"hoodie.{name.replace('_', '.')}", value) for name, value in writes.items())
    return Life(0, Setting(table_type="cow", version=9, writes=options), steps)


def indexed(*steps: Step, index: CreateIndex, table_type: str = "cow") -> Life:
    """Return a life of a table that has a record index, and another one, before its steps."""
    writes = (("hoodie.index.type", "GLOBAL_SIMPLE"), ("hoodie.metadata.enable", True))
    kept = Setting(table_type=table_type, version=9, index="GLOBAL_SIMPLE", is_indexed=True, writes=writes)
    return Life(0, kept, (upsert("z"), CreateIndex(), *([] if index == CreateIndex() else [index]), *steps))


def by_partition(*steps: Step, table_type: str = "cow") -> Life:
    """Return a life of a table that finds keys by the record index of each partition."""
    writes = (("hoodie.index.type", BY_PARTITION), ("hoodie.metadata.enable", True), (OWN_SHARDS, 2))
    return Life(0, Setting(table_type=table_type, version=9, index=BY_PARTITION, is_indexed=True, writes=writes), steps)


def captured(payload: str, *steps: Step, version: int = 9, table_type: str = "cow") -> Life:
    """Return a life of a table that merges by a payload class which reads a change log."""
    setting = Setting(
        table_type=table_type,
        version=version,
        ordering=ordering_of(payload, version) or ("ts",),
        is_event_time=payload != DMS,
        fills=payload == POSTGRES,
        payload=payload,
        writes=(("hoodie.index.type", "SIMPLE"),),
    )
    return Life(0, setting, steps)


def event(operation: str = "u", **others: object) -> Step:
    """Return the upsert of a row of a change log."""
    return upsert(_change_operation_type=operation, **others)  # type: ignore[arg-type]


BUCKETS: Final = ("hoodie.index.type", "hoodie.bucket.index.num.buckets")
STORED: Final[Mapping[str, Life]] = {
    "a key is found where a log deletes it": logged(
        upsert(),
        DeleteKeys(keys=(("a",),)),
        BulkInsert(rows=(row(ts=2),)),
        Merge(rows=(row(ts=3),), clauses=(Clause(kind="insert all", where=Where("k", "in", ("a", "b"))),)),
        partition=(),
        is_event_time=False,
    ),
    "a deleted row comes back behind an older one": logged(
        upsert(ts=28), DeleteKeys(keys=(("a",),)), upsert(ts=13, v=2.0)
    ),
    "a payload class of a new table is passed over": logged(
        upsert(d=DECIMALS[0]), upsert(ts=2, d=None), partition=(), fills=True
    ),
    "a restore that is refused drops the metadata table": based(
        upsert(), upsert(), Savepoint(back=0), Restore(back=1), metadata_enable=True
    ),
    "a rollback of what is pending takes a commit": logged(upsert(), RollbackLate()),
    "the columns of an archived moment are older ones": based(
        upsert(),
        AddColumn(rows=({**row("b"), ADDED.name: 1},)),
        *(upsert(key) for key in "abcdefg"),
        Archive(),
        archive_automatic=True,
        clean_automatic=False,
        keep_min_commits=4,
        keep_max_commits=5,
    ),
    "a merge takes nulls of partition columns for different": logged(
        upsert(p=None),
        Merge(
            rows=(row(p=None, ts=2),),
            equated=("p",),
            clauses=(Clause(kind="update", set=(("v", 3.0),), where=Where("ts", ">=", 0)),),
        ),
        partition=("p", "q"),
        has_null_partitions=True,
    ),
    "bounds of decimals are rounded": based(
        Insert(rows=(row(d=DECIMALS[0]),)), DeleteWhere(where=Where("d", "=", DECIMALS[0])), metadata_enable=True
    ),
    "a key is not spelled as it is stored": logged(
        Insert(rows=(row(),)), DeleteKeys(keys=(("a",),)), partition=("p", "q")
    ),
    "a condition beside computed values is passed over": based(
        Upsert(rows=(row("a"), row("b", v=2.0))),
        SqlUpdate(set=(("v", 5.0),), where=Where("v", "=", 2.0), is_computed=True),
    ),
    "rows are inserted by place where names are given": based(SqlInsert(rows=(row(),))),
    "the record index keeps keys that were deleted": indexed(upsert(), DeleteKeys(keys=(("a",),)), index=CreateIndex()),
    "the record index passes over what logs delete": indexed(
        upsert(), DeleteKeys(keys=(("a",),)), index=CreateIndex(), table_type="mor"
    ),
    "the record index passes over new keys in logs of buckets": Life(
        0,
        Setting(
            table_type="mor",
            version=9,
            index="BUCKET",
            partition=(),
            is_indexed=True,
            writes=((BUCKETS[0], "BUCKET"), (BUCKETS[1], 1), ("hoodie.metadata.enable", True)),
        ),
        (upsert(), CreateIndex(), upsert("b")),
    ),
    "a key of another partition is taken for one of the row's": by_partition(
        upsert(p="x"), upsert("b", p="y"), upsert(ts=2, p="y"), table_type="mor"
    ),
    "a key is looked for in one file group of its partition's record index": by_partition(
        Upsert(rows=tuple(row(key) for key in "abcd")), Upsert(rows=tuple(row(key, ts=2) for key in "abcd"))
    ),
    "a secondary index keeps the values that were changed": indexed(
        upsert(), upsert(ts=2, s="w"), index=CreateIndex("secondary", "s")
    ),
    "a secondary index has the values of base files alone": indexed(
        upsert(), upsert(ts=2, s="w"), index=CreateIndex("secondary", "s"), table_type="mor"
    ),
    "a bloom filter of an expression lacks a value": indexed(
        Upsert(rows=(row(), row("b", s="w"))),
        index=CreateIndex("expression", "lower(s)", "bloom_filters"),
    ),
    "the bounds of an expression leave a value out": indexed(
        Upsert(rows=(row(s="w"), row("b", p="y", s="w"))),
        index=CreateIndex("expression", "lower(s)", "column_stats"),
    ),
    "a bloom filter of an expression leaves out what logs have": indexed(
        Upsert(rows=(row(), row("b", p="y"))),
        upsert(ts=2, s="w"),
        index=CreateIndex("expression", "lower(s)", "bloom_filters"),
        table_type="mor",
    ),
    "the bounds of an expression in a partition leave a file out": indexed(
        Upsert(rows=(row(), row("b", p="y"))),
        upsert(ts=2, s="w"),
        upsert("b", p="y", ts=2, s="w"),
        index=CreateIndex("expression", "lower(s)", "column_stats"),
    ),
    "the bounds of an expression in a partition are those of its newest files": indexed(
        BulkInsert(rows=(row(s="w"),)), index=CreateIndex("expression", "lower(s)", "column_stats")
    ),
    "the bounds of a partition leave a file out": indexed(
        Upsert(rows=(row(), row("b", p="y"))), upsert(n=7, ts=7), index=CreateIndex()
    ),
    "the bounds of a partition are those of its newest files": indexed(
        Upsert(rows=(row(), row("b", p="y"))), BulkInsert(rows=(row("c", n=7, ts=7),)), index=CreateIndex()
    ),
    "a log of an index that is gone is not missed": indexed(
        upsert("b", s="w"), LoseFile("secondary_index_s"), index=CreateIndex("secondary", "s")
    ),
    "a base file of an index that is gone is not missed": indexed(
        Upsert(more=(("hoodie.metadata.compact.max.delta.commits", 1),), rows=(row("b"),)),
        LoseFile("record_index", is_base=True),
        index=CreateIndex(),
    ),
    "a service that ran again is taken back by the rollback of its first run": logged(
        upsert(), upsert(ts=2, v=2.0), Compact(), Rollback(), Compact(), Rollback()
    ),
    "bytes compare without sign": Life(
        0, Setting(table_type="cow", version=9, ordering=("b",)), (upsert(b=b"\x7f"), upsert(b=b"\x80", v=2.0))
    ),
    "an update keeps a row that says it is a delete": captured(
        DMS, upsert(Op="I"), Update(set=(("Op", "D"),), where=Where("k", "=", "a"))
    ),
    "an update at the place of the stored row is lost": captured(
        MYSQL,
        event(_event_seq="1.9"),
        Update(set=(("v", 5.0),), where=Where("k", "=", "a")),
        version=8,
        table_type="mor",
    ),
    "a stored row comes back behind the row that replaced it": captured(
        DMS,
        upsert(ts=9, Op="I"),
        upsert(ts=3, v=2.0, Op="U"),
        upsert(ts=5, Op="D"),
        version=8,
        table_type="mor",
    ),
    "places in a binary log compare as texts": captured(
        MYSQL, event(_event_seq="1.9"), event(_event_seq="1.10", v=2.0), version=8
    ),
    "a text that a change log does not know is stored": captured(
        POSTGRES, event(_event_lsn=1), event(_event_lsn=2, s=UNAVAILABLE)
    ),
    "a column does not become wider": based(
        upsert(),
        AddColumn(rows=(row("b", x=7),)),
        WidenColumn(rows=(row("c", x=2**40),)),
    ),
    "of rows that wait on disk the first are left out": based(
        Upsert(more=(STREAMED,), rows=tuple(row(key) for key in "abcdefgh"))
    ),
}

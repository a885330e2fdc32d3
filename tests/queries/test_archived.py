"""Moments whose own newest commit was archived are read as any other, unless a clean took files of them."""

import random

import pyarrow as pa
import pytest
from tests.building import TableBuilder, sorted_rows, trip, trips
from tests.queries.test_expired import AS_OF, OPTIONS, move_to_the_archive, options_read, states_of
from tests.timeline.test_history import archive

from pyhudi.errors import InstantNotFound, SnapshotExpired
from pyhudi.timeline.active import load_timeline


@pytest.mark.parametrize("version", [8, 9])
def test_a_time_has_expired_where_the_archive_does_not_tell_what_its_commit_wrote(engine, version):
    table, (first, *_) = states_of(engine, version)
    for name in table.state.storage.list_names(table.state.layout.timeline_path):
        if name.startswith(first.instant):
            table.state.storage.delete(f"{table.state.layout.timeline_path}/{name}")
    archive(table.state, (first.instant, first.completion_time, "commit", b"", b"", 1))
    for read in (
        table.scan,
        lambda as_of: table.changes(until=as_of),
        lambda as_of: options_read(table, **{AS_OF: as_of}),
    ):
        for time in (first.instant, first.completion_time):
            with pytest.raises(SnapshotExpired, match="archived"):
                read(as_of=time)
    with pytest.raises(InstantNotFound):
        table.scan(as_of="2020-01-01")


def test_an_archived_moment_has_the_columns_of_its_time(engine, version):
    table, done = states_of(engine, version)
    wider = trips(trip("a", ts=4)).append_column("tip", pa.array([1.0]))
    done += [table.upsert(engine.rows(wider), options=OPTIONS) for _ in range(2)]
    move_to_the_archive(table, *done[:4])
    for number, one in enumerate(done):
        for found in (
            table.scan(as_of=one.instant),
            table.changes(until=one.instant),
            table.changes(after="2020-01-01", until=one.instant),
            options_read(table, **{AS_OF: one.instant}),
        ):
            assert ("tip" in found.schema.names) is (number > 2)


def moments(table, done, columns):
    """Return what the table was after a commit, asked in two ways; nothing where a clean took files of it."""
    try:
        asked = table.scan(as_of=done.instant, columns=columns), table.changes(until=done.instant, columns=columns)
    except SnapshotExpired as error:
        assert "cleaned" in error.message  # noqa: PT017 - it may be refused, so that no test waits for it
        return []
    return [one.to_arrow() for one in asked]


@pytest.mark.parametrize(("version", "table_type", "seed"), [(6, "mor", 2), (8, "cow", 1), (9, "mor", 2)])
def test_every_moment_is_what_the_table_was_then_or_a_clean_took_files_of_it(version, table_type, seed):
    builder, luck, past = TableBuilder(table_type), random.Random(seed), []
    table = builder.create(version=version)
    kept = {"hoodie.clean.commits.retained": 6, "hoodie.cleaner.commits.retained": 6}
    options = {**OPTIONS, "hoodie.keep.min.commits": 2, "hoodie.keep.max.commits": 3, **kept}
    options |= {"hoodie.clean.automatic": False, "hoodie.compact.inline": True}
    options["hoodie.compact.inline.max.delta.commits"] = 3
    for number in range(18):
        city = luck.choice(["sf", "oslo"])
        rows = [trip(key, city, ts=number + 1) for key in luck.sample("abcdef", 3)]
        write = table.insert_overwrite if luck.random() < 0.2 else table.upsert
        done = write(builder.rows(trips(*rows)), options=options)
        past.append((done, sorted_rows(table.scan(columns=["uuid", "city", "ts"]).to_arrow())))
        if number == 11:
            table.clean(options=kept)
    active, answers = load_timeline(table.state).completed, {True: 0, False: 0}
    for number, (done, rows) in enumerate(past):
        for found in moments(table, done, ["uuid", "city", "ts"]):
            answers[done.instant in active] += 1
            assert sorted_rows(found) == rows, number
        assert number < 11 or moments(table, done, None), number
    assert answers[False] > 6
    assert answers[True]

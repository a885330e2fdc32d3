"""Queries by chance on Spark: with frames in place of tables, and without what WHERE leaves out, they give the same."""

import os
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from tests.amounts import amount
from tests.statements.generating import DATABASE, TABLES, VIEW, query_of, rows_of
from tests.statements.scraps import parts_of, scraps, tokens_of

import pyhudi
import pyhudi.spark
from pyhudi.predicate import mask, parse
from pyhudi.queries.snapshot import narrowed as narrowed_read
from pyhudi.spark import joins, narrowing
from pyhudi.statements.conditions import columns_named, fitting_condition, pushed_condition
from pyhudi.statements.references import references
from pyhudi.statements.rewrite import Replacement, rewritten
from pyhudi.statements.tokens import Dialect, tokenize_statement

QUERIES = amount(100, 5_000, 5_000, everyday=40)
LAKE_QUERIES = amount(30, 500, 5_000, everyday=10)
SCRAPS = amount(500, 10_000, 20_000, everyday=200)
LIMIT_S = amount(300, 7_200, 7_200)
LAKE = "judged_lake"
LEAST_REPLACED = 0.7
"""The part of all queries with tables that must run with frames; the rest runs as it is."""
SPARKS_FAULT = "No CTERelationDef found"
"""What Spark 4.3 says now and then of a query with WITH in a subquery, over plain tables too, and not of each run."""
IS_CONNECT = bool(os.environ.get("PYHUDI_TEST_CONNECT"))

_QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}


@dataclass
class Judge:
    """A session with the tables as Parquet, and their rows."""

    session: object
    rows: dict[str, pa.Table]
    tally: Counter = field(default_factory=Counter)

    def run(self, text, **frames):
        """Return the rows in order, or the class of the error."""
        try:
            found = self.session.sql(text, **frames).toArrow().to_pylist()
        except PySparkException as error:
            return error.getCondition()
        except Exception as error:
            if SPARKS_FAULT not in str(error):
                raise
            return SPARKS_FAULT
        return sorted([tuple(row.values()) for row in found], key=repr)

    def frame(self, tokens, one):
        """Return what a scan of the reference's table would give."""
        rows = self.rows[one.name.parts[-1].lower()]
        pushed = pushed_condition(tokens, one)
        fitted = fitting_condition(pushed, rows.schema) if pushed else None
        columns = columns_named(tokens, one)
        if fitted is not None:
            rows = rows.filter(mask(parse(fitted), rows))
        if columns is not None:
            kept = [name for name in rows.column_names if name.lower() in columns]
            rows = rows.select(kept or rows.column_names[:1])
        self.tally.update(filtered=fitted is not None, narrowed=columns is not None)
        return self.session.createDataFrame(rows)

    def is_table(self, one):
        parts = tuple(part.lower() for part in one.name.parts)
        return one.arguments is None and parts != (VIEW,)

    def replaced(self, text):
        """Return what the query gives with frames in place of its tables; None where that cannot be written or run."""
        tokens = tokenize_statement(text)
        found = [one for one in references(tokens) if self.is_table(one)]
        if not found:
            return None
        self.tally["with tables"] += 1
        replacements = {one: Replacement(f"h{place}") for place, one in enumerate(found)}
        new = rewritten(text, replacements)
        if new is None:
            return None
        result = self.run(new, **{replacements[one].name: self.frame(tokens, one) for one in found})
        if isinstance(result, str):
            return None
        self.tally["replaced"] += 1
        return result


@pytest.fixture(scope="module")
def quick(spark):
    """Let Spark run small queries without making classes for them."""
    before = {key: spark.conf.get(key, None) for key in _QUICK}
    for key, value in _QUICK.items():
        spark.conf.set(key, value)
    yield
    for key, value in before.items():
        spark.conf.unset(key) if value is None else spark.conf.set(key, value)


@pytest.fixture(scope="module")
def judge(spark, quick):
    before = spark.catalog.currentDatabase()
    spark.sql(f"create database if not exists {DATABASE}")
    spark.catalog.setCurrentDatabase(DATABASE)
    rows = {name: rows_of(kinds, place) for place, (name, kinds) in enumerate(TABLES.items())}
    for name, table in rows.items():
        spark.createDataFrame(table).coalesce(1).write.format("parquet").mode("overwrite").saveAsTable(
            f"{DATABASE}.`{name}`"
        )
    spark.createDataFrame(rows_of(TABLES[VIEW], 5)).createOrReplaceTempView(VIEW)
    yield Judge(spark, rows)
    spark.catalog.dropTempView(VIEW)
    spark.catalog.setCurrentDatabase(before)
    spark.sql(f"drop database {DATABASE} cascade")


@pytest.mark.timeout(LIMIT_S)
def test_frames_in_place_of_tables_change_no_rows(judge):
    for seed in range(QUERIES):
        text = query_of(seed, seed % 4).text
        found = judge.replaced(text)
        if found is not None:
            given = judge.run(text)
            assert given in (found, SPARKS_FAULT), text
            judge.tally.update(rows=len(given) > 0)
    tally = judge.tally
    assert tally["replaced"] > LEAST_REPLACED * tally["with tables"], tally
    assert tally["rows"] > 0.5 * tally["replaced"], tally
    assert tally["filtered"] > 0.05 * QUERIES, tally
    assert tally["narrowed"] > 0.2 * QUERIES, tally


PARTITIONS = {"trips": "city", "drivers": "name", "cities": "city", "order": "id"}
LOGGED = {"trips": ("fare", "driver is not null"), "cities": ("people", "people > 0")}
"""Tables that are merged on read: a column whose values logs have as well, and in which rows."""


@pytest.fixture
def lake(judge, tmp_path, monkeypatch):
    """Have the same rows in Hudi tables of another database, which a hooked session reads: what joins leave of them."""
    monkeypatch.setattr(narrowing, "LEAST_BYTES", 0)
    monkeypatch.setattr(joins, "_PART", 0)
    spark = judge.session
    pyhudi.spark.install(spark)
    spark.sql(f"CREATE DATABASE {LAKE}")
    for name, table in judge.rows.items():
        said = {"hoodie.datasource.write.table.type": "MERGE_ON_READ" if name in LOGGED else "COPY_ON_WRITE"}
        folder = str(tmp_path / name)
        pyhudi.write_table(folder, table, name=name, partition_by=[PARTITIONS[name]], options=said)
        if name in LOGGED:
            made, (column, where) = pyhudi.open_table(folder), LOGGED[name]
            made.update(set={column: column}, where=where)
            assert made.scan().plan.merged
        spark.sql(f"CREATE TABLE {LAKE}.`{name}` USING hudi LOCATION '{tmp_path / name}'")
    yield LAKE
    spark.sql(f"DROP DATABASE {LAKE} CASCADE")
    spark.catalog.setCurrentDatabase(DATABASE)
    pyhudi.spark.uninstall()


@pytest.mark.timeout(LIMIT_S)
def test_hudi_tables_give_the_rows_of_parquet_tables(judge, lake, monkeypatch):
    texts = [query_of(seed, seed % 4).text for seed in range(LAKE_QUERIES)]
    # A list of columns behind an alias would need the columns that Hudi adds as well.
    narrowed = Counter()
    monkeypatch.setattr(narrowing, "narrowed", partial(counted, narrowed))
    for text in [text for text in texts if "(r0" not in text]:
        judge.session.catalog.setCurrentDatabase(DATABASE)
        given = judge.run(text)
        judge.session.catalog.setCurrentDatabase(lake)
        found = judge.run(re.sub(DATABASE, lake, text, flags=re.IGNORECASE))
        assert found == given or SPARKS_FAULT in (found, given), text
    assert narrowed["reads"] or IS_CONNECT or LAKE_QUERIES < 500


def counted(tally, plan, condition):
    """Narrow a read, and count it if that leaves anything out."""
    left = narrowed_read(plan, condition)
    tally.update(reads=len(left.slices) < len(plan.slices))
    return left


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.skipif(IS_CONNECT, reason="Spark's lexer is asked in its own process")
def test_sparks_lexer_cuts_queries_and_scraps_of_sql_as_we_do(spark):
    for seed in range(QUERIES):
        query = query_of(seed, seed % 4).text
        assert lexed(spark, query) == parts_of(tokenize_statement(query)[:-1]), query
    cut = 0
    for seed in range(SCRAPS):
        text = scraps(seed)
        ours = tokens_of(text, Dialect.SPARK)
        theirs = None if "/*+" in text else lexed(spark, text)  # hints are tokens of Spark
        if ours is not None and theirs is not None:
            assert theirs == parts_of(ours), text
            cut += 1
    assert cut > 0.2 * SCRAPS, cut


def lexed(spark, text):
    """Return where Spark finds strings and quoted names, and the places of all that is no comment and no space.

    None where it finds what cannot be: something that does not end, or `*/` outside of a comment.
    """
    parser = spark._jvm.org.apache.spark.sql.catalyst.parser
    stream = spark._jvm.org.antlr.v4.runtime.CharStreams.fromString(text)
    lexer = parser.SqlBaseLexer(parser.UpperCaseCharStream(stream))
    lexer.removeErrorListeners()
    names, quoted, covered = lexer.getVocabulary(), [], set()
    for token in lexer.getAllTokens():
        name, start, end = names.getSymbolicName(token.getType()), token.getStartIndex(), token.getStopIndex() + 1
        is_open = name == "BRACKETED_COMMENT" and not text[start:end].endswith("*/")
        if is_open or name in ("UNRECOGNIZED", "UNCLOSED_COMMENT", "HENT_END"):
            return None
        if name == "BEGIN_DOLLAR_QUOTED_STRING":
            quoted.append((start, None))
        elif name == "END_DOLLAR_QUOTED_STRING":
            quoted[-1] = (quoted[-1][0], end)
        elif name in ("STRING_LITERAL", "DOUBLEQUOTED_STRING", "BACKQUOTED_IDENTIFIER"):
            quoted.append((start, end))
        if token.getChannel() == 0:
            covered.update(range(start, end))
    return None if any(end is None for _, end in quoted) else (quoted, covered)


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.skipif(IS_CONNECT, reason="Spark's parser is asked in its own process")
def test_sparks_parser_finds_the_same_tables(spark):
    parser = spark._jsparkSession.sessionState().sqlParser()
    relation = re.compile(r"'UnresolvedRelation \[([^\]]*)\]")
    for seed in range(10 * QUERIES):
        made = query_of(seed, seed % 4, is_timed=seed % 2 == 0)
        plan = parser.parsePlan(made.text).toString()
        theirs = Counter(tuple(found.lower().split(", ")) for found in relation.findall(plan))
        tables = [one.name.parts for one in references(tokenize_statement(made.text)) if one.arguments is None]
        ours = Counter(tuple(part.lower() for part in parts) for parts in tables)
        assert not ours - theirs, made.text
        assert all(len(parts) == 1 for parts in theirs - ours), made.text  # names of WITH

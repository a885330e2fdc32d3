import datetime
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.predicate.cases import CASES

from pyhudi.errors import ExpressionError
from pyhudi.predicate import (
    Expression,
    Logical,
    Not,
    Operator,
    all_of,
    any_of,
    binary,
    column,
    literal,
    parse,
    to_expression,
)
from pyhudi.predicate.model import require_shallow, rewrite, walk

TREES = [parse(case[0]) for case in CASES]


def test_trees_pickle_and_hash() -> None:
    for tree in TREES:
        assert pickle.loads(pickle.dumps(tree)) == tree
    assert len(set(TREES)) <= len(TREES)


def test_a_pyarrow_expression_pickles_and_hashes() -> None:
    one, other = to_expression(pc.field("a") > 1), to_expression(pc.field("a") > 1)
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert one != to_expression(pc.field("a") > 2)


def test_every_node_is_an_expression() -> None:
    assert all(isinstance(node, Expression) for tree in TREES for node in walk(tree))


def test_rewriting_with_nothing_gives_the_same_tree() -> None:
    assert all(rewrite(tree, lambda node: node) == tree for tree in TREES)


def test_terms_are_joined_flat() -> None:
    a, b, c = map(column, "abc")
    assert all_of(all_of(a, b), c) == Logical(is_and=True, terms=(a, b, c))
    assert any_of(a) == a
    assert all_of() == literal(True)
    assert any_of() == literal(False)


def test_literals_have_the_types_of_their_text() -> None:
    assert literal(1).type == pa.int32()
    assert literal(2**40).type == pa.int64()
    assert literal(np.int64(7)) == literal(7)
    assert literal(np.float64(1.5)) == literal(1.5)
    assert literal(True).type == pa.bool_()
    assert literal(None).type == pa.null()
    assert literal(Decimal("0.05")).type == pa.decimal128(2, 2)
    assert literal(Decimal("1E+3")).type == pa.decimal128(4, 0)
    assert literal(datetime.datetime(2024, 1, 1)).type == pa.timestamp("us")
    zoned = datetime.datetime(2024, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    assert literal(zoned).value == datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    for value in ([1], object(), Decimal("NaN"), 10**40):
        with pytest.raises(ExpressionError):
            literal(value)


def test_a_comparison_has_a_mirror_image() -> None:
    assert Operator.LESS.mirrored is Operator.GREATER
    assert Operator.EQUAL.mirrored is Operator.EQUAL
    assert not Operator.ADD.is_comparison
    assert binary("<", column("a"), literal(1)).operator is Operator.LESS


def test_a_tree_that_is_too_deep_is_refused() -> None:
    tree: Expression = column("a")
    for _ in range(200):
        tree = Not(value=tree)
    with pytest.raises(ExpressionError, match="too deeply"):
        require_shallow(tree)

"""Taking conditions apart: terms of an `and`, equal columns of a join, other names.

Pure. Start at `conjuncts`; a merge begins with `equalities`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyhudi.predicate.model import Binary, Column, Expression, Logical, Operator, all_of, rewrite, walk

__all__ = ["Equalities", "conjuncts", "equalities", "qualifiers_of", "requalify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Equalities:
    """A join condition in two: columns that equal expressions of the other side, and what is left.

    Both sides of a pair have lost their qualifier; the residual keeps it.
    """

    pairs: tuple[tuple[Column, Expression], ...]
    residual: Expression | None = None


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """Return the terms that must all be true."""
    return expression.terms if isinstance(expression, Logical) and expression.is_and else (expression,)


def equalities(expression: Expression, left: str = "t", right: str = "s") -> Equalities:
    """Find the terms `t.column = expression of s`, written either way round.

    `<=>` is none of them, because it also joins nulls.
    """
    pairs: list[tuple[Column, Expression]] = []
    residual: list[Expression] = []
    for term in conjuncts(expression):
        pair = _pair(term, left, right)
        if pair is None:
            residual.append(term)
        else:
            pairs.append(pair)
    return Equalities(pairs=tuple(pairs), residual=all_of(*residual) if residual else None)


def qualifiers_of(expression: Expression) -> frozenset[str]:
    """Return the first part of each name that has several, in lower case; the empty one stands for bare names."""
    columns = (node for node in walk(expression) if isinstance(node, Column))
    return frozenset(node.parts[0].lower() if len(node.parts) > 1 else "" for node in columns)


def requalify(expression: Expression, mapping: Mapping[str, str]) -> Expression:
    """Change the qualifiers of names: `{"t": ""}` drops one, `{"": "t"}` gives one to bare names."""

    def renamed(node: Expression) -> Expression:
        if not isinstance(node, Column):
            return node
        qualifier = node.parts[0].lower() if len(node.parts) > 1 else ""
        if qualifier not in mapping:
            return node
        rest = node.parts[1:] if qualifier else node.parts
        return Column(parts=(mapping[qualifier], *rest) if mapping[qualifier] else rest)

    return rewrite(expression, renamed)


def _pair(term: Expression, left: str, right: str) -> tuple[Column, Expression] | None:
    if not isinstance(term, Binary) or term.operator is not Operator.EQUAL:
        return None
    for one, other in ((term.left, term.right), (term.right, term.left)):
        if isinstance(one, Column) and qualifiers_of(one) == {left} and qualifiers_of(other) == {right}:
            bare = requalify(one, {left: ""})
            if isinstance(bare, Column):
                return bare, requalify(other, {right: ""})
    return None

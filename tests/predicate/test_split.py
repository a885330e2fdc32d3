from pyhudi.predicate import (
    column,
    conjuncts,
    equalities,
    parse,
    qualifiers_of,
    requalify,
)


def test_conjuncts_are_the_terms_of_an_and() -> None:
    assert conjuncts(parse("a and (b and c) and (d or e)")) == tuple(map(parse, ("a", "b", "c", "d or e")))
    assert conjuncts(parse("a or b")) == (parse("a or b"),)


def test_equalities_are_found_either_way_round() -> None:
    found = equalities(parse("t.a = s.x + 1 and S.y = T.b and t.c > s.z and t.d <=> s.d and t.e = 1"))
    assert found.pairs == ((column("a"), parse("x + 1")), (column("b"), column("y")))
    assert found.residual == parse("t.c > s.z and t.d <=> s.d and t.e = 1")


def test_without_a_rest_there_is_no_residual() -> None:
    assert equalities(parse("t.a = s.a")).residual is None
    assert equalities(parse("t.a = t.b")).pairs == ()
    assert equalities(parse("a = s.a")).pairs == ()
    assert equalities(parse("t.a + 1 = s.a")).pairs == ()


def test_other_qualifiers_may_be_named() -> None:
    assert equalities(parse("target.a = source.a"), "target", "source").pairs == ((column("a"), column("a")),)


def test_qualifiers_are_told() -> None:
    assert qualifiers_of(parse("T.a = s.b and c = 1")) == {"t", "s", ""}
    assert qualifiers_of(parse("1 = 2")) == frozenset()


def test_names_are_requalified() -> None:
    assert requalify(parse("t.a = s.b"), {"t": "", "s": "src"}) == parse("a = src.b")
    assert requalify(parse("a = s.b"), {"": "t"}) == parse("t.a = s.b")

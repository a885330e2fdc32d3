import pytest

from pyhudi.statements.relation_reader import NotUnderstoodError, RelationReader
from pyhudi.statements.relations import Block, Span
from pyhudi.statements.tokens import tokenize_statement

BLOCK = Block(tokens=Span(0, 0), where=None, names=(), is_simple=True)


def test_a_sample_stands_between_what_is_replaced_and_the_alias():
    text = "a.b version as of 3 tablesample system (10 percent) repeatable (7) as c where"
    reader = RelationReader(tokenize_statement(text))
    found = reader.named_relation()
    one = found.reference(block=BLOCK)
    assert (found.is_sampled, found.visible_name) == (True, "c")
    assert text[: one.span.end] == "a.b version as of 3"
    assert text[: one.alias_place].endswith("repeatable (7)")
    assert reader.next.is_word("where")


def test_the_visible_name_is_the_alias_or_the_last_part():
    for text, name in (("A.`B c`", "b c"), ("a D", "d")):
        found = RelationReader(tokenize_statement(text)).named_relation()
        assert found.visible_name == found.reference(block=BLOCK).visible_name == name


@pytest.mark.parametrize("text", ["a as 3", "a timestamp as of", "f(1", "a as"])
def test_what_cannot_be_read_is_not_understood(text):
    with pytest.raises(NotUnderstoodError):
        RelationReader(tokenize_statement(text)).named_relation()

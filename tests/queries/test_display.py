from pyhudi.queries.display import facts_html


def test_whatever_names_and_values_hold_is_shown_as_text():
    shown = facts_html("<b>", {"a&b": "<script>alert(1)</script>", "n": 3})
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert "<caption>&lt;b&gt;</caption>" in shown
    assert "a&amp;b" in shown

import json

from pyhudi.demo.report import Claim, Report


def test_a_claim_holds_when_both_numbers_are_the_same():
    assert Claim(what="rows", got=3, expected=3).holds
    assert not Claim(what="rows", got=3, expected=4).holds


def test_json_is_the_only_output_when_it_is_wanted(capsys):
    report = Report(as_json=True)
    report.say("hello")
    report.table("t", ["a", "b"], [[1, "x"]])
    report.claim("rows", 1, 2)
    report.close(engine="local")
    document = json.loads(capsys.readouterr().out)
    assert document == {"engine": "local", "t": [{"a": 1, "b": "x"}], "claims": 1, "broken": ["rows"]}
    assert not report.is_right


def test_a_broken_claim_shows_both_numbers(capsys):
    report = Report(as_json=False)
    report.claim("rows", 1000, 2000)
    report.close()
    shown = capsys.readouterr().out
    assert "1,000" in shown
    assert "2,000" in shown
    assert "1 of 1 checks failed" in shown

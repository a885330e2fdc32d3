from pyhudi.spark import java


def script(path, body):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_versions_are_read_from_what_java_says(tmp_path):
    assert java.java_version(script(tmp_path / "java", "echo 'openjdk version \"21.0.2\" 2024' >&2")) == 21
    assert java.java_version(script(tmp_path / "mute", "exit 1")) is None
    assert java.java_version(str(tmp_path / "missing")) is None


def test_java_home_wins_over_the_path(tmp_path, monkeypatch):
    on_path = script(tmp_path / "path" / "java", "")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert java.find_java() == on_path
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java.find_java() == str(tmp_path / "home" / "bin" / "java")

"""The language host: what the programs that it runs inherit."""

from __future__ import annotations

from lab.language_host.__main__ import inherited


def test_a_program_does_not_inherit_the_path_of_the_host(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/lab")

    assert "PYTHONPATH" not in inherited(["LEVEL=high=1"])
    assert inherited(["LEVEL=high=1"])["LEVEL"] == "high=1"
    assert inherited(["PYTHONPATH=/own"])["PYTHONPATH"] == "/own"

"""What the merge base requires is installed once for each content of its requirements and constraints."""

from __future__ import annotations

from flux_tenancy.review import versions


def test_other_constraints_are_another_environment(tmp_path, monkeypatch):
    commands: list[list[str]] = []
    monkeypatch.setattr(versions, "_run", lambda command, *_: commands.append(command))
    (tmp_path / "requirements.txt").write_text("flux-tenancy==0.0.9\n--constraint constraints.txt\n")
    found = set()
    for pinned in ("pulumi==3.259.0", "pulumi==3.260.0"):
        (tmp_path / "constraints.txt").write_text(pinned)
        found.add(versions.installed_python(tmp_path, {"FLUX_TENANCY_CACHE": str(tmp_path / "cache")}))

    assert len(found) == 2
    assert [command[-2:] for command in commands if "pip" in command] == [["-r", "requirements.txt"]] * 2

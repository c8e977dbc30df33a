"""The program reads a stack's file as Pulumi does, so a render is of what an update applies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dev.lab.pulumi import LAB_PASSPHRASE
from flux_tenancy.components.config.yaml_files import read_mapping
from tests.support.lab import Lab

SCALARS = """
    yes y TRUE True off on ~ Null null = 1:20 1e3 1E5 1e+5 1234e56 12e-2 0.1e1 1e400 1e21 .5 -.5 +.5 1. ._ 1.0 1.5 1.2.3
    0 -0 00 08 0644 -0644 0_7 0o17 0x1F 0x_1 0b11 -0b11 0b12 1_000 1__0 _1 0_ 0x_ 0b_ 1_0.5_0 +3 -5 0123456789
    123456789012345678 99999999999999999999 12345678901234567890123 1w 1e '12'
"""


def test_a_file_is_read_as_pulumi_reads_it(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: scalars\nruntime: python\n")
    file = tmp_path / "Pulumi.dev.yaml"
    environ = {"PULUMI_CONFIG_PASSPHRASE": LAB_PASSPHRASE}
    init = lab.pulumi.run(["stack", "init", "dev"], tmp_path, environ, capture_output=True)
    # Only now: Pulumi writes the whole file anew.
    lines = [f"    k{index}: {text}\n" for index, text in enumerate(SCALARS.split())]
    merged = (
        "    base: &base {own: 1, merged: 2}\n    merging: {own: 3, <<: *base}\n    list: {<<: [*base, {more: 4}]}\n"
    )
    content = f"{file.read_text()}config:\n  scalars:a:\n{''.join(lines)}    off: key\n    0x10: key\n{merged}"
    file.write_text(content)

    done = lab.pulumi.run(["config", "--json", "--stack", "dev"], tmp_path, environ, capture_output=True)

    assert file.read_text() == content
    assert init.returncode == done.returncode == 0, init.stderr + done.stderr
    of_pulumi: dict[str, Any] = json.loads(json.loads(done.stdout)["scalars:a"]["value"])
    read = read_mapping(file, file.name, as_pulumi=True)
    assert isinstance(read, dict)
    found = {str(key): value for key, value in read["config"]["scalars:a"].items()}
    assert {key: (value, type(value)) for key, value in found.items()} == {
        key: (value, type(value)) for key, value in of_pulumi.items()
    }

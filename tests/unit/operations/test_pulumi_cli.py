"""What is said if `pulumi` fails: its own diagnosis, wherever it prints it."""

from __future__ import annotations

import json

import pytest

from flux_tenancy.operations.stack.pulumi_cli import run_pulumi
from flux_tenancy.project.errors import OperationError

DIAGNOSTICS = [{"severity": "warning", "message": "old\n"}, {"severity": "error", "message": "it is wrong\n"}]


@pytest.mark.parametrize(
    ("printed", "said", "reason"),
    [
        (
            "Diagnostics:\n  kubernetes:core/v1:Secret (a):\n    error: it is wrong\nerror: update failed\n",
            "",
            "it is wrong",
        ),
        (json.dumps({"diagnostics": DIAGNOSTICS}), "warning: using another host\n", "it is wrong"),
        ("", "warning: old\nerror: the disk is full\n", "the disk is full"),
        ("[]", "", "it gives no reason"),
    ],
)
def test_the_first_error_of_an_operation_is_its_reason(tmp_path, monkeypatch, printed, said, reason):
    (tmp_path / "pulumi").write_text(f"#!/bin/sh\ncat <<'E'\n{printed}\nE\ncat >&2 <<'E'\n{said}\nE\nexit 1\n")
    (tmp_path / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    with pytest.raises(OperationError) as error:
        run_pulumi(["preview"], "staging", tmp_path)

    assert (error.value.message.code, error.value.message.text) == ("FT-OPS-014", f"Pulumi failed: {reason}")

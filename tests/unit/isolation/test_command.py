"""How the command fails."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from isolation.__main__ import app


def end(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stderr


def test_a_missing_kubeconfig_is_one_clear_error(tmp_path):
    path = tmp_path / "kubeconfig"

    code, said = end("--kubeconfig", str(path))

    assert (code, said.splitlines()) == (
        2,
        [f"error: --kubeconfig: {path} cannot be read: No such file or directory", "remedy: fix that first"],
    )


def test_a_missing_context_is_one_clear_error(tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text("contexts: [{name: a, context: {}}]\n")

    code, said = end("--kubeconfig", str(path), "--context", "b")

    assert (code, said.splitlines()[0]) == (2, "error: --context: the kubeconfig has no context 'b'; it has a")


def test_without_role_requires_live_objects():
    code, said = end("--without", "role")

    assert code == 2
    assert said.splitlines()[1] == "remedy: add --live"


@pytest.mark.parametrize("arguments", [("--without", "luck"), ("--output", "pdf")])
def test_usage_errors_have_the_same_exit_code(arguments):
    assert end(*arguments)[0] == 2

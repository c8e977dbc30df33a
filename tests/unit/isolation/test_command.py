"""How the command fails."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from components.config.messages import Message
from isolation import __main__ as command
from isolation.__main__ import app
from isolation.model import Discrepancy
from isolation.scene import Tenancy
from operations.errors import OperationError


def end(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(arguments))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stderr


def test_a_missing_kubeconfig_is_one_clear_error(tmp_path):
    path = tmp_path / "kubeconfig"

    code, said = end("--kubeconfig", str(path))

    assert (code, said.splitlines()) == (
        2,
        [
            f"error: --kubeconfig: {path} cannot be read: No such file or directory (FT-ISO-006)",
            "remedy: fix that first",
        ],
    )


def test_a_missing_context_is_one_clear_error(tmp_path):
    path = tmp_path / "kubeconfig"
    path.write_text("contexts: [{name: a, context: {}}]\n")

    code, said = end("--kubeconfig", str(path), "--context", "b")

    assert (code, said.splitlines()[0]) == (
        2,
        "error: --context: the kubeconfig has no context 'b'; it has a (FT-ISO-006)",
    )


def test_without_role_requires_live_objects():
    code, said = end("--without", "role")

    assert code == 2
    assert said.splitlines()[1] == "remedy: add --live"


def test_a_stack_needs_no_profile():
    code, said = end("--stack", "staging", "--profile", "restricted")

    assert (code, said.splitlines()[1]) == (2, "remedy: leave out --stack or --profile")


@pytest.mark.parametrize("arguments", [("--without", "luck"), ("--output", "pdf")])
def test_usage_errors_have_the_same_exit_code(arguments):
    assert end(*arguments)[0] == 2


@pytest.fixture
def leaving(tmp_path, monkeypatch):
    """A cluster with two tenants, of which one is leaving; what is asked for as a tenant ends the run."""
    (tmp_path / "kubeconfig").write_text(
        "contexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n"
        "clusters: [{name: a, cluster: {server: http://127.0.0.1:1}}]\nusers: [{name: a, user: {}}]\n"
    )
    asked: list[str] = []

    def tenancy(_, name: str, *__: object) -> Tenancy:
        asked.append(name)
        raise OperationError(Message("", "enough", "stop"))

    monkeypatch.setattr(command, "tenants", lambda _: ["blue-team", "dev-team"])
    monkeypatch.setattr(command, "has_account", lambda _, name: name == "dev-team")
    monkeypatch.setattr(command, "labelled_namespaces", lambda _, name: [name])
    monkeypatch.setattr(command, "tenancy", tenancy)
    return str(tmp_path / "kubeconfig"), asked


def test_a_tenant_without_an_account_is_named_and_left_out(leaving):
    kubeconfig, asked = leaving

    _, said = end("--kubeconfig", kubeconfig)

    assert said.startswith("tenant blue-team: no attempts: ")
    assert asked == ["dev-team"]


def test_a_tenant_with_an_unclear_account_keeps_no_other_one_from_being_tried(leaving, monkeypatch):
    kubeconfig, asked = leaving
    monkeypatch.setattr(command, "has_account", lambda *_: True)

    code, said = end("--kubeconfig", kubeconfig)

    assert (code, asked) == (2, ["blue-team", "dev-team"])
    assert said.startswith("tenant blue-team: no attempts: enough; stop\ntenant dev-team: ")


@pytest.mark.parametrize("account", [True, False])
def test_the_inventory_of_a_tenant_needs_no_account(leaving, monkeypatch, account):
    """Whose account is unclear, and who has none."""
    seen: list[Tenancy] = []
    holes: list[Discrepancy] = []

    def inventory(who: Tenancy) -> tuple[Discrepancy, ...]:
        seen.append(who)
        return tuple(holes)

    monkeypatch.setattr(command, "has_account", lambda *_: account)
    monkeypatch.setattr(command, "version", lambda _: "v1.36.3")
    monkeypatch.setattr(command, "_inventory", lambda *_: inventory)

    healthy, _ = end("--kubeconfig", leaving[0], "--profile", "restricted")
    holes.append(Discrepancy("FT-ISO-120", "a", "b", "c", "d", "e", "f"))
    open_, _ = end("--kubeconfig", leaving[0], "--profile", "restricted")

    assert (healthy, open_) == (2 if account else 0, 1)
    assert seen == [Tenancy(name, (name,), "") for name in ("blue-team", "dev-team")] * 2


def test_a_tenant_that_is_named_is_never_left_out(leaving):
    kubeconfig, asked = leaving

    end("--kubeconfig", kubeconfig, "--tenant", "blue-team")

    assert asked == ["blue-team"]


def test_a_run_without_any_tenant_is_an_error(leaving, monkeypatch):
    monkeypatch.setattr(command, "has_account", lambda *_: False)

    code, said = end("--kubeconfig", leaving[0])

    assert code == 2
    assert "error: no tenant has a service account with rights" in said

"""`flux-tenancy isolation`: which cluster it attacks, for whom, and how it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from commands import invoke, refusal

from flux_tenancy.command.program import ExitCode
from flux_tenancy.components.config.messages import Message
from flux_tenancy.isolation import run
from flux_tenancy.isolation.model import Discrepancy
from flux_tenancy.isolation.scene import Tenancy
from flux_tenancy.project.errors import OperationError

PROJECT = Path(__file__).parents[3]
SERVER = "https://127.0.0.1:1"


def end(*arguments: str) -> tuple[int, str]:
    ran = invoke("isolation", *arguments)
    return ran.code, ran.error


def write_kubeconfig(path: Path, *contexts: str, server: str = SERVER) -> Path:
    """A kubeconfig with these contexts, of which the first is the current one; the name of each is in its address."""
    path.write_text(
        yaml.safe_dump(
            {
                "contexts": [{"name": name, "context": {"cluster": name, "user": "a"}} for name in contexts],
                "current-context": contexts[0],
                "clusters": [{"name": name, "cluster": {"server": f"{server}/{name}"}} for name in contexts],
                "users": [{"name": "a", "user": {}}],
            }
        )
    )
    return path


@pytest.fixture(autouse=True)
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A shell outside of any project, whose kubeconfig has the contexts kind and prod."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    monkeypatch.delenv("PULUMI_STACK", raising=False)
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(home / "kubeconfig", "kind", "prod")))
    return home


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the stack eu, for a cluster of its own; the shell is in a folder below it."""
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    write_kubeconfig(folder / "kubeconfig", "eu")
    (folder / "Pulumi.yaml").write_text("name: platform\nruntime: python\n")
    (folder / "Pulumi.eu.yaml").write_text("config:\n  platform:cluster: {kubeconfig: kubeconfig}\n")
    monkeypatch.chdir(folder / "docs")
    monkeypatch.setattr(run, "load_offline", lambda *_, **__: (None, None))
    return folder


def attacked(monkeypatch, *arguments: str) -> str:
    """The first line of the command, which names the cluster; the run ends there."""
    monkeypatch.setattr(run._Run, "run", lambda _: run.Outcome([], False))
    code, said = end(*arguments)
    assert code == ExitCode.OK, said
    return said.splitlines()[0]


def test_without_a_project_the_current_context_of_the_kubeconfig_is_attacked(monkeypatch):
    assert attacked(monkeypatch) == f"cluster: kind ({SERVER}/kind)"
    assert attacked(monkeypatch, "--context", "prod") == f"cluster: prod ({SERVER}/prod)"


def test_a_kubeconfig_may_be_named(shell, monkeypatch):
    other = write_kubeconfig(shell / "other", "other", server="https://admin:pa55word@127.0.0.1:1")

    assert attacked(monkeypatch, "--kubeconfig", str(other)) == f"cluster: other ({SERVER}/other)"


def test_in_a_project_the_current_context_is_attacked_unless_a_stack_is_named(project, monkeypatch):
    assert attacked(monkeypatch) == f"cluster: kind ({SERVER}/kind)"
    assert attacked(monkeypatch, "-s", "eu") == f"cluster: eu ({SERVER}/eu), stack eu"


@pytest.mark.parametrize(
    ("stack", "cluster"), [("eu", "eu"), ("acme/platform/eu", "eu"), ("us", "kind"), ("..", "kind"), ("", "kind")]
)
def test_the_stack_of_the_shell_counts_only_in_its_project(project, shell, monkeypatch, stack, cluster):
    monkeypatch.setenv("PULUMI_STACK", stack)

    assert attacked(monkeypatch).startswith(f"cluster: {cluster} ")

    monkeypatch.chdir(shell)
    assert attacked(monkeypatch) == f"cluster: kind ({SERVER}/kind)"


@pytest.mark.parametrize("option", [("--context", "prod"), ("--profile", "baseline")])
def test_options_for_a_cluster_without_a_stack_come_before_the_stack_of_the_shell(project, monkeypatch, option):
    monkeypatch.setenv("PULUMI_STACK", "eu")

    assert ", stack" not in attacked(monkeypatch, *option)


def test_a_missing_kubeconfig_is_one_clear_error(tmp_path):
    path = tmp_path / "kubeconfig"

    assert refusal(invoke("isolation", "--kubeconfig", str(path))) == (
        f"error: --kubeconfig: '{path}' cannot be read: No such file or directory; correct the path, or the file "
        "(FT-CFG-020)\nremedy: correct it and run the command again\n"
    )


def test_a_missing_context_is_one_clear_error():
    assert refusal(invoke("isolation", "--context", "b")).splitlines()[0] == (
        "error: --context: the kubeconfig has no context 'b'; name one of these: kind, prod (FT-CLU-003)"
    )


def test_a_cluster_that_does_not_answer_is_one_clear_error():
    code, said = end()

    assert code == ExitCode.FAILED
    assert said.splitlines()[1].startswith(f"error: --kubeconfig: {SERVER}/kind cannot be reached")


HELP = "see `flux-tenancy isolation --help`"


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ("--without role", "add --live"),
        # A stack describes its own cluster.
        ("--stack staging --profile restricted", "leave out --stack or --profile"),
        ("--stack staging --context prod", "leave out --stack or --context"),
        ("--stack staging --kubeconfig a", "leave out --stack or --kubeconfig"),
        ("--without luck", HELP),
        ("--output pdf", HELP),
        ("--profile odd", HELP),
        ("--no", HELP),
    ],
)
def test_options_that_are_not_valid_are_an_error_with_its_remedy(arguments, remedy):
    said = refusal(invoke("isolation", *arguments.split()))

    assert said.splitlines()[1:] == [f"remedy: {remedy}"] and "Value error" not in said


@pytest.fixture
def empty_inventory(monkeypatch) -> None:
    """No tenant has an account, and there is nothing to find."""
    monkeypatch.setattr(run, "has_account", lambda *_: False)
    monkeypatch.setattr(run, "read_lists", lambda *_: None)
    monkeypatch.setattr(run, "against_profile", lambda *_: ())


@pytest.fixture
def leaving(monkeypatch) -> list[str]:
    """A cluster with two tenants, of which one is leaving; a request as a tenant ends the run. Returns those tried."""
    asked: list[str] = []

    def tenancy(_, name: str, *__: object) -> Tenancy:
        asked.append(name)
        raise OperationError(Message("", "enough", "stop"))

    monkeypatch.setattr(run, "tenants", lambda _: ["blue-team", "dev-team"])
    monkeypatch.setattr(run, "has_account", lambda _, name: name == "dev-team")
    monkeypatch.setattr(run, "labelled_namespaces", lambda _, name: [name])
    monkeypatch.setattr(run, "tenancy", tenancy)
    monkeypatch.setattr(run, "version", lambda _: "v1.36.3")
    return asked


def test_a_tenant_without_an_account_is_named_and_left_out(leaving):
    _, said = end()

    assert said.splitlines()[1].startswith("tenant blue-team: no attempts: ")
    assert leaving == ["dev-team"]


def test_a_tenant_with_an_unclear_account_keeps_no_other_one_from_being_tried(leaving, monkeypatch):
    monkeypatch.setattr(run, "has_account", lambda *_: True)

    code, said = end()

    assert (code, leaving) == (ExitCode.FAILED, ["blue-team", "dev-team"])
    assert said.splitlines()[1:3] == [
        "tenant blue-team: no attempts: enough; stop",
        "tenant dev-team: no attempts: enough; stop",
    ]


@pytest.mark.parametrize("account", [True, False])
def test_the_inventory_of_a_tenant_needs_no_account(leaving, monkeypatch, account):
    """Whose account is unclear, and who has none."""
    seen: list[Tenancy] = []
    holes: list[Discrepancy] = []

    def inventory(_, who: Tenancy, __) -> tuple[Discrepancy, ...]:
        seen.append(who)
        return tuple(holes)

    monkeypatch.setattr(run, "has_account", lambda *_: account)
    monkeypatch.setattr(run, "read_lists", lambda *_: None)
    monkeypatch.setattr(run, "against_profile", inventory)

    healthy, _ = end("--profile", "restricted")
    holes.append(Discrepancy("FT-ISO-120", "a", "b", "c", "d", "e", "f"))
    open_, _ = end("--profile", "restricted")

    assert (healthy, open_) == (ExitCode.FAILED if account else ExitCode.OK, ExitCode.FOUND)
    assert seen == [Tenancy(name, (name,), "") for name in ("blue-team", "dev-team")] * 2


def test_the_report_names_the_cluster_that_was_attacked(leaving, empty_inventory, tmp_path):
    for output in ("json", "table"):
        end("--profile", "restricted", "--context", "prod", "-o", output, "-f", str(tmp_path / output))

    [report, _] = json.loads((tmp_path / "json").read_text())["reports"]
    assert (report["context"], report["server"]) == ("prod", f"{SERVER}/prod")
    assert f"of prod ({SERVER}/prod), Kubernetes v1.36.3" in " ".join((tmp_path / "table").read_text().split())


def test_a_selection_that_selects_nothing_is_an_error(leaving, empty_inventory):
    """A typo in a pipeline would find nothing for ever."""
    assert end("--profile", "restricted", "--only", "inventory")[0] == ExitCode.OK
    code, said = end("--profile", "restricted", "--only", "inventory", "--only", "47-worker")
    assert code == ExitCode.FAILED
    assert "--only 47-worker selects nothing" in said and "(FT-ISO-008)" in said


def test_a_stack_that_was_applied_to_another_cluster_is_not_attacked(project, monkeypatch):
    def another(*_: object) -> None:
        raise OperationError(Message("FT-OPS-051", "another cluster"))

    monkeypatch.setattr(run, "checked_if_known", another)

    assert "FT-OPS-051" in end("-s", "eu")[1]
    assert "FT-OPS-051" not in end()[1]


def test_a_tenant_that_is_named_is_never_left_out(leaving):
    end("--tenant", "blue-team")

    assert leaving == ["blue-team"]


def test_a_run_without_any_tenant_is_an_error(leaving, monkeypatch):
    monkeypatch.setattr(run, "has_account", lambda *_: False)

    code, said = end()

    assert code == ExitCode.FAILED
    assert "error: cannot detect the account that Flux impersonates in the namespaces of any tenant" in said


@pytest.mark.parametrize(("options", "said"), [(["--live"], "interrupted; the created objects are removed"), ([], "")])
def test_an_interrupted_run_has_its_own_exit_code(monkeypatch, options, said):
    def interrupt(_: object) -> run.Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(run._Run, "run", interrupt)

    code, error = end(*options)

    assert code == ExitCode.INTERRUPTED
    assert error.splitlines()[1:] == [said] if said else "interrupted" not in error


def test_a_file_that_cannot_be_written_is_an_error(leaving, monkeypatch, tmp_path):
    monkeypatch.setattr(run._Run, "run", lambda _: run.Outcome([], False))

    code, said = end("-o", "json", "-f", str(tmp_path / "missing" / "report.json"))

    assert code == ExitCode.FAILED and "(FT-REV-205)" in said


def test_the_choices_are_importable_without_the_product():
    loaded = (
        "import sys, flux_tenancy.isolation.model\n"
        "print(*(name for name in sys.modules if name.startswith('flux_tenancy.components')))"
    )

    assert subprocess.run([sys.executable, "-c", loaded], cwd=PROJECT, capture_output=True, text=True).stdout == "\n"

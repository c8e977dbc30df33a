"""`flux-tenancy up`: a repair, then `pulumi up`, for nothing but what was approved."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import typer
from tenants_project import write_tenants_project
from typer.testing import CliRunner, Result

from flux_tenancy.command.app import app
from flux_tenancy.operations.drift.repair import Earlier
from flux_tenancy.operations.update import environment
from flux_tenancy.review.approval.guard import VARIABLE

CHECKOUT = Path(__file__).parents[3]
# Writes down how it is called, in the folder FOLDER, and fails if a file there says so.
PULUMI = """\
#!/bin/sh
cd FOLDER
case "$1 $2" in
"stack output") cat outputs; exit;;
"stack export") cat state; exit;;
"refresh --yes") echo "$*" > refreshed; exit;;
esac
[ ! -e next ] || mv next outputs
echo "$PULUMI_SKIP_CHECKPOINTS $*" >> all
exec > called
printf '%s\\n' "$*" "$OLDPWD" "${FLUX_TENANCY_APPROVED-none}" "${PULUMI_OPTION_CWD-none}"
[ ! -e fails ]
"""
# Ends in order after an interrupt, as Pulumi does.
SLOW = """\
#!/bin/sh
trap 'sleep 1; echo ended in order; exit 1' INT
touch started
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.5; done
"""


@dataclass
class Program:
    """The command in a project, with a `pulumi` that writes down how it is called.

    Attributes:
        folder: of the project.
        repaired: each stack that was repaired, with what was approved then.
        earlier: what the repair has found of earlier updates.
        finished: each stack that was repaired after its update.
    """

    folder: Path
    repaired: list[tuple[str, str | None]] = field(default_factory=list)
    earlier: Earlier = Earlier("uid", interrupted=False)
    finished: list[str] = field(default_factory=list)

    def run(self, *arguments: str, answer: str = "y") -> Result:
        return CliRunner().invoke(app, arguments, input=f"{answer}\n")

    @property
    def called(self) -> list[str]:
        file = self.folder.parent / "called"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def calls(self) -> list[str]:
        """Each call of `pulumi preview` and `up`, with the value of PULUMI_SKIP_CHECKPOINTS before it."""
        file = self.folder.parent / "all"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def updates(self) -> list[str]:
        return [each for each in self.calls if " up " in each]


@pytest.fixture
def program(tmp_path, monkeypatch) -> Program:
    program = Program(write_tenants_project(tmp_path / "project"))
    pulumi = tmp_path / "bin" / "pulumi"
    pulumi.parent.mkdir()
    pulumi.write_text(PULUMI.replace("FOLDER", str(tmp_path)))
    pulumi.chmod(0o755)
    (tmp_path / "state").write_text("{}")
    (tmp_path / "outputs").write_text("{}")
    monkeypatch.setenv("PATH", f"{pulumi.parent}:/usr/bin:/bin")
    # It is set by the command; this restores it.
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.delenv(VARIABLE)
    for name in ("PULUMI_STACK", "PULUMI_OPTION_CWD"):
        monkeypatch.delenv(name, raising=False)

    def repair(stack: str, _: Path, *, update_follows: bool = False) -> Earlier:
        if update_follows:
            program.repaired.append((stack, os.environ.get(VARIABLE)))
        else:
            program.finished.append(stack)
        return program.earlier

    monkeypatch.setattr("flux_tenancy.operations.update.repair", repair)
    monkeypatch.chdir(program.folder)
    return program


UP = "up --stack staging --yes --skip-preview --non-interactive --color=never --suppress-outputs"


def test_a_stack_is_repaired_previewed_and_updated_if_the_user_agrees(program):
    result = program.run("up", "--stack", "staging")

    assert result.exit_code == 0
    assert result.stderr.endswith(
        "`pulumi stack output --stack staging`. Tenants: `flux-tenancy tenant list --stack staging`.\n"
    )
    assert program.repaired == [("staging", None)]
    assert program.called == [UP, str(program.folder), "none", "none"]
    preview = "true preview --stack staging --non-interactive --color=never --suppress-outputs"
    assert program.calls == [preview, f"true {UP}"]


def test_a_stack_is_not_updated_if_the_user_declines_and_a_pipeline_is_not_asked(program):
    assert program.run("up", "--stack", "staging", answer="n").exit_code == 2
    assert program.updates == []

    (program.folder.parent / "all").unlink()
    program.run("up", "--stack", "staging", "--yes")
    assert program.calls == [f"true {UP}"]


@pytest.mark.parametrize("options", [(), ("--yes",)])
def test_no_text_of_a_tenant_controls_the_terminal(program, options):
    """The Kubernetes plugin prints the Events of what is being deleted."""
    pulumi = program.folder.parent / "bin" / "pulumi"
    event = r"warning: Stuck: \033]52;c;YQ==\007\033[2J\302\233A \342\200\256 http://user:pass@a.example.com/"
    script = pulumi.read_text().replace("exec > called", f"printf '{event}\\n'; printf '{event}\\n' >&2\nexec > called")
    pulumi.write_text(script)

    done = program.run("up", "--stack", "staging", *options)

    said = [line for line in done.output.splitlines() if "Stuck" in line]
    assert len(said) == (2 if options else 4)
    assert all(letter.isprintable() for line in done.output.splitlines() for letter in line)
    assert "user:pass" not in done.output


@pytest.mark.parametrize(("own", "limit"), [({}, "200"), ({"PULUMI_K8S_CLIENT_QPS": "20"}, "20")])
def test_the_plugin_may_send_more_requests_than_by_default_unless_they_are_limited(own, limit):
    found = environment(own)
    assert (found["PULUMI_K8S_CLIENT_QPS"], found["PULUMI_K8S_CLIENT_BURST"]) == (limit, "400")


@pytest.mark.parametrize("options", [(), ("--yes",)])
def test_the_first_update_records_the_cluster_before_it_creates_anything(program, options):
    """By it, the next update recognizes what a killed one has created."""
    program.earlier = Earlier("", interrupted=False)

    program.run("up", "--stack", "staging", *options)

    first, second = program.updates
    targets = [each for each in first.split() if each.startswith("--target=")]
    assert targets == [
        "--target=**flux-tenancy:index:Cluster::**",
        "--target=**flux-tenancy:index:GitHub::**",
        "--target=**:providers:**",
    ]
    assert "--target" not in second and first.replace(f" {' '.join(targets)}", "") == second


@pytest.mark.parametrize("interrupted", [True, False])
def test_what_an_interrupted_update_has_changed_is_repaired_after_the_next_one(program, interrupted):
    program.earlier = Earlier("uid", interrupted)

    done = program.run("up", "--stack", "staging")

    assert program.finished == ["staging"] * interrupted
    # Pulumi recommends it, which would copy the cluster into the state.
    assert ("no `pulumi refresh` is needed" in done.stderr) is interrupted


def test_nothing_is_repaired_after_an_update_that_failed(program):
    program.earlier = Earlier("uid", interrupted=True)
    (program.folder.parent / "fails").touch()

    program.run("up", "--stack", "staging")

    assert program.finished == []


@pytest.mark.parametrize(
    ("approved", "seen"), [("sha256:0", "sha256:0"), ("out/digest.json", "{}/tenants/out/digest.json"), ("", "")]
)
def test_the_repair_and_the_update_know_what_was_approved(program, monkeypatch, approved, seen):
    """A path counts from the current folder, not from the project's; an empty one is refused by both."""
    monkeypatch.chdir(program.folder / "tenants")

    program.run("up", "--stack", "staging", "--approved", approved)

    seen = seen.format(program.folder)
    assert (program.repaired, program.called[2]) == ([("staging", seen)], seen)


def test_nothing_is_updated_after_a_refused_repair(program, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise typer.Exit(2)

    monkeypatch.setattr("flux_tenancy.operations.update.repair", refuse)

    assert (program.run("up", "--stack", "staging").exit_code, program.called) == (2, [])


def test_a_failed_update_is_an_error_with_a_code(program):
    (program.folder.parent / "fails").touch()

    done = program.run("up", "--stack", "staging")

    assert done.exit_code == 2
    assert "error: `pulumi preview` of stack staging failed (FT-OPS-315)\nremedy: " in done.stderr
    done = program.run("up", "--stack", "staging", "--yes")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: `pulumi up` of stack staging failed (FT-OPS-315)\nremedy: ")


def outputs(dev_team: str, ops_team: str, platform: str) -> str:
    status = {"message": "no such host key"}
    tenants = {
        "dev-team": {"status": status | {"ready": dev_team}},
        "ops-team": {"status": status | {"ready": ops_team}},
    }
    return json.dumps({"tenants": tenants, "flux": {"sync": {"status": status | {"ready": platform}}}})


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--fail-on-not-ready",), 1)])
def test_an_update_after_which_a_ready_tenant_is_not_fails_where_asked(program, options, code):
    """A tenant that was not ready before does not fail each update."""
    (program.folder.parent / "outputs").write_text(outputs("True", "False", "True"))
    (program.folder.parent / "next").write_text(outputs("False", "False", "True"))

    done = program.run("up", "--stack", "staging", *options)

    assert (done.exit_code, "tenant dev-team" in done.stderr) == (code, bool(options))
    assert "ops-team" not in done.stderr and "platform" not in done.stderr


@pytest.mark.parametrize(("kind", "cleared"), [("creating", True), ("updating", False)])
def test_an_interrupted_creation_is_cleared_once_an_update_has_succeeded(program, kind, cleared):
    """The engine would warn of it in every update."""
    state = {"deployment": {"pending_operations": [{"type": kind}]}}
    (program.folder.parent / "state").write_text(json.dumps(state))

    assert program.run("up", "--stack", "staging").exit_code == 0

    refreshed = program.folder.parent / "refreshed"
    assert refreshed.exists() is cleared
    assert not cleared or "--clear-pending-creates" in refreshed.read_text()


def test_without_pulumi_there_is_an_error(program, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")

    assert "(FT-OPS-010)\nremedy: " in program.run("up", "--stack", "staging").stderr


def test_pulumi_runs_in_the_project_that_the_option_names(program, monkeypatch):
    """Not in that of PULUMI_OPTION_CWD, which `pulumi` would read, too."""
    another = write_tenants_project(program.folder.parent / "another")
    monkeypatch.setenv("PULUMI_OPTION_CWD", str(program.folder))

    program.run("--cwd", "../another", "up", "--stack", "staging")

    assert program.called[1::2] == [str(another), "none"]


def test_an_interrupt_lets_pulumi_end_in_order(program):
    """Ctrl-C reaches all processes of the terminal. A Pulumi that is killed leaves operations pending."""
    pulumi = program.folder.parent / "bin" / "pulumi"
    pulumi.write_text(SLOW)
    code = (
        # A shell starts what runs in the background with the signal ignored.
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import flux_tenancy.operations.update as u, flux_tenancy.operations.drift.repair as r\n"
        "u.repair = lambda *_, **__: r.Earlier('uid', False)\n"
        "import flux_tenancy.command.app as c; c.main()"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", code, "up", "--stack", "staging", "--yes"],
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while not (program.folder / "started").exists():
        assert running.poll() is None
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGINT)
    out, _ = running.communicate(timeout=30)

    assert (running.returncode, out) == (130, "ended in order\n")

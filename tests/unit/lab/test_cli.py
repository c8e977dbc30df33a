"""The commands, with nothing built and nothing started."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from dev.lab import __main__ as cli
from dev.lab import shell
from dev.lab.build import tools_for
from dev.lab.cluster import Cluster
from dev.lab.errors import LabError
from dev.lab.git_host import GitHost
from dev.lab.images import is_controller
from dev.lab.pulumi import LabPulumi
from dev.lab.settings import DEFAULT_PORT_BASE, Settings

PORT_BASE = 23456
PROJECT = Path(__file__).parents[3]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LAB_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LAB_PORT_BASE", str(PORT_BASE))
    monkeypatch.setattr("dev.lab.processes._PORT_GRACE", 0)
    return tmp_path / "state"


@pytest.fixture
def calls(state, monkeypatch) -> list[str]:
    """What the commands would do, in order."""
    made: list[str] = []

    def build(settings: Settings, names: list[str]) -> dict[str, Path]:
        made.append("build")
        return {}

    monkeypatch.setattr(cli, "_needed_tools", lambda settings: ["gitea", "github-proxy"])
    monkeypatch.setattr(cli, "ensure", build)
    monkeypatch.setattr(cli, "built", lambda settings, name: None)
    monkeypatch.setattr(GitHost, "up", lambda self, tools: made.append("Git host"))
    monkeypatch.setattr(Cluster, "up", lambda self, tools: made.append(f"cluster {self.name}"))
    monkeypatch.setattr(cli, "provide_bundles", lambda settings: made.append("bundles"))
    monkeypatch.setattr(LabPulumi, "install", lambda self: made.append("Pulumi"))
    monkeypatch.setattr(cli, "prepare_update", lambda settings, stack: made.append(f"repair {stack}"))
    monkeypatch.setattr(cli, "apply_stack", lambda settings, stack: made.append(f"stack {stack}"))
    return made


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, arguments)


def cluster(state: Path, name: str) -> Path:
    folder = state / "clusters" / name
    (folder / "logs" / "pods").mkdir(parents=True)
    (folder / "kubeconfig").write_text("")
    return folder


def test_up_runs_capsule_once_it_is_built_as_its_page_says(calls, monkeypatch):
    page = (PROJECT / "dev/docs/lab.md").read_text()
    [command] = re.findall(r"^\$ python -m dev.lab tools (capsule.+)$", page, re.MULTILINE)
    programs = {name: Path(name) for name in command.split()}
    given: list[Mapping[str, Path]] = []
    monkeypatch.setattr(cli, "built", lambda settings, name: programs.get(name))
    monkeypatch.setattr(Cluster, "up", lambda self, tools: given.append(tools))

    assert run("up").exit_code == 0

    assert programs.keys() <= set(tools_for(Settings.load(), "test"))
    [tools] = given
    assert {name for name in tools if is_controller(name)} == {"capsule@v0.14.0"}


@pytest.mark.parametrize(
    ("taken", "said"),
    [
        ("", "To use pulumi, flux-tenancy, kubectl and git in your shell: eval"),
        ("production", "This shell still uses stack production; to switch to staging: eval"),
        ("staging", None),
    ],
)
def test_up_prints_how_to_use_the_stack_in_the_shell(calls, state, monkeypatch, taken, said):
    monkeypatch.setenv("PULUMI_STACK", taken)
    lab = f"LAB_PORT_BASE={PORT_BASE} LAB_STATE={state}"

    stderr = run("up").stderr

    assert f'{said} "$({lab} make -s env STACK=staging)"' in stderr if said else "env STACK=" not in stderr


def test_up_takes_several_stacks(calls):
    assert run("up", "staging", "production").exit_code == 0

    assert calls[2:4] == ["cluster staging", "cluster production"]
    assert calls[-4:] == ["repair staging", "stack staging", "repair production", "stack production"]


@pytest.mark.parametrize("status", [0, 1])
def test_an_update_is_prepared_with_the_labs_settings_and_stops_where_that_fails(state, monkeypatch, status):
    ran: list[tuple[list[str], str]] = []

    def run_command(command: list[str], env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append((command[1:], env["STACK"]))
        return subprocess.CompletedProcess(command, status)

    monkeypatch.setattr(shell, "_variables", lambda settings, stack: {"STACK": stack})
    monkeypatch.setattr(subprocess, "run", run_command)
    with pytest.raises(LabError, match="was not updated") if status else nullcontext():
        shell.prepare_update(Settings.load(), "staging")

    assert ran == [(["-m", "flux_tenancy.command", "drift", "repair", "--stack", "staging"], "staging")]


def test_bundles_provides_releases_and_a_host_key_and_starts_nothing(calls, state):
    assert run("bundles").exit_code == 0

    assert calls == ["bundles"]
    assert [path.name for path in state.rglob("known_hosts")] == ["known_hosts"]


def test_up_of_a_stack_without_a_file_fails_before_anything_is_done(calls, state):
    before = sorted(PROJECT.glob("*"))

    result = run("up", "staging", "typo")

    assert result.exit_code == 1
    assert f"error: there is no Pulumi.typo.yaml in {PROJECT}; stacks: production, staging" in result.stderr
    assert "\nremedy: " in result.stderr
    assert calls == []
    assert not state.exists()
    assert sorted(PROJECT.glob("*")) == before


@pytest.mark.parametrize(
    ("raised", "exit_code", "said"),
    [
        (LabError("the disk is full", "make room"), 1, ["error: the disk is full", "remedy: make room"]),
        (KeyboardInterrupt(), 130, ["interrupted"]),
    ],
    ids=["an error", "an interrupt"],
)
def test_an_error_is_two_lines_and_an_interrupt_one_without_a_traceback(calls, monkeypatch, raised, exit_code, said):
    def fail(self, tools):
        raise raised

    monkeypatch.setattr(Cluster, "up", fail)

    result = run("up")

    assert result.exit_code == exit_code
    last = result.stderr.splitlines()[-len(said) :]
    assert all(line.startswith(begin) for line, begin in zip(last, said, strict=True))
    assert "Traceback" not in result.output


def test_status_shows_processes_addresses_logs_and_credentials(state):
    folder = cluster(state, "staging")

    result = run("status")

    assert result.exit_code == 0
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("staging/kube-apiserver")]
    assert line.split() == [
        "staging/kube-apiserver",
        "stopped",
        f"127.0.0.1:{PORT_BASE + 10}",
        str(folder / "logs" / "kube-apiserver.log"),
    ]
    assert f"context staging of {folder / 'kubeconfig'}" in result.stdout
    assert f"http://127.0.0.1:{PORT_BASE}" in result.stdout
    assert str(state / "git-host" / "credentials.json") in result.stdout
    assert f"http://127.0.0.1:{PORT_BASE + 2}/ and https://127.0.0.1:{PORT_BASE + 3}/" in result.stdout
    assert str(state / "git-host" / "token") in result.stdout
    assert f"Stack and tenant files: {state / 'project'}" in result.stdout
    (proxy,) = [line for line in result.stdout.splitlines() if line.startswith("github-proxy")]
    assert f"127.0.0.1:{PORT_BASE + 2}, {PORT_BASE + 3}" in proxy


def test_env_quotes_its_values_for_the_shell(state, monkeypatch, tmp_path):
    class Pulumi:
        bin = tmp_path / "it's a folder"

        def __init__(self, settings: Settings) -> None:
            pass

        def selected(self, project: Path) -> None:
            return None

        def environment(self) -> dict[str, str]:
            return {"PULUMI_HOME": "a $HOME; `b`"}

    Pulumi.bin.mkdir()
    (Pulumi.bin / "pulumi").touch()
    monkeypatch.setattr(shell, "LabPulumi", Pulumi)
    kubeconfigs = [str(cluster(state, name) / "kubeconfig") for name in ("production", "staging")]

    result = run("env")

    script = f'{result.stdout}\nprintf "%s\\n" "$PATH" "$KUBECONFIG" "$PULUMI_HOME"'
    path, kubeconfig, home = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert path.split(":")[0] == str(Pulumi.bin)
    assert "/usr/bin" in path.split(":")
    assert kubeconfig.split(":") == kubeconfigs
    assert home == "a $HOME; `b`"
    assert all(line.startswith("export ") for line in result.stdout.splitlines())


@pytest.fixture
def shell_settings(state, monkeypatch):
    """The variables that `env` sets, in a lab with the clusters staging and production."""
    for name in ("staging", "production"):
        cluster(state, name)
    fake_pulumi(state)
    monkeypatch.setattr(LabPulumi, "selected", lambda self, project: selected[0])
    selected: list[str | None] = [None]

    def look(*arguments: str, selection: str | None = None) -> dict[str, str]:
        selected[0] = selection
        result = run("env", *arguments)
        assert result.exit_code == 0, result.output
        names = ["KUBECONFIG", "PULUMI_STACK", "PULUMI_OPTION_CWD", "LAB_STATE", "LAB_PORT_BASE"]
        script = "\n".join([result.stdout, *(f'echo "${{{name}-unset}}"' for name in names)])
        shown = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True, env={}).stdout
        return dict(zip(names, shown.splitlines(), strict=True))

    return look


def current(state: Path, variables: dict[str, str]) -> tuple[str, str]:
    """The current stack of Pulumi, and the current context of kubectl."""
    first = Path(variables["KUBECONFIG"].split(":")[0])
    assert first.is_relative_to(state)
    return variables["PULUMI_STACK"], yaml.safe_load(first.read_text())["current-context"]


@pytest.mark.parametrize(
    ("arguments", "selection", "chosen"),
    [
        (["production"], None, "production"),
        (["production"], "staging", "production"),
        (["staging"], "production", "staging"),
        ([], "production", "production"),
        ([], None, "staging"),
        ([], "eu-without-a-cluster", "staging"),
        ([""], "production", "production"),
    ],
)
def test_env_selects_one_stack_for_pulumi_and_kubectl(state, shell_settings, arguments, selection, chosen):
    (state / "clusters" / "staging" / "cluster.json").write_text('{"index": 1}')
    variables = shell_settings(*arguments, selection=selection)

    assert current(state, variables) == (chosen, chosen)
    assert len(variables["KUBECONFIG"].split(":")) == 2


def test_env_restores_the_context_that_kubectl_has_changed(state, shell_settings):
    (state / "clusters" / "staging" / "kubeconfig").write_text("contexts: [a]\ncurrent-context: production\n")

    assert current(state, shell_settings("staging")) == ("staging", "staging")
    assert yaml.safe_load((state / "clusters" / "staging" / "kubeconfig").read_text())["contexts"] == ["a"]


def test_env_keeps_make_and_pulumi_at_the_same_lab(state, shell_settings):
    variables = shell_settings()

    assert variables["LAB_STATE"] == str(state)
    assert variables["LAB_PORT_BASE"] == str(PORT_BASE)
    assert variables["PULUMI_OPTION_CWD"] == str(state / "project")
    assert f"127.0.0.1:{PORT_BASE + 16}" in (state / "project" / "Pulumi.staging.yaml").read_text()
    result = run("env", "typo")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "make up STACK=typo" in result.stderr


def test_env_before_the_first_start_is_an_error_and_builds_nothing(state):
    result = run("env")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "make start" in result.stderr


def test_env_names_the_lab_of_the_checkout_that_was_started_instead(tmp_path, monkeypatch):
    default = Settings(tmp_path, tmp_path / "cache", tmp_path / ".lab", DEFAULT_PORT_BASE)
    monkeypatch.setattr(Settings, "load", lambda: default)
    (tmp_path / ".lab" / "33000" / "pulumi").mkdir(parents=True)

    result = run("env")

    assert (result.exit_code, result.stdout) == (1, "")
    assert "`export LAB_PORT_BASE=33000` selects the lab that was started" in result.stderr


def fake_pulumi(state: Path) -> None:
    program = state / "pulumi" / "bin" / "pulumi"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$PULUMI_HOME" "$KUBECONFIG" "$GITHUB_TOKEN" "$@"\nexit 3\n')
    program.chmod(0o755)


def test_down_deletes_the_labs_state_and_nothing_else(state):
    cluster(state, "staging")
    (state / "git-host").mkdir()
    (state / "mine").write_text("")

    assert run("down").exit_code == 0

    assert not (state / "clusters").exists() and not (state / "git-host").exists()
    assert (state / "mine").exists()


@pytest.mark.parametrize("command", ["stop", "down"])
def test_stop_and_down_end_a_running_pulumi(state, command):
    run_of_pulumi = {"LAB_PULUMI_RUN": str(state / "pulumi" / "runs" / "one")}
    left = subprocess.Popen(["sleep", "600"], env=os.environ | run_of_pulumi)
    try:
        assert run(command).exit_code == 0
        assert left.poll() == -signal.SIGTERM
    finally:
        left.kill()
        left.wait()


def test_down_keeps_files_that_the_user_has_changed_and_says_so(calls, state):
    run("start")
    (state / "project" / "Pulumi.staging.yaml").write_text("mine: true")

    result = run("down")

    assert f"{state / 'project'} is kept" in result.stderr
    assert (state / "project" / "Pulumi.staging.yaml").read_text() == "mine: true"

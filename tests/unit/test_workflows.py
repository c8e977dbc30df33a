"""The workflows: one command in each step, with pinned actions and no more rights than each job needs."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from flux_tenancy.command.app import app

PROJECT = Path(__file__).parents[2]
GITHUB = PROJECT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yaml"))
TEMPLATE = PROJECT / "flux_tenancy" / "template" / ".github"
PUBLISHED = PROJECT / "review" / "action.yaml"
"""What a project uses instead of copies, as `…/flux-tenancy/review@v0`."""
OWN = {"workflows/test.yaml", "actions/admission/action.yaml", "actions/setup/action.yaml"}
"""What differs here from a project: this repository tests the program, and installs it from its sources."""
ACTIONS = sorted([*(GITHUB / "actions").glob("*/action.yaml"), *(TEMPLATE / each for each in OWN if "actions" in each)])
SELF = "$/"
"""Begins what is in the same repository, https://github.blog/changelog/2026-07-30-reference-same-repository-actions-with-self-repository-syntax/"""

RIGHTS = {
    ("apply-stack", "apply"): {"actions": "read", "contents": "read", "id-token": "write", "pull-requests": "read"},
    ("apply", "stacks"): {"contents": "read"},
    ("apply", "others"): {"actions": "read", "contents": "read", "id-token": "write", "pull-requests": "read"},
    ("apply", "production"): {"actions": "read", "contents": "read", "id-token": "write", "pull-requests": "read"},
    ("comment", "comment"): {"actions": "read", "contents": "read", "pull-requests": "write"},
    ("comment", "outdated"): {"contents": "read", "pull-requests": "write"},
    ("drift", "stacks"): {"contents": "read"},
    ("drift", "drift"): {"contents": "read", "id-token": "write"},
    ("drift", "issue"): {"actions": "read", "contents": "read", "issues": "write"},
    ("releases", "update"): {"contents": "write", "pull-requests": "write"},
    ("review", "report"): {"contents": "read"},
    ("review", "preview"): {"contents": "read", "id-token": "write"},
    ("test", "test"): {"contents": "read"},
}
"""What each job may do: with every workflow's own token, and with an identity from GitHub (`id-token`)."""

READ_BY_COMMANDS = {"GITHUB_TOKEN", "PULUMI_BACKEND_URL"}
"""Variables of a step that its command reads itself; it gets the others as arguments."""
OF_GITHUB = {"GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "PWD"}
"""Variables that every step has."""
LATER = {"up", "releases"}
"""Commands that are not there yet."""


def read(file: Path) -> dict[str, Any]:
    """A workflow or action; the key `on` stays a string, which YAML 1.1 would read as true."""
    return loaded(file.read_text(encoding="utf-8"))


def loaded(text: str) -> dict[str, Any]:
    """A workflow or action as text."""
    found: dict[Any, Any] = yaml.safe_load(text)
    return {"on" if key is True else key: value for key, value in found.items()}


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Workflow, name and content of each job."""
    for file in WORKFLOWS:
        yield from ((file.stem, name, job) for name, job in read(file)["jobs"].items())


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each step of the workflows and actions, with where it is."""
    for workflow, name, job in jobs():
        yield from ((f"{workflow}.{name}", step) for step in job.get("steps", ()))
    for file in [*ACTIONS, PUBLISHED]:
        yield from ((file.parent.name, step) for step in read(file)["runs"]["steps"])


def run_steps() -> list[tuple[str, dict[str, Any]]]:
    """The steps that run a command."""
    return [(where, step) for where, step in steps() if "run" in step]


def targets() -> set[str]:
    """The targets of the Makefile, and `.venv/bin/flux-tenancy`, which it installs."""
    text = (PROJECT / "Makefile").read_text(encoding="utf-8")
    return {*re.findall(r"^([a-z-]+):", text, re.MULTILINE), ".venv/bin/flux-tenancy"}


def options_of(words: list[str]) -> set[str]:
    """The options of a command of `flux-tenancy`; fails if there is none of this name."""
    command: Any = typer.main.get_command(app)
    for word in words:
        if not hasattr(command, "commands"):
            break
        assert word in command.commands, words
        command = command.commands[word]
    return {option for parameter in command.params for option in parameter.opts}


def files(folder: Path) -> dict[str, str]:
    """The text of each file below a folder, by its path."""
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def test_a_project_has_the_same_workflows_and_actions_except_those_for_sources():
    own, of_project = files(GITHUB), files(TEMPLATE)

    assert {name for name in own.keys() | of_project.keys() if own.get(name) != of_project.get(name)} == OWN
    assert "workflows/test.yaml" not in of_project


def test_a_project_installs_what_it_requires_and_tests_and_builds_nothing_of_this_repository():
    [install] = [step["run"] for step in read(TEMPLATE / "actions/setup/action.yaml")["runs"]["steps"] if "run" in step]
    text = "".join(files(TEMPLATE).values())

    assert "pip install --quiet --requirement requirements.txt" in install
    assert re.findall(r"\bmake |\blab\b|\btests?/|pytest|docker", text) == []


def test_each_job_has_the_rights_it_needs_and_no_other_and_ends_by_itself():
    assert [file.name for file in WORKFLOWS if read(file)["permissions"] != {}] == []
    assert {(workflow, name): job.get("permissions") for workflow, name, job in jobs()} == RIGHTS
    assert [(workflow, name) for workflow, name, job in jobs() if "steps" in job and "timeout-minutes" not in job] == []


def test_every_action_of_others_is_pinned_by_a_commit_with_its_version_in_a_comment():
    found = [
        (file.name, line.strip())
        for file in [*WORKFLOWS, *ACTIONS]
        for line in file.read_text(encoding="utf-8").splitlines()
        if "uses:" in line and f"uses: {SELF}" not in line
    ]
    pinned = re.compile(r"(- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+(\.\d+)?")

    assert [line for line in found if not pinned.fullmatch(line[1])] == []
    assert len(found) > 10


def test_the_set_up_in_the_docs_is_that_of_the_workflows():
    page = (PROJECT / "docs" / "review.md").read_text(encoding="utf-8")
    of_project = {file.name: file.read_text(encoding="utf-8") for file in TEMPLATE.glob("workflows/*.yaml")}
    rows = re.findall(
        r"^ *\| (`[^|]+`) \|", page.partition("## Set-up")[2].partition("### What a pull")[0], re.MULTILINE
    )
    listed = {name for row in rows for name in re.findall("`([^`]+)`", row)}

    variables = {name for text in of_project.values() for name in re.findall(r"\bvars\.([A-Z_]+)", text)}
    # `apply.yaml` calls it.
    assert listed == variables | of_project.keys() - {"apply-stack.yaml"}


def test_the_callers_in_the_docs_have_the_triggers_and_rights_of_what_they_call():
    page = (
        (PROJECT / "docs" / "review.md")
        .read_text(encoding="utf-8")
        .partition("### In several repositories")[2]
        .partition("\n## ")[0]
    )
    shown = [loaded(text) for text in re.findall("```yaml\n(.*?)```", page, re.DOTALL)]
    callers = [each for each in shown if "jobs" in each]

    assert [each["name"] for each in callers] == ["review", "comment"]
    for caller in callers:
        called = read(GITHUB / "workflows" / f"{caller['name']}.yaml")
        [job] = caller["jobs"].values()
        assert caller["on"] == {event: how for event, how in called["on"].items() if event != "workflow_call"}
        assert job["permissions"] == {
            key: value for each in called["jobs"].values() for key, value in each["permissions"].items()
        }


def test_the_programs_of_the_kubeconfigs_in_the_docs_are_installed():
    page = (PROJECT / "docs" / "review.md").read_text(encoding="utf-8")
    connect = (GITHUB / "actions" / "connect" / "action.yaml").read_text(encoding="utf-8")

    for program in ("kubelogin", "gke-gcloud-auth-plugin"):
        assert program in page
        assert program in connect


def test_what_is_used_of_this_repository_exists_and_an_action_of_others_has_the_same_version_everywhere():
    of_steps = {step["uses"] for _, step in steps() if "uses" in step}
    others = {each for each in of_steps if not each.startswith(SELF)}
    used = of_steps - others | {job["uses"] for _, _, job in jobs() if "uses" in job}

    paths = [GITHUB.parent / each.removeprefix(SELF) for each in used]
    assert [str(path) for path in paths if not (path.is_file() or (path / "action.yaml").is_file())] == []
    assert len({each.partition("@")[0] for each in others}) == len(others)


@pytest.mark.parametrize(("where", "step"), run_steps(), ids=[f"{where}: {step['run']}" for where, step in run_steps()])
def test_a_variable_of_a_step_is_an_argument_in_quotes_with_a_name_of_its_own(where, step):
    """Without quotes, a shell would split the value. A name that a program reads would change that program."""
    quoted = re.findall(r'"[^"]*\$(\w+)[^"]*"', step["run"])
    passed = set(step.get("env", {})) - READ_BY_COMMANDS

    assert len(quoted) == len(re.findall(r"\$\w", step["run"]))
    if where != "connect":
        assert passed == set(quoted) - OF_GITHUB
        assert all("_" in name and not name.startswith(("PULUMI_", "FLUX_", "GITHUB_")) for name in passed)


@pytest.mark.parametrize(
    ("where", "step"),
    [(where, step) for where, step in run_steps() if step["run"].startswith("flux-tenancy ")],
    ids=lambda each: each if isinstance(each, str) else each["run"],
)
def test_a_command_of_flux_tenancy_exists_with_its_options(where, step):
    _, *words = shlex.split(re.split(r" >>? ", step["run"])[0])

    if words[0] not in LATER:
        assert {word for word in words if word.startswith("--")} <= options_of(words)


def test_other_programs_only_build_test_and_preview():
    others = [step["run"] for where, step in run_steps() if not step["run"].startswith("flux-tenancy ")]
    made = [target for command in others for target in re.findall(r"^make (\S+)", command)]

    assert sorted(made) == [".venv/bin/flux-tenancy", "lint", "test-unit"] and {*made} <= targets()
    assert {command for command in others if not command.startswith(("make ", "umask ", "python -m venv "))} == {
        ".venv/bin/python -m dev.lab bundles",
        "mkdir -p .render && git rev-parse HEAD^1 > .render/base",
        'pulumi preview --json --non-interactive --stack "$PREVIEWED_STACK" > preview.json',
    }


def test_each_job_that_runs_flux_tenancy_installs_it_first():
    for workflow, name, job in jobs():
        uses = [step.get("uses", step.get("run", "")) for step in job.get("steps", ())]
        commands = [at for at, each in enumerate(uses) if each.startswith("flux-tenancy ")]
        assert not commands or f"{SELF}.github/actions/setup" in uses[: commands[0]], f"{workflow}.{name}"


def test_no_command_has_an_expression_in_it_and_no_long_lived_secret_is_used():
    """GitHub replaces expressions before a shell reads the command, so that a branch's name would be part of it."""
    assert [(where, step["run"]) for where, step in steps() if "${{" in step.get("run", "")] == []
    assert [file.name for file in [*WORKFLOWS, *ACTIONS] if "secrets." in file.read_text(encoding="utf-8")] == []


def test_a_checkout_leaves_no_token_behind():
    checkouts = [step for _, step in steps() if step.get("uses", "").startswith("actions/checkout@")]

    assert len(checkouts) == sum("steps" in job for _, _, job in jobs())
    assert [step for step in checkouts if step["with"]["persist-credentials"] is not False] == []


def test_jobs_that_forks_reach_have_no_secret_no_identity_and_no_environment():
    review = read(GITHUB / "workflows" / "review.yaml")
    assert list(review["on"]) == ["pull_request", "merge_group", "workflow_call"]
    for name, job in review["jobs"].items():
        if name == "preview":
            assert job["if"].startswith("github.event.pull_request.head.repo.full_name == github.repository && ")
        else:
            assert "environment" not in job and job["permissions"] == {"contents": "read"}
            assert "github.token" not in json.dumps(job) and "vars." not in json.dumps(job)


def test_only_the_comment_runs_after_a_pull_request_and_on_the_default_branch():
    triggers = {file.stem: set(read(file)["on"]) for file in WORKFLOWS}
    assert [name for name, on in triggers.items() if "workflow_run" in on] == ["comment"]
    assert not any("pull_request_target" in on or "issue_comment" in on for on in triggers.values())
    for job in read(GITHUB / "workflows" / "comment.yaml")["jobs"].values():
        [checkout] = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert set(checkout["with"]) == {"persist-credentials"}
        # A run that is called has the event of its caller.
        assert job["if"].startswith("github.event")


def test_every_workflow_of_a_project_can_be_called_by_another_repository():
    for file in TEMPLATE.glob("workflows/*.yaml"):
        assert "workflow_call" in read(file)["on"], file.name


def test_a_stack_is_updated_by_one_job_at_a_time_in_its_environment_and_held_to_what_was_approved():
    [job] = read(GITHUB / "workflows" / "apply-stack.yaml")["jobs"].values()

    assert job["environment"] == "${{ inputs.stack }}"
    assert job["concurrency"] == {"group": "apply-${{ inputs.stack }}", "cancel-in-progress": False}
    [apply] = [step for step in job["steps"] if step.get("run", "").startswith("flux-tenancy up ")]
    assert '--stack "$APPLIED_STACK" --approved "$APPROVED_DIGEST"' in apply["run"]
    assert apply["env"]["APPROVED_DIGEST"] == ".approved/${{ inputs.stack }}/digest.json"


def test_production_comes_after_all_other_stacks():
    jobs = read(GITHUB / "workflows" / "apply.yaml")["jobs"]

    assert jobs["production"]["needs"] == ["stacks", "others"]
    # `!failure()` is true if a job before it was cancelled, or was skipped because one before that had failed.
    assert "needs.others.result == 'success'" in jobs["production"]["if"]
    assert "!failure()" not in jobs["production"]["if"]


def test_a_report_is_made_anew_for_another_base_and_for_a_merge_queue():
    """https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows#pull_request"""
    on = read(GITHUB / "workflows" / "review.yaml")["on"]

    assert set(on["pull_request"]["types"]) == {"opened", "reopened", "synchronize", "edited"}
    assert "merge_group" in on


def test_a_required_job_of_the_review_is_never_skipped():
    """A skipped job counts as passed,
    https://docs.github.com/en/actions/how-tos/write-workflows/choose-when-workflows-run/control-jobs-with-conditions
    """
    jobs = read(GITHUB / "workflows" / "review.yaml")["jobs"]

    assert [name for name, job in jobs.items() if "if" in job] == ["preview"]


def test_a_comment_is_marked_when_a_run_begins_and_when_the_base_moves():
    comment = read(GITHUB / "workflows" / "comment.yaml")
    assert comment["on"]["workflow_run"]["types"] == ["requested", "completed"]
    assert comment["on"]["push"] == read(GITHUB / "workflows" / "apply.yaml")["on"]["push"]


def test_the_report_is_checked_by_the_program_that_the_job_builds():
    job = read(GITHUB / "workflows" / "review.yaml")["jobs"]["report"]
    used = [step["uses"].partition("@")[0] for step in job["steps"]]

    assert used == ["actions/checkout", *(f"{SELF}.github/actions/{each}" for each in ("setup", "admission", "review"))]
    for github in (GITHUB, TEMPLATE):
        action = read(github / "actions" / "admission" / "action.yaml")["runs"]["steps"]
        assert action[-1]["run"] == "flux-tenancy review build-admission"


def test_the_published_action_has_the_steps_and_parameters_of_the_template():
    published, job = read(PUBLISHED), read(TEMPLATE / "workflows" / "review.yaml")["jobs"]["report"]
    own = read(TEMPLATE / "actions" / "review" / "action.yaml")
    template = f"{SELF}{TEMPLATE.relative_to(PROJECT)}/"

    steps = [step | {"uses": step["uses"].replace(template, f"{SELF}.github/")} for step in published["runs"]["steps"]]
    assert steps == job["steps"][1:]
    assert published["inputs"] == own["inputs"]
    assert published["outputs"].keys() == own["outputs"].keys()
    assert job["outputs"]["stacks"] == published["outputs"]["stacks"]["value"]


def test_the_published_action_in_the_docs_gets_the_checkout_of_the_workflow():
    page = (PROJECT / "docs" / "review.md").read_text(encoding="utf-8")
    [shown] = [text for text in re.findall("```yaml\n(.*?)```", page, re.DOTALL) if "/review@" in text]
    checkout, action = loaded(shown)["steps"]

    own = read(GITHUB / "workflows" / "review.yaml")["jobs"]["report"]["steps"]
    assert checkout == own[0]
    owner, _, path = action["uses"].partition("/")
    assert path == "flux-tenancy/review@v0" and owner


def test_every_step_of_an_action_names_its_shell():
    """https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax#runsstepsshell"""
    steps = [(file, step) for file in [*ACTIONS, PUBLISHED] for step in read(file)["runs"]["steps"]]
    assert [(str(file), step["run"]) for file, step in steps if "run" in step and "shell" not in step] == []


def test_no_artifact_has_what_a_preview_printed():
    uploaded = [step["with"]["path"] for _, step in steps() if "upload-artifact@" in step.get("uses", "")]

    assert uploaded and not any("preview.json" in path for path in uploaded)


def test_no_workflow_names_a_stack():
    stacks = {file.name.removeprefix("Pulumi.").removesuffix(".yaml") for file in PROJECT.glob("Pulumi.*.yaml")}
    for workflow, name, job in jobs():
        assert stacks.isdisjoint(values(job)), f"{workflow}.{name}"


def values(content: Any) -> Iterator[str]:
    """Every string in a job that is not a key."""
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list):
        for each in content:
            yield from values(each)
    elif isinstance(content, str):
        yield content

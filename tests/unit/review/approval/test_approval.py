"""An update that differs from the approved render is refused."""

from __future__ import annotations

import json
from contextlib import nullcontext, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pulumi
import pytest
from message_codes import code_of_refusal, codes
from sample_objects import kubernetes, render_of

from flux_tenancy.components.config.errors import ConfigurationError, Problem
from flux_tenancy.components.engine import pulumi_command
from flux_tenancy.components.engine.pulumi_command import Process, changing_options
from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.review.approval import check as check_module
from flux_tenancy.review.approval import guard
from flux_tenancy.review.approval.guard import VARIABLE, refuse_unapproved
from flux_tenancy.review.render.rendered import Digests, Render, RenderedObject

FILE = StackFile("Pulumi.staging.yaml", {})


def role(name: str = "dev-team", verbs: tuple[str, ...] = ("get",)) -> RenderedObject:
    return kubernetes("Role", name, "apps", rules=[{"resources": ["pods"], "verbs": [*verbs]}])


APPROVED = render_of(role(), role("gone"))
CHANGED = render_of(role(verbs=("get", "escalate")), role("new"))


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path, monkeypatch) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: platform\nruntime: python\n")
    (tmp_path / "Pulumi.staging.yaml").write_text("config: {}\n")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def applied(monkeypatch) -> list[Render]:
    """What the stack would apply: the last of the list."""
    renders = [APPROVED]
    monkeypatch.setattr(check_module, "render_stack", lambda project, stack: renders[-1])
    return renders


@pytest.fixture
def file(tmp_path) -> Path:
    """The digest.json of the approved render."""
    path: Path = tmp_path / "digest.json"
    path.write_text(Digests.of(APPROVED).as_json())
    return path


class Answer(NamedTuple):
    exit_code: int
    stderr: str
    stdout: str


def check(digest: object, stack: str = "staging") -> Answer:
    """What the process answers that compares a stack with an approval."""
    with redirect_stderr(StringIO()) as errors, redirect_stdout(StringIO()) as out:
        status = check_module.main(".", stack, str(digest))
    return Answer(status, errors.getvalue(), out.getvalue())


def test_what_was_approved_is_accepted_by_its_digest_and_by_its_file(applied, file):
    said = f"Stack staging would apply {APPROVED.digest}, as approved.\n"

    assert check(APPROVED.digest) == check(file) == (0, "", said)
    assert check(file, "acme/platform/staging").exit_code == 0


def test_another_render_is_refused_with_both_digests_and_how_to_see_the_difference(applied):
    applied.append(CHANGED)

    refused = check(APPROVED.digest)

    assert refused.exit_code == 1
    assert codes(refused.stderr.splitlines()[:1]) == ["FT-REV-501"]
    assert APPROVED.digest in refused.stderr and CHANGED.digest in refused.stderr
    assert "digest.json" in refused.stderr


def test_the_file_of_the_approved_render_names_what_differs(applied, file):
    applied.append(CHANGED)

    refused = check(file)

    assert refused.exit_code == 1
    assert [line for line in refused.stderr.splitlines() if line.startswith("  ")] == [
        "  changed dev-team/apps/role-dev-team.yaml",
        "  removed dev-team/apps/role-gone.yaml",
        "  added dev-team/apps/role-new.yaml",
    ]


def test_a_long_list_of_differences_is_counted(applied, file):
    applied.append(render_of(role(), role("gone"), *(role(f"more-{number:02}") for number in range(30))))

    lines = check(file).stderr.splitlines()

    assert "  added dev-team/apps/role-more-19.yaml" in lines
    assert "  and 10 more" in lines and "  added dev-team/apps/role-more-20.yaml" not in lines


@pytest.mark.parametrize(
    "digest", ["", "sha256:0123", "sha256:" + "0" * 63, "sha256:" + "0" * 64 + "\n", "absent.json"]
)
def test_anything_else_is_an_error_and_approves_nothing(applied, digest):
    assert code_of_refusal(check(digest)) == "FT-REV-503"


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"stack": "staging", "digest": "sha256:1", "objects": {}}'])
def test_a_file_without_the_digests_of_this_stack_is_an_error(applied, file, tmp_path, content):
    (tmp_path / "Pulumi.production.yaml").write_text("config: {}\n")
    assert code_of_refusal(check(file, stack="production")) == "FT-REV-503"

    file.write_text(content)

    assert code_of_refusal(check(file)) == "FT-REV-503"


def test_names_in_an_approved_file_cannot_control_the_terminal(applied, file):
    content = json.loads(file.read_text())
    content["objects"]["\u202eall is well\r"] = APPROVED.digest
    content["digest"] = CHANGED.digest
    file.write_text(json.dumps(content))

    refused = check(file)

    assert refused.exit_code == 1
    assert "\u202e" not in refused.stderr and "\r" not in refused.stderr


def test_a_stack_that_cannot_be_rendered_is_told_apart_from_one_that_differs(monkeypatch):
    def fail(project, stack):
        raise ConfigurationError([Problem("Pulumi.staging.yaml", "flux", "is wrong")])

    monkeypatch.setattr(check_module, "render_stack", fail)

    failed = check(APPROVED.digest)

    assert failed.exit_code == 2
    assert "Pulumi.staging.yaml: flux: is wrong" in failed.stderr


COMMAND = """
import os, sys
print("arguments:", *sys.argv[2:])
print("variables:", *sorted(name for name in os.environ if name.startswith("PULUMI_")))
print("path:", *(each for each in sys.path if not each or each == os.getcwd()))
print("error: somewhere else" if {status} else "as approved", file=sys.stderr)
sys.exit({status})
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch):
    """A project whose check answers with a status."""

    def with_status(status: int) -> Path:
        monkeypatch.setattr(guard, "_CHECK", COMMAND.format(status=status))
        return tmp_path

    return with_status


@pytest.fixture
def said(monkeypatch) -> list[str]:
    lines: list[str] = []
    monkeypatch.setattr(pulumi.log, "info", lines.append)
    return lines


def test_without_the_variable_the_program_applies_everything(tmp_path, said):
    refuse_unapproved("staging", tmp_path, FILE, {})

    assert said == []


def test_the_program_goes_on_with_what_was_approved(project, said, tmp_path):
    environ = {VARIABLE: APPROVED.digest, "PULUMI_CONFIG": "{}", "PULUMI_CONFIG_PASSPHRASE": "hidden"}

    refuse_unapproved("staging", project(0), FILE, environ)

    assert said == [f"arguments: {tmp_path} staging {APPROVED.digest}\nvariables:\npath:"]


@pytest.mark.parametrize("status", [1, 2])
def test_the_program_stops_where_something_else_was_approved_or_that_is_unknown(project, status):
    with pytest.raises(pulumi.RunError, match="^somewhere else$"):
        refuse_unapproved("staging", project(status), FILE, {VARIABLE: APPROVED.digest})


def test_an_empty_variable_is_not_the_same_as_none(project):
    with pytest.raises(pulumi.RunError):
        refuse_unapproved("staging", project(1), FILE, {VARIABLE: ""})


@pytest.mark.parametrize(
    "file",
    [
        StackFile("other.yaml", {}, option=" --config-file other.yaml"),
        StackFile("Pulumi.staging.yaml", {}, imports=True),
    ],
    ids=["another file", "an environment"],
)
def test_values_that_the_render_does_not_contain_cannot_be_approved(project, file):
    with pytest.raises(pulumi.RunError) as refused:
        refuse_unapproved("staging", project(0), file, {VARIABLE: APPROVED.digest})

    assert codes([refused.value]) == ["FT-REV-505"]


@pytest.mark.parametrize(
    "name", ["REPLACE", "TARGET", "TARGETS", "EXCLUDE", "CONFIG", "TARGET_DEPENDENTS", "NOBODY_KNOWS"]
)
def test_options_of_the_engine_that_change_what_is_applied_cannot_be_approved(project, name):
    with pytest.raises(pulumi.RunError) as refused:
        refuse_unapproved(
            "staging", project(0), FILE, {VARIABLE: APPROVED.digest, f"PULUMI_OPTION_{name}": "something"}
        )

    assert codes([refused.value]) == ["FT-REV-506"]
    assert f"--{name.lower().replace('_', '-')} changes" in str(refused.value)


@pytest.mark.parametrize(
    "name", ["YES", "DIFF", "PARALLEL", "NON_INTERACTIVE", "SUPPRESS_OUTPUTS", "REFRESH", "CONTINUE_ON_ERROR"]
)
def test_other_options_of_the_engine_can_be_used_with_an_approval(project, name, said):
    refuse_unapproved("staging", project(0), FILE, {VARIABLE: APPROVED.digest, f"PULUMI_OPTION_{name}": "1"})

    assert len(said) == 1


@pytest.mark.parametrize(
    "arguments", [["--target=a"], ["--replace", "b"], ["-c", "a=b"], ["--config=a=b"], ["--exclude", "a"]]
)
def test_the_same_holds_for_options_of_the_command(arguments):
    command = Process(["/bin/pulumi", "up", "--yes", "--stack", "a", *arguments], Path("/"))

    assert changing_options((), [command], {}) == [arguments[0].partition("=")[0]]


@pytest.mark.parametrize(("further", "is_refused"), [([], False), (["--target=**::Role::**"], True)])
def test_the_targets_of_a_first_update_change_nothing(project, said, monkeypatch, further, is_refused):
    targets = [*(f"--target={each}" for each in guard.RECORDED_FIRST), *further]
    command = Process(["pulumi", "up", "--stack", "a", "-y", *targets], Path("/"))
    monkeypatch.setattr(pulumi_command, "ancestors", lambda: iter([command]))

    with pytest.raises(pulumi.RunError, match="FT-REV-506") if is_refused else nullcontext():
        refuse_unapproved("staging", project(0), FILE, {VARIABLE: APPROVED.digest})

    assert len(said) == (not is_refused)

"""What decides about an update besides the objects: in the render, its digest, the report and a refusal."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from sample_objects import render_of
from sample_project import SALT, encrypted, tenant, write_project, write_stack
from sample_reports import report

from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.review.approval.check import compare
from flux_tenancy.review.changes.objects import changes, fact_changes, fact_statements
from flux_tenancy.review.render import facts
from flux_tenancy.review.render.facts import Written
from flux_tenancy.review.render.rendered import Digests, Render
from flux_tenancy.review.render.stack import render_stack
from flux_tenancy.review.report.comparison import Side, stack_report
from flux_tenancy.review.report.json_report import as_json
from flux_tenancy.review.report.model import StackReport

LOCKED = """\
# of pip-compile
pulumi==3.259.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via -r requirements.in
Flux-Tenancy[a]==0.1.0 ; python_version > "3"
-r others.txt
"""


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def render(folder: Path, **others: Any) -> Render:
    """The render of a project with one tenant, of which the stack's file has these `sections` and further keys.

    What is named like a file is its content.
    """
    write_project(folder)
    sections = others.pop("sections", {})
    (folder / "tenants" / "dev-team.yaml").write_text(others.pop("base", ""))
    files = {name: others.pop(name) for name in [*others] if "." in name or name == "kubeconfig"}
    for name, text in files.items():
        (folder / name).write_text(text)
    write_stack(folder, **sections)
    file = folder / "Pulumi.staging.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | others))
    return render_stack(folder, "staging")


def with_two_contents(folder: Path, file: str, tracked: str = "", **others: Any) -> list[Render]:
    """The renders of two projects that differ only in what this file says, with `tracked` in the index of Git."""
    found = []
    for content in ("a", "b"):
        project = folder / content
        render(project, **others)
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).write_text(content)
        if tracked:
            git(project, "init", "-q")
            git(project, "add", tracked)
        found.append(render_stack(project, "staging"))
    return found


def differing(before: Render, after: Render) -> set[str]:
    """The names of the facts that differ."""
    old, new = Digests.of(before).facts, Digests.of(after).facts
    return {name for name in {*old, *new} if old.get(name) != new.get(name)}


CASES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "another cluster": ({"sections": {"cluster": {"kubeconfig": "kubeconfig", "context": "b"}}}, {"config/cluster"}),
    "adoption": ({"sections": {"cluster": {"kubeconfig": "kubeconfig", "adopt": True}}}, {"config/cluster"}),
    "production": ({"sections": {"cluster": {"kubeconfig": "kubeconfig", "production": True}}}, {"config/cluster"}),
    "GitHub": ({"sections": {"github": {"baseUrl": "https://git.example.com/api/v3"}}}, {"config/github"}),
    "webhooks": ({"sections": {"flux": {"webhookUrl": "https://a.example.com"}}}, {"config/flux"}),
    "secrets provider": ({"secretsprovider": "awskms://alias/a"}, {"Pulumi.staging.yaml"}),
    "encryption": ({"encryptionsalt": "v1:other"}, {"Pulumi.staging.yaml", "config/tenants/dev-team"}),
    "Pulumi": ({"Pulumi.yaml": "name: flux-tenancy\nruntime: python\nbackend: {url: s3://a}\n"}, {"Pulumi.yaml"}),
    "autonaming": (
        {"Pulumi.yaml": "name: flux-tenancy\nconfig: {'pulumi:autonaming': {value: {mode: verbatim}}}\n"},
        {"Pulumi.yaml"},
    ),
    "program": ({"__main__.py": "print()"}, {"program"}),
    "packages": ({"requirements.txt": "a-package==3.260.0"}, {"packages", "program"}),
    "code": ({"helper.py": "print()"}, {"program"}),
    "code in another form": ({"helper.cpython-311.pyc": ""}, {"program"}),
    "base": ({"base": "source: {interval: 5m}"}, {"config/tenants/dev-team"}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_decides_about_an_update_changes_the_digest_and_a_refusal_names_it(tmp_path, case):
    change, expected = CASES[case]
    before, after = render(tmp_path / "a"), render(tmp_path / "b", **change)

    assert differing(before, after) == expected
    assert before.digest != after.digest
    refused = compare(Digests.of(before), Digests.of(after))
    assert refused is not None
    for name in expected:
        assert f"\n  {'changed' if name in Digests.of(before).facts else 'added'} {name}" in refused.report


@pytest.mark.parametrize("entry", ["{}", None, {}])
def test_a_tenant_without_keys_in_the_stacks_file_is_its_base(entry):
    written = Written("Pulumi.staging.yaml", values={"tenants": {"a": entry}}, tenants={"a": {"role": "tenant"}})

    assert written.merged == {"tenants": {"a": {"role": "tenant"}}}


def test_values_that_only_yaml_has_are_texts(tmp_path):
    found = (
        render(
            tmp_path / "a",
            **{"Pulumi.yaml": "name: flux-tenancy\nruntime: !!binary aGk=\nmain: 2027-01-31 10:00:00\n8: 9\n"},
        ).facts
        or {}
    )

    assert found["Pulumi.yaml"] == {"name": "flux-tenancy", "runtime": "b'hi'", "main": "2027-01-31T10:00:00", "8": 9}


def test_facts_have_no_secret_and_nothing_of_this_machine(tmp_path):
    sections = {
        "cluster": {"kubeconfig": str(tmp_path / "kubeconfig")},
        "tenants": {"dev-team": tenant("dev-team", "a")},
    }
    (tmp_path / "kubeconfig").write_text("token: hunter2")

    text = json.dumps(render(tmp_path / "project", sections=sections).facts)

    assert encrypted("dev-team-first")["secure"] not in text and SALT not in text
    assert text.count(str(tmp_path)) == 1  # as the stack's file has it
    assert facts.KUBECONFIG not in json.loads(text)


def test_the_same_project_in_another_folder_has_the_same_digest(tmp_path):
    for name in ("a", "b"):
        render(tmp_path / name)
        (tmp_path / name / "__main__.py").write_bytes(b"import pulumi\n" if name == "a" else b"import pulumi\r\n")
    (tmp_path / "b" / "__pycache__").mkdir()
    (tmp_path / "b" / "__pycache__" / "x.pyc").touch()

    assert render_stack(tmp_path / "a", "staging") == render_stack(tmp_path / "b", "staging")


@pytest.mark.parametrize(("tracked", "counts"), [(True, True), (False, False)])
def test_a_kubeconfig_counts_where_it_is_a_file_of_the_repository(tmp_path, tracked, counts):
    found = with_two_contents(tmp_path, "kubeconfig", "kubeconfig" if tracked else "Pulumi.yaml", kubeconfig="")

    assert differing(*found) == ({facts.KUBECONFIG} if counts else set())
    [said] = fact_statements(fact_changes(*found)) if counts else [None]
    assert said is None or said.risk and "kubeconfig in the repository has other content" in said.text


def test_requirements_are_read_without_comments_and_with_one_digest_of_their_files(tmp_path):
    found = render(tmp_path / "a", **{"requirements.txt": LOCKED}).facts or {}
    other = (
        render(tmp_path / "b", **{"requirements.txt": LOCKED.replace("aa", "cc").replace("# of", "# by")}).facts or {}
    )

    assert {name: each.partition(" (")[0] for name, each in found["packages"].items()} == {
        "pulumi": "==3.259.0",
        "flux-tenancy": '[a]==0.1.0 ; python_version > "3"',
    }
    assert {name for name in found["packages"] if found["packages"][name] != other["packages"][name]} == {"pulumi"}


def test_the_installed_packages_count_with_their_recorded_hashes(tmp_path):
    found = (render(tmp_path / "a").facts or {})["installed"]

    assert {"pulumi", "pulumi-github", "pulumi-kubernetes", "pyyaml"} <= found.keys()
    assert re.fullmatch(r"[0-9.]+ sha256:[0-9a-f]{12}…", found["pyyaml"])
    assert not {"pip", "pytest"} & found.keys()


def test_a_digest_is_that_of_json_with_sorted_keys_and_without_spaces():
    """Another release of the program recognizes what this one has approved."""
    expected = hashlib.sha256('{"a":"ü","b":[1,null]}'.encode()).hexdigest()

    assert facts.digest_of({"b": [1, None], "a": "ü"}) == f"sha256:{expected}"


@pytest.mark.parametrize(
    ("requirements", "file"),
    [
        ("-r more/others.txt", "more/others.txt"),
        ("-c constraints.txt", "constraints.txt"),
        ("--constraint=constraints.txt", "constraints.txt"),
        ("--find-links wheels", "wheels/a_package-1-py3-none-any.whl"),
        ("-f ./wheels", "wheels/a_package-1-py3-none-any.whl"),
        ("wheels/a_package-1-py3-none-any.whl", "wheels/a_package-1-py3-none-any.whl"),
        ("-e ./own", "own/module.py"),
        # Each form in which pip takes a path.
        ("-rmore.txt", "more.txt"),
        ("--pre -r more.txt", "more.txt"),
        ("\ufeff-r more.txt", "more.txt"),
        ("-fwheels", "wheels/a.tgz"),
        ("./x.tar.gz ; python_version > '3'", "x.tar.gz"),
        ("x @ file:x.tar.gz", "x.tar.gz"),
        ("./wheels/x.whl[extra]", "wheels/x.whl"),
        ("./lib", "lib/pyproject.toml"),
        ("-e ./lib[x]", "lib/setup.cfg"),
    ],
)
def test_what_pip_reads_because_the_requirements_name_it_counts_by_its_content(tmp_path, requirements, file):
    assert differing(*with_two_contents(tmp_path, file, **{"requirements.txt": requirements})) == {"program"}


def test_a_requirement_behind_a_comment_that_pip_does_not_continue_counts(tmp_path):
    plain = render(tmp_path / "a", **{"requirements.txt": "b==1\n"})
    hidden = render(tmp_path / "b", **{"requirements.txt": "b==1\n# pinned by the platform team, see \\\nevil==1.0\n"})

    assert "program" in differing(plain, hidden)


@pytest.mark.parametrize("text", ["-r requirements.txt", "-r others.txt\na==1", "-r " + "a" * 5000, "-r ."])
def test_odd_requirements_end_in_a_digest(tmp_path, text):
    assert render(tmp_path / "a", **{"requirements.txt": text, "others.txt": "-r requirements.txt\nb==1"}).digest


@pytest.mark.parametrize(
    ("kubeconfig", "file"),
    [
        ({"clusters": [{"cluster": {"certificate-authority": "keys/ca.crt"}}]}, "keys/ca.crt"),
        ({"users": [{"user": {"exec": {"command": "./login.sh"}}}]}, "login.sh"),
        ({"users": [{"user": {"exec": {"command": "sh", "args": ["-e", "login.sh"]}}}]}, "login.sh"),
    ],
)
def test_files_that_a_kubeconfig_of_the_repository_names_count_by_their_content(tmp_path, kubeconfig, file):
    found = with_two_contents(tmp_path, file, "kubeconfig", kubeconfig=yaml.safe_dump(kubeconfig))

    assert differing(*found) == {facts.KUBECONFIG}


@pytest.mark.parametrize(
    ("link", "to", "file", "fact"),
    [("current", "eu", "kubeconfig", facts.KUBECONFIG), ("helper", "../elsewhere", "__init__.py", "program")],
)
def test_what_is_behind_a_link_counts_by_its_content(tmp_path, link, to, file, fact):
    project = tmp_path / "a"
    linked = project / to
    render(project, sections={"cluster": {"kubeconfig": "current/kubeconfig"}})
    linked.mkdir()
    (linked / file).write_text("server: a")
    (project / link).symlink_to(to)
    git(project, "init", "-q")
    git(project, "add", ".")
    before = render_stack(project, "staging")

    (linked / file).write_text("server: b")

    assert differing(before, render_stack(project, "staging")) == {fact}


@pytest.mark.parametrize("file", [".github/workflows/apply.yaml", ".github/actions/a/action.yaml", "CODEOWNERS"])
def test_workflows_and_owners_count_and_a_reviewer_reads_that_they_differ(tmp_path, file):
    found = with_two_contents(tmp_path, file)

    assert differing(*found) == {facts.WORKFLOWS}
    [said] = fact_statements(fact_changes(*found))
    assert said.risk and said.text == f"who approves changes, or how they are applied, may differ: {file}"


def test_a_plugin_that_the_project_brings_along_counts_by_its_content(tmp_path):
    text = "name: flux-tenancy\nruntime: python\nplugins: {providers: [{name: kubernetes, path: bin}]}\n"
    found = with_two_contents(tmp_path, "bin/pulumi-resource-kubernetes", **{"Pulumi.yaml": text})

    assert differing(*found) == {"program"}


def test_the_sources_are_those_of_all_packages_of_the_product(tmp_path, monkeypatch):
    package = tmp_path / "flux_tenancy"
    for name in ("__init__.py", "components/a.py", "components/__pycache__/a.pyc", "notes.md"):
        (tmp_path / "real" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "real" / name).write_text("x")
    package.mkdir()
    (package / "__init__.py").write_text("x")
    (package / "components").symlink_to(tmp_path / "real" / "components")

    def digest(folder: Path) -> str:
        monkeypatch.setattr(facts, "PACKAGE", folder)
        facts.sources_digest.cache_clear()
        return facts.sources_digest()

    try:
        assert digest(package) == digest(tmp_path / "real")
        (package / "components" / "a.py").write_text("y")
        changed = digest(package)
        (tmp_path / "real" / "components" / "a.py").write_text("x")
        assert digest(package) != changed
        assert [digest(package), digest(tmp_path / "real")][0] == digest(tmp_path / "real")
    finally:
        facts.sources_digest.cache_clear()


def with_facts(**found: Any) -> Render:
    return Render.of("staging", render_of().objects, facts=found)


def reported(before: Render, after: Render, stack: str = "staging") -> StackReport:
    file = StackFile("Pulumi.staging.yaml", {})
    return stack_report(stack, Side(file, before), Side(file, after))


def test_a_reviewer_reads_one_line_about_the_program_and_its_packages():
    before = with_facts(program={"sources": "a", "__main__.py": "b"}, packages={"pulumi": "==1", "x": "==1"})
    after = with_facts(program={"sources": "c", "__main__.py": "b"}, packages={"pulumi": "==2", "y": "==1"})

    found = report(*(reported(before, after, name) for name in ("production", "staging")))

    line = "the program differs: sources, pulumi 1 -> 2, x 1 -> none and y none -> 1"
    [section] = found.sections
    [group] = section.groups
    assert (group.stacks, [each.sentence for each in group.said]) == (("all stacks",), [line])
    assert found.headline == line
    assert [each["fact"] for each in json.loads(as_json(found))["facts"]] == [
        "packages.pulumi",
        "packages.x",
        "packages.y",
        "program.sources",
    ]
    assert found.stacks[0].is_changed


def test_nothing_is_said_about_facts_that_repeat_keys_or_that_an_earlier_program_did_not_record():
    after = with_facts(program={"sources": "a"}, packages={"pulumi": "1"})

    assert not reported(replace(after, facts=None), after).is_changed
    assert not changes(replace(after, facts=None), after)
    assert not reported(with_facts(**{"config/flux": 1}), with_facts(**{"config/flux": 2})).is_changed

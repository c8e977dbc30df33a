"""The offline render: the objects of an update, without cluster, passphrase or anything of this machine."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from pulumi.runtime.settings import SETTINGS
from sample_kyverno import KYVERNO, chart_archive
from sample_project import encrypted, rendered, tenant, write_project, write_stack
from sample_sops_keys import age_identity

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.project.errors import OperationError
from flux_tenancy.review.render import stack as stack_renders
from flux_tenancy.review.render.rendered import GENERATED, Render, write_render
from flux_tenancy.review.render.stack import TARGET, is_plain, record, render_stack


def of_kind(render, kind, owner="dev-team"):
    return [each for each in render.objects if (each.owner, each.kind) == (owner, kind)]


def test_a_render_has_every_object_of_a_tenant_below_its_name(tmp_path):
    render = rendered(tmp_path / "project")

    assert [str(each.path) for each in render.objects if each.owner == "dev-team"] == [
        "dev-team/apps/gitrepository-dev-team.yaml",
        "dev-team/apps/kustomization-dev-team.yaml",
        "dev-team/apps/limitrange-dev-team-containers.yaml",
        "dev-team/apps/resourcequota-dev-team-flux-objects.yaml",
        "dev-team/apps/resourcequota-dev-team-objects.yaml",
        "dev-team/apps/role-flux-impersonation.yaml",
        "dev-team/apps/rolebinding-dev-team-reconciler.yaml",
        "dev-team/apps/rolebinding-flux-impersonation.yaml",
        "dev-team/apps/rolebinding-flux-secrets.yaml",
        "dev-team/apps/secret-dev-team-git.yaml",
        "dev-team/apps/serviceaccount-dev-team.yaml",
        "dev-team/cluster/namespace-apps.yaml",
    ]


def test_a_render_and_its_digest_have_what_flux_may_do_in_a_namespace_that_is_not_of_the_stack(tmp_path):
    named = {"impersonate": [{"namespace": "infra", "serviceAccounts": ["applier"]}]}
    before, after = rendered(tmp_path / "a"), rendered(tmp_path / "b", flux=named)

    paths = {str(each.path) for each in after.objects} - {str(each.path) for each in before.objects}

    assert {path.rpartition("/")[2] for path in paths} == {
        "role-flux-impersonation.yaml",
        "rolebinding-flux-impersonation.yaml",
        "rolebinding-flux-secrets.yaml",
    }
    assert all("/infra/" in path for path in paths)
    assert before.digest != after.digest


@pytest.mark.parametrize(
    ("policies", "actions"),
    [({}, ["Deny"]), ({"mode": "audit"}, ["Audit", "Warn"]), ({"engine": "none"}, None)],
    ids=["enforced", "audited", "without an engine"],
)
def test_kubernetes_itself_decides_which_namespaces_get_a_tenants_label(tmp_path, policies, actions):
    bindings = {
        each.name: each.manifest["spec"]["validationActions"]
        for each in of_kind(
            rendered(tmp_path / "project", policies=policies), "ValidatingAdmissionPolicyBinding", "platform"
        )
    }

    for name in ("flux-tenancy-tenant-labels", "flux-tenancy-listed-tenants"):
        assert bindings.get(name) == actions


def test_a_secret_shows_where_its_value_is_and_a_digest_that_changes_with_it(tmp_path):
    [before] = of_kind(rendered(tmp_path / "a"), "Secret")
    [after] = of_kind(rendered(tmp_path / "b", tenants={"dev-team": tenant("dev-team", "apps", "second")}), "Secret")

    identity = before.manifest["stringData"]["identity"]
    assert identity.startswith("<encrypted tenants.dev-team.source.deployKey ")
    assert identity != after.manifest["stringData"]["identity"]
    assert before.manifest["stringData"]["known_hosts"] == after.manifest["stringData"]["known_hosts"]


def test_the_digest_of_a_secret_is_not_the_digest_of_another_stacks_copy(tmp_path):
    """Whoever reads both renders must not learn that two stacks have the same value."""
    project = write_project(tmp_path / "project")
    (project / "tenants" / "dev-team.yaml").touch()
    write_stack(project)
    write_stack(project, "production")
    production = project / "Pulumi.production.yaml"
    production.write_text(production.read_text().replace("v1:cJq06Aj7bdA=", "v1:AAAAAAAAAAA="))

    [staging], [other] = (of_kind(render_stack(project, stack), "Secret") for stack in ("staging", "production"))

    assert staging.manifest["stringData"]["identity"] != other.manifest["stringData"]["identity"]


def test_keys_of_every_kind_may_stay_encrypted(tmp_path):
    team = tenant("dev-team", "apps")
    team["sync"]["decryption"] = {
        "age": {"identities": encrypted("age"), "recipients": [age_identity("of dev-team").recipient]},
        "openpgp": {"privateKeys": encrypted("openpgp"), "fingerprints": ["A" * 40]},
    }
    app = {"appId": 1, "installationId": 2, "privateKey": encrypted("app")}
    https = {"url": "https://git.example.com/ops/apps", "githubApp": app}
    ops = {"namespaces": [{"name": "ops"}], "source": https, "sync": {"path": "./staging"}}
    policies = {"sources": {"allowed": ["ssh://git@git.example.com/*", "https://git.example.com/*"]}}

    render = rendered(tmp_path / "project", tenants={"dev-team": team, "ops-team": ops}, policies=policies)

    [keys] = [each for each in of_kind(render, "Secret") if each.name == "dev-team-sops"]
    assert len(keys.manifest["stringData"]) == 2
    [app_secret] = of_kind(render, "Secret", "ops-team")
    assert "<encrypted tenants.ops-team.source.githubApp.privateKey" in str(app_secret.manifest["stringData"])


def test_what_an_update_generates_is_named_as_generated(tmp_path):
    team = tenant("dev-team", "apps")
    team["source"]["webhook"] = {"type": "generic-hmac"}
    render = rendered(
        tmp_path / "project", tenants={"dev-team": team}, flux={"webhookUrl": "https://hooks.example.com"}
    )

    [token] = [each for each in of_kind(render, "Secret") if each.name == "dev-team-webhook"]
    assert token.manifest["data"] == GENERATED


@pytest.mark.parametrize(
    ("sections", "path"),
    [
        ({"flux": {"webhookUrl": encrypted("url")}}, "flux.webhookUrl"),
        ({"policies": {"serviceTypes": ["ClusterIP", encrypted("type")]}}, "policies.serviceTypes[1]"),
    ],
)
def test_a_value_that_is_encrypted_and_no_secret_is_an_error_with_its_key(tmp_path, sections, path):
    with pytest.raises(ConfigurationError) as raised:
        rendered(tmp_path / "project", **sections)

    [problem] = raised.value.problems
    assert (problem.path, problem.code) == (path, "FT-CFG-649")


def test_a_stack_with_errors_is_not_rendered_and_names_them_all(tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        rendered(tmp_path / "project", tenancy={"settleTimeout": 5}, policies={"mode": "audited"})

    assert {problem.path for problem in raised.value.problems} == {"tenancy.settleTimeout", "policies.mode"}


def test_a_render_is_written_as_one_file_for_each_object_and_replaces_the_previous_one(tmp_path):
    render = rendered(tmp_path / "project")
    out = tmp_path / "out"
    write_render(rendered(tmp_path / "other", tenants={"shop": tenant("shop", "shop")}), out)

    folder = write_render(render, out)

    assert sorted(str(file.relative_to(folder)) for file in folder.rglob("*.yaml")) == sorted(
        str(each.path) for each in render.objects
    )
    first = render.objects[0]
    assert yaml.safe_load((folder / first.path).read_text()) == first.manifest
    assert json.loads((folder / "digest.json").read_text())["digest"] == render.digest


def test_a_file_begins_as_people_write_manifests(tmp_path):
    folder = write_render(rendered(tmp_path / "project"), tmp_path / "out")

    lines = (folder / "dev-team/apps/kustomization-dev-team.yaml").read_text().splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "apiVersion: kustomize.toolkit.fluxcd.io/v1",
        "kind: Kustomization",
        "metadata:",
        "spec:",
    ]
    assert lines[3] == "  name: dev-team"


@pytest.mark.parametrize("is_rendered", [False, True])
def test_a_folder_with_other_files_is_left_alone(tmp_path, is_rendered):
    if is_rendered:
        write_render(rendered(tmp_path / "project"), tmp_path)
    notes = tmp_path / "staging" / "dev-team" / "notes.txt"
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.touch()
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(OperationError) as raised:
        write_render(rendered(tmp_path / "project"), tmp_path)

    assert raised.value.message.code == "FT-REV-001"
    assert set(before) <= set(tmp_path.rglob("*"))


def test_a_render_that_was_cut_off_is_replaced(tmp_path, monkeypatch):
    render = rendered(tmp_path / "project")
    first = render.objects[0].path
    written = iter(range(3))
    write_text = Path.write_text

    def until_it_is_full(path: Path, *arguments: Any, **options: Any) -> int:
        if next(written, None) is None:
            raise OSError(28, "No space left on device")
        return write_text(path, *arguments, **options)

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", until_it_is_full)
        with pytest.raises(OperationError):
            write_render(render, tmp_path / "out")

    assert (write_render(render, tmp_path / "out") / first).is_file()


def test_a_link_is_left_alone(tmp_path):
    render = rendered(tmp_path / "project")
    folder = write_render(render, tmp_path / "elsewhere")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "staging").symlink_to(folder)

    with pytest.raises(OperationError):
        write_render(render, tmp_path / "out")

    assert (folder / "digest.json").exists()


@pytest.mark.parametrize(
    "cluster",
    [
        {"kubeconfig": "kubeconfig", "context": "production"},
        {"kubeconfig": "kubeconfig", "uid": "0b9b2d5e-6f5c-4d5e-9b5e-2f6a0c3d4e5f"},
        {"kubeconfig": "other"},
        {"kubeconfigContent": encrypted("first")},
    ],
)
def test_the_digest_changes_with_the_cluster(tmp_path, cluster):
    render = rendered(tmp_path / "b", cluster=cluster)

    assert render.digest != rendered(tmp_path / "a").digest
    [target] = [each for each in render.objects if each.type == TARGET]
    assert str(target.path) == "platform/pulumi/cluster-cluster.yaml"
    shown = target.manifest["properties"].get("kubeconfigContent", "")
    assert "first" not in shown and bool(shown) == ("kubeconfigContent" in cluster)


def test_what_pulumi_protects_is_marked_and_part_of_the_digest(tmp_path):
    """The miniature release has a namespace and a definition of its own."""
    cluster = {"kubeconfig": "kubeconfig"}
    leaving = tenant("shop", "shop") | {"state": "leaving"}
    tenants = {"dev-team": tenant("dev-team", "apps"), "shop": leaving}
    before = rendered(tmp_path / "a", cluster=cluster | {"protect": True}, tenants=tenants)
    after = rendered(tmp_path / "b", cluster=cluster, tenants=tenants)

    protected = {(each.owner, each.kind) for each in before.objects if each.protected}
    assert protected == {
        ("dev-team", "Namespace"),
        ("platform", "CustomResourceDefinition"),
        ("platform", "Namespace"),
    }
    assert not any(each.protected for each in after.objects)
    differing = {each.key for each in before.objects} - {each.key for each in after.objects if each in before.objects}
    assert differing == {each.key for each in before.objects if each.protected}
    assert before.digest != after.digest
    folder = write_render(before, tmp_path / "out")
    file = (folder / "dev-team/cluster/namespace-apps.yaml").read_text()
    assert file.startswith("# protect: true\napiVersion:")


CHART = chart_archive()
METADATA = {"name": "a", "namespace": "apps", "labels": {}}


class Word(StrEnum):
    ONE = "one"


def with_everything(project: Path) -> Render:
    """A stack with generated names, secrets, Kyverno, a platform, protection and a tenant that leaves."""
    write_project(project)
    (project / "chart.tgz").write_bytes(CHART)
    hooked = tenant("dev-team", "apps")
    hooked["source"] |= {"url": "ssh://git@git.example.com/a/apps", "webhook": {"type": "generic-hmac"}}
    return rendered(
        project,
        cluster={"kubeconfig": "kubeconfig", "protect": True},
        kyverno=KYVERNO | {"sha256": hashlib.sha256(CHART).hexdigest(), "chart": {"bundle": "chart.tgz"}},
        policies={"engine": "both", "sources": {"allowed": ["ssh://git@git.example.com/*"]}},
        flux={"webhookUrl": "https://hooks.example.com", "sync": platform_sync()},
        tenants={"dev-team": hooked, "shop": tenant("shop", "shop") | {"state": "leaving"}},
    )


def platform_sync() -> Mapping[str, Any]:
    url = "ssh://git@git.example.com/platform/apps"
    return {"source": {"url": url, "deployKey": encrypted("platform")}, "path": "./staging"}


def test_a_render_has_the_same_objects_as_by_the_sdk(tmp_path, monkeypatch):
    def counted(properties: Any) -> bool:
        asked.append(is_plain(properties))
        return asked[-1]

    asked: list[bool] = []
    monkeypatch.setattr(stack_renders, "is_plain", counted)
    short = with_everything(tmp_path / "short")
    monkeypatch.setattr(stack_renders, "is_plain", lambda _: False)
    by_the_sdk = with_everything(tmp_path / "sdk")

    assert short == by_the_sdk
    assert sum(asked) / len(asked) > 0.9
    assert False in asked


@pytest.mark.parametrize(
    "value",
    [pulumi.UNKNOWN, None, Word.ONE, (1, 2), {1: "a"}, pulumi.FileAsset("a"), object()],
    ids=["unknown", "none", "enum", "tuple", "key", "asset", "object"],
)
def test_the_sdk_takes_what_is_not_plain_data(value):
    assert is_plain({"metadata": METADATA, "spec": [{"a": 1.5, "b": True}]})
    assert not is_plain({"metadata": METADATA, "spec": [{"a": value}]})


def test_the_sdk_takes_what_gets_a_generated_name():
    assert not is_plain({"metadata": {"namespace": "apps"}})


def test_a_plain_resource_has_its_properties_as_attributes():
    def program() -> None:
        first = pulumi.CustomResource("example:index:First", "first", {"metadata": METADATA})
        name = first.metadata["name"]  # type: ignore[attr-defined]
        pulumi.CustomResource("example:index:Second", "second", {"of": name, "unset": hasattr(first, "unset")})

    found = {each.name: each.properties for each in record(program, "project", "stack")}

    assert found["second"] == {"of": "a", "unset": False}


@pytest.mark.parametrize("before", [False, True])
def test_after_a_render_this_process_is_a_preview_only_if_it_was_one_before(monkeypatch, before):
    monkeypatch.setattr(SETTINGS, "dry_run", before)
    seen = []

    record(lambda: seen.append(pulumi.runtime.is_dry_run()), "project", "stack")

    assert (seen, pulumi.runtime.is_dry_run()) == ([True], before)


BASE = """\
namespaces:
  - name: apps
source:
  url: https://git.example.com/dev-team/apps
sync:
  path: ./staging
"""
STACK = "Pulumi.staging.yaml"


def added(name: str, text: str = "text\n") -> Callable[[Path], None]:
    def edit(project: Path) -> None:
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return edit


def replaced(name: str, pattern: str, by: str) -> Callable[[Path], None]:
    def edit(project: Path) -> None:
        before = (project / name).read_text()
        after = re.sub(pattern, by, before, count=1, flags=re.MULTILINE)
        assert after != before
        (project / name).write_text(after)

    return edit


def with_crlf(project: Path) -> None:
    (project / "__main__.py").write_bytes((project / "__main__.py").read_bytes().replace(b"\n", b"\r\n"))


EDITS: dict[str, Callable[[Path], None]] = {
    **{
        f"a new file {name}": added(name)
        for name in (
            *("README.md", "docs/page.md", "docs/image.svg", "LICENSE", "CHANGELOG.md", ".gitignore", ".editorconfig"),
            *(".gitattributes", ".pre-commit-config.yaml", "renovate.json", "Makefile", "notes.txt", "schemas/a.json"),
            *("scripts/check.sh", "fleet.yaml", "tenants/README.md", "tenants/other.yaml", "Pulumi.other.yaml"),
            *(".vscode/settings.json", ".github/dependabot.yml", ".github/ISSUE_TEMPLATE/bug.md", "mkdocs.yml"),
            *("yaml/values.yaml", "json/a.json", ".python-version", "requirements.in", "CONTRIBUTING.md"),
        )
    },
    "a comment in the stack's file": replaced(STACK, "^config:", "# why\nconfig:"),
    "a comment in the tenant's file": replaced("tenants/dev-team.yaml", "^sync:", "# why\nsync:"),
    "a comment in Pulumi.yaml": replaced("Pulumi.yaml", "^name:", "# why\nname:"),
    "quotes in the stack's file": replaced(STACK, "kubeconfig: kubeconfig$", 'kubeconfig: "kubeconfig"'),
    "quotes in the tenant's file": replaced("tenants/dev-team.yaml", r"path: \./staging", "path: './staging'"),
    "a description": replaced("Pulumi.yaml", "^runtime", "description: other\nruntime"),
    "an author": replaced("Pulumi.yaml", "^runtime", "author: a\nruntime"),
    "a website": replaced("Pulumi.yaml", "^runtime", "website: https://example.com\nruntime"),
    "a licence": replaced("Pulumi.yaml", "^runtime", "license: MIT\nruntime"),
    "an empty line": replaced("tenants/dev-team.yaml", "^sync:", "\nsync:"),
    "the order of keys": replaced("tenants/dev-team.yaml", r"(?s)(source:.*)(sync:.*)", r"\2\1"),
    "the style of a list": replaced("tenants/dev-team.yaml", "\n  - name: apps", " [{name: apps}]"),
    "a key of the base moved to the stack's entry": replaced("tenants/dev-team.yaml", r"(?s)sync:\n  path.*", ""),
    "line endings": with_crlf,
    "bytecode of the project": added("__pycache__/__main__.cpython-311.pyc"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = write_project(tmp_path / "project")
    (folder / "tenants" / "dev-team.yaml").write_text(BASE)
    (folder / "__main__.py").write_text("import pulumi\n")
    write_stack(folder, git=..., policies=..., tenants={"dev-team": {"sync": {"path": "./staging"}}})
    return folder


@pytest.mark.parametrize("edit", EDITS)
def test_a_harmless_edit_keeps_the_digest(project: Path, edit: str) -> None:
    before = render_stack(project, "staging").digest

    EDITS[edit](project)

    assert render_stack(project, "staging").digest == before

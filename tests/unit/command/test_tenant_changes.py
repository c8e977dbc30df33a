"""`flux-tenancy tenant suspend`, `resume`, `move` and `moved`: what they change in the files, and when they refuse."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_cluster import FakeCluster, served
from tenants_project import TenantsProject, tenants_project

from flux_tenancy.components.config.messages import Message
from flux_tenancy.project.errors import OperationError

STAGING = ("--stack", "staging", "--no-preview")
HOME = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces"
NEW_URL = "ssh://git@git.example.com/new/apps.git"


@pytest.fixture
def project(tmp_path, monkeypatch) -> TenantsProject:
    return tenants_project(tmp_path, monkeypatch)


@pytest.fixture
def cluster(project) -> Iterator[FakeCluster]:
    cluster = FakeCluster()
    with served(cluster, project.folder):
        yield cluster


def sync(
    prune: bool,
    ready: str = "True",
    applied: tuple[str, ...] = (),
    name: str = "dev-team",
    path: str = "./staging",
    revision: str = "",
) -> dict[str, object]:
    source = {"sourceRef": {"kind": "GitRepository", "name": "dev-team"}} if revision else {}
    return {
        "metadata": {"name": name, "namespace": "apps", "generation": 1},
        "spec": {"prune": prune, "path": path, **source},
        "status": {
            "lastAppliedRevision": revision,
            "conditions": [{"type": "Ready", "status": ready, "message": "path not found", "observedGeneration": 1}],
            "inventory": {"entries": [{"id": each} for each in applied]},
        },
    }


def changed(project: TenantsProject, *arguments: str, stack: str = "staging") -> list[str]:
    """The lines of the stack's file that a command changes, without their indentation."""
    before = project.read(f"Pulumi.{stack}.yaml").splitlines()
    project.told(*arguments)
    lines = difflib.ndiff(before, project.read(f"Pulumi.{stack}.yaml").splitlines())
    return [f"{line[0]}{line[2:].strip()}" for line in lines if line[0] in "-+"]


def test_a_tenant_is_suspended_and_resumed_in_the_stack_alone(project):
    before = project.files()

    assert changed(project, "suspend", "dev-team", *STAGING) == [
        "-sync: {path: ./staging}   # as long as they like",
        "+sync: {path: ./staging, suspend: true}   # as long as they like",
    ]
    project.told("resume", "dev-team", *STAGING)

    assert project.files() == before


def test_a_suspended_base_is_resumed_by_the_stack(project):
    base = project.folder / "tenants/ops-team.yaml"
    base.write_text(base.read_text() + "  suspend: true\n")

    assert changed(project, "resume", "ops-team", *STAGING) == [
        "-ops-team: {}",
        "+ops-team:",
        "+sync:",
        "+suspend: false",
    ]


WITH_SYNCS = """\
syncs:
  jobs: {path: ./jobs}
  tools: {source: tools}
sources:
  tools: {kind: GitRepository, url: "https://git.example.com/tools"}
  charts: {kind: HelmRepository, url: "https://charts.example.com"}
releases:
  podinfo: {source: charts, chart: podinfo, suspend: true}
"""


@pytest.fixture
def several(project: TenantsProject) -> TenantsProject:
    """dev-team has two further syncs: one of its own repository, one of another source."""
    base = project.folder / "tenants/dev-team.yaml"
    base.write_text(base.read_text() + WITH_SYNCS)
    return project


def entry(project: TenantsProject) -> dict[str, Any]:
    config = yaml.safe_load(project.read("Pulumi.staging.yaml"))["config"]
    found: dict[str, Any] = config["flux-tenancy:tenants"]["dev-team"]
    return found


def test_all_syncs_and_releases_of_a_tenant_are_suspended_and_resumed(several):
    several.told("suspend", "dev-team", *STAGING)
    suspended = entry(several)
    several.told("resume", "dev-team", *STAGING)

    assert suspended == {
        "sync": {"path": "./staging", "suspend": True},
        "syncs": {"jobs": {"suspend": True}, "tools": {"suspend": True}},
        "releases": {"podinfo": {"suspend": True}},
    }
    assert entry(several) == {"sync": {"path": "./staging"}, "releases": {"podinfo": {"suspend": False}}}


def test_a_tenant_with_releases_alone_is_suspended_and_has_no_folder_to_move(project):
    releases = "releases: {podinfo: {source: charts, chart: podinfo}}\n"
    sources = "sources: {charts: {kind: HelmRepository, url: https://charts.example.com}}\n"
    (project.folder / "tenants/ops-team.yaml").write_text(f"namespaces: [{{name: tools}}]\n{sources}{releases}")

    assert changed(project, "suspend", "ops-team", *STAGING) == [
        "-ops-team: {}",
        "+ops-team:",
        "+releases:",
        "+podinfo:",
        "+suspend: true",
    ]
    assert "(FT-OPS-313)\n" in project.refused("move", "ops-team", "--folder", "./x", *STAGING)


def test_the_change_is_shown_before_the_preview(project, monkeypatch):
    monkeypatch.setattr(
        "flux_tenancy.operations.tenants.lifecycle.show_preview", lambda stack, folder: print(f"preview of {stack}")
    )

    out = project.told("suspend", "ops-team", "--stack", "staging")

    assert out.splitlines() == [
        "--- a/Pulumi.staging.yaml",
        "+++ b/Pulumi.staging.yaml",
        *out.splitlines()[2:4],
        "-        ops-team: {}",
        "+        ops-team:",
        "+          sync:",
        "+            suspend: true",
        "     # Of one Git host.",
        "preview of staging",
        "Next: review and commit the files, then run `pulumi up --stack staging`.",
    ]


def test_what_the_files_say_already_is_no_change(project):
    assert project.told("resume", "ops-team", *STAGING) == "The files say so already.\n"


def test_a_new_folder_comes_with_the_end_of_pruning(project):
    assert changed(project, "move", "dev-team", "--folder", "./apps", *STAGING) == [
        "-sync: {path: ./staging}   # as long as they like",
        "+sync: {path: ./apps, prune: false}   # as long as they like",
    ]


def test_a_new_source_comes_only_after_pruning_has_ended_in_the_cluster(project, cluster):
    """Between the update of the source and that of the Kustomization, Flux would prune what the new one has not."""
    cluster.answers[f"{HOME}/apps/kustomizations/dev-team"] = sync(prune=True)
    arguments = ("move", "dev-team", "--repo", NEW_URL, "--branch", "next", *STAGING)

    out = project.told(*arguments)
    assert "prune: false" in out and NEW_URL not in project.read("Pulumi.staging.yaml")
    assert "\nstaging: until `pulumi up`, Flux prunes; then run the same command again.\nNext: " in out

    cluster.answers[f"{HOME}/apps/kustomizations/dev-team"] = sync(prune=False)
    assert changed(project, *arguments) == [
        "+source:",
        f"+url: {NEW_URL}",
        "+branch: next",
        "+deployKey:",
        "+secure: v1:CIPHER",
    ]
    assert "OPENSSH PRIVATE KEY" in project.read("plain")


@pytest.mark.parametrize(
    ("prunes", "told"),
    [
        (False, "  staging: ssh-ed25519 "),
        (False, "`flux-tenancy tenant moved dev-team --stack staging`"),
        (True, "staging: until `pulumi up`, Flux prunes; then run the same command again."),
    ],
)
def test_how_a_move_goes_on_is_told_although_its_preview_fails(project, cluster, monkeypatch, prunes, told):
    """The key is nowhere else to be seen, and the same command would say that the tenant is there already."""
    cluster.answers[f"{HOME}/apps/kustomizations/dev-team"] = sync(prune=prunes)
    monkeypatch.setattr("flux_tenancy.operations.tenants.lifecycle.show_preview", failing_preview)

    code, out, error = project.run("move", "dev-team", "--repo", NEW_URL, "--stack", "staging")

    assert (code, told in out) == (2, True) and "(FT-OPS-306)" in error


def test_a_repository_that_takes_no_deploy_key_has_none(project, cluster):
    cluster.answers[f"{HOME}/apps/kustomizations/dev-team"] = sync(prune=False)
    project.told("move", "dev-team", "--repo", NEW_URL, *STAGING)

    project.told("move", "dev-team", "--repo", "https://git.example.com/dev-team/new.git", *STAGING)

    assert entry(project)["source"] == {"url": "https://git.example.com/dev-team/new.git"}


def failing_preview(stack: str, _: Path) -> None:
    raise OperationError(Message("FT-OPS-306", f"the preview of stack {stack} failed"))


def test_the_first_secret_of_a_stack_brings_its_salt(project, cluster):
    file = project.folder / "Pulumi.staging.yaml"
    file.write_text(file.read_text().replace("encryptionsalt: v1:salt-of-staging\n", ""))
    cluster.answers[f"{HOME}/apps/kustomizations/dev-team"] = sync(prune=False)

    project.told("move", "dev-team", "--repo", NEW_URL, *STAGING)

    assert file.read_text().endswith("\nencryptionsalt: v1:new\n")


def test_all_syncs_of_a_repository_end_pruning_before_it_moves(several, cluster):
    cluster.answers[f"{HOME}/apps/kustomizations/dev-team"] = sync(prune=False)
    cluster.answers[f"{HOME}/apps/kustomizations/jobs"] = sync(prune=True)
    arguments = ("move", "dev-team", "--branch", "next", *STAGING)

    several.told(*arguments)
    kept = {"sync": {"path": "./staging", "prune": False}, "syncs": {"jobs": {"prune": False}}}
    assert entry(several) == kept

    cluster.answers[f"{HOME}/apps/kustomizations/jobs"] = sync(prune=False)
    several.told(*arguments)
    assert entry(several) == kept | {"source": {"branch": "next"}}


def test_a_source_is_moved_by_its_name(several, cluster):
    cluster.answers[f"{HOME}/apps/kustomizations/tools"] = sync(prune=False)

    several.told("move", "dev-team", "--source", "tools", "--repo", NEW_URL, *STAGING)

    assert entry(several) == {
        "sync": {"path": "./staging"},
        "syncs": {"tools": {"prune": False}},
        "sources": {"tools": {"url": NEW_URL, "deployKey": {"secure": "v1:CIPHER"}}},
    }


def test_the_folder_of_a_sync_is_moved_by_its_name_and_it_alone_prunes_again(several, cluster):
    cluster.answers |= {"/api": {"items": []}, "/apis": {"items": []}}
    before = several.files()
    several.told("move", "dev-team", "--sync", "jobs", "--folder", "./later", *STAGING)
    assert entry(several) == {
        "sync": {"path": "./staging"},
        "syncs": {"jobs": {"path": "./later", "prune": False}},
    }

    cluster.answers[f"{HOME}/apps/kustomizations/jobs"] = sync(False, ready="False", name="jobs")
    error = several.refused("moved", "dev-team", *STAGING)
    assert "has not moved yet in stack staging: sync jobs: path not found (FT-OPS-309)" in error
    cluster.answers[f"{HOME}/apps/kustomizations/jobs"] = sync(False, name="jobs", path="./later")
    several.told("moved", "dev-team", *STAGING)

    assert entry(several)["syncs"] == {"jobs": {"path": "./later"}}
    assert several.files().keys() == before.keys()


def test_a_tenant_prunes_again_once_its_new_place_is_applied(project, cluster):
    """What only the old place had is listed; objects in the inventory and of other Kustomizations are not."""
    cluster.answers[f"{HOME}/apps/kustomizations/dev-team"] = sync(
        False, applied=("apps_new__x_apps_Deployment",), path="./apps"
    )
    verbs = {"scope": "Namespaced", "verbs": ["list", "delete"]}
    resource = {"resource": "deployments", "responseKind": {"kind": "Deployment"}, **verbs}
    group = {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [resource]}]}
    cluster.answers |= {"/api": {"items": []}, "/apis": {"items": [group]}}
    cluster.objects["/apis/apps/v1/namespaces/apps/deployments"] = [
        {"metadata": {"namespace": "apps", "name": name}} for name in ("new:x", "old\x1b[2J")
    ] + [{"metadata": {"namespace": "apps", "name": "owned", "ownerReferences": [{"kind": "Service"}]}}]
    project.told("move", "dev-team", "--folder", "./apps", *STAGING)

    out = project.told("moved", "dev-team", *STAGING)

    assert out.startswith("staging: Deployment apps/old [2J is not in the new place; it stays until")
    assert "owned" not in out
    assert "sync: {path: ./apps}   # as long as they like" in project.read("Pulumi.staging.yaml")


def test_a_tenant_whose_new_place_is_not_applied_yet_does_not_prune_again(project, cluster):
    cluster.answers[f"{HOME}/apps/kustomizations/dev-team"] = sync(prune=False, ready="False")
    project.told("move", "dev-team", "--folder", "./apps", *STAGING)

    error = project.refused("moved", "dev-team", *STAGING)

    assert "tenant dev-team has not moved yet in stack staging: path not found (FT-OPS-309)\n" in error


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (sync(prune=True), "Flux still prunes"),
        (sync(prune=False), "Flux applies the folder ./staging and not ./apps"),
    ],
)
def test_a_sync_that_is_ready_with_its_previous_place_does_not_prune_again(project, cluster, found, reason):
    """Otherwise the next update would move it and prune at once."""
    cluster.answers[f"{HOME}/apps/kustomizations/dev-team"] = found
    project.told("move", "dev-team", "--folder", "apps", *STAGING)
    before = project.files()

    error = project.refused("moved", "dev-team", *STAGING)

    assert f"tenant dev-team has not moved yet in stack staging: {reason} (FT-OPS-309)\n" in error
    assert project.files() == before


@pytest.mark.parametrize(
    ("url", "branch", "revision", "reason"),
    [
        ("ssh://git@git.example.com/old", "next", "next@1", f"fetches ssh://git@git.example.com/old and not {NEW_URL}"),
        (NEW_URL, "main", "main@1", "Flux fetches main and not next"),
        (NEW_URL, "next", "next@2", "Flux has not applied the last revision that it has fetched"),
    ],
)
def test_a_source_that_is_the_previous_one_does_not_let_its_syncs_prune_again(
    project, cluster, url, branch, revision, reason
):
    cluster.answers[f"{HOME}/apps/kustomizations/dev-team"] = sync(prune=False, revision="next@1")
    cluster.answers["/apis/source.toolkit.fluxcd.io/v1/namespaces/apps/gitrepositories/dev-team"] = {
        "metadata": {"name": "dev-team", "namespace": "apps", "generation": 1},
        "spec": {"url": url, "ref": {"branch": branch}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "artifact": {"revision": revision}},
    }
    project.told("move", "dev-team", "--repo", NEW_URL, "--branch", "next", *STAGING)

    assert f"{reason} (FT-OPS-309)\n" in project.refused("moved", "dev-team", *STAGING)


def test_a_tenant_without_a_sync_in_the_cluster_has_not_moved(project, cluster):
    assert "(FT-OPS-308)\n" in project.refused("moved", "dev-team", *STAGING)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("suspend", "shop"), "(FT-OPS-004)"),
        (("resume", "shop"), "(FT-OPS-004)"),
        (("move", "shop", "--folder", "./x"), "(FT-OPS-004)"),
        (("move", "dev-team"), "(FT-OPS-307)"),
        (("move", "dev-team", "--folder", "./staging"), "(FT-OPS-307)"),
        (("move", "dev-team", "--source", "charts", "--branch", "x"), "--source: tenant dev-team has no charts"),
        (("move", "dev-team", "--sync", "jobs", "--folder", "./x"), "--sync: tenant dev-team has no jobs that can be"),
        (("move", "dev-team", "--folder", "../x"), "error: --folder: '../x' "),
        (("move", "dev-team", "--branch", "next"), "cluster.kubeconfig: "),
        (("moved", "dev-team"), "cluster.kubeconfig: "),
    ],
)
def test_what_cannot_be_done_leaves_every_file_as_it_was(project, arguments, said):
    assert said in project.refused(*arguments, *STAGING)


def test_all_that_is_wrong_with_a_move_is_told_at_once(project):
    wrong = ("--repo", "git.example.com", "--github", "apps", "--branch", "a b", "--folder", "..")

    error = project.refused("move", "shop", *wrong, *STAGING, "--stack", "production")

    assert [line[:20] for line in error.splitlines()] == [
        "error: 6 errors:",
        "  --repo: 'git.examp",
        "  --github: 'apps' i",
        "  --branch: 'a b' is",
        "  --folder: '..' mus",
        "  Pulumi.staging.yam",
        "  Pulumi.production.",
        "remedy: correct it a",
    ]


def test_each_stack_without_the_tenant_is_told(project):
    error = project.refused("offboard", "shop", "--no-backup", *STAGING, "--stack", "production")

    assert (
        "Pulumi.staging.yaml lists no tenant shop" in error and "Pulumi.production.yaml lists no tenant shop" in error
    )

"""The program accepts the benchmark's project, and kubectl gets exactly its objects."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml

from bench.workload import Workload, flux_section, kyverno_section, repositories

CHECKOUT = Path(__file__).parents[3]
KINDS = [
    "Namespace",
    "ResourceQuota",
    "ResourceQuota",
    "ServiceAccount",
    "RoleBinding",
    "GitRepository",
    "Kustomization",
]


@pytest.fixture
def workload(tmp_path: Path) -> Workload:
    workload = Workload(tmp_path / "project", CHECKOUT)
    workload.set_sections(
        cluster={"kubeconfig": "kubeconfig"}, flux=flux_section(CHECKOUT, tmp_path / "install.yaml"), tenants={}
    )
    return workload


def test_each_tenant_has_its_objects_in_the_order_of_their_creation(workload: Workload) -> None:
    objects = workload.set_tenants(repositories(2))
    assert [manifest["kind"] for manifest in objects] == KINDS * 2
    assert {manifest["metadata"].get("namespace", "team-001") for manifest in objects[: len(KINDS)]} == {"team-001"}


def test_kubectl_applies_objects_in_this_order_and_deletes_them_in_reverse(workload: Workload) -> None:
    objects = workload.set_tenants(repositories(3))
    assert list(yaml.safe_load_all(workload.objects_file.read_text())) == objects
    assert list(yaml.safe_load_all(workload.reverse_file.read_text())) == objects[::-1]


def test_fewer_tenants_replace_more(workload: Workload) -> None:
    workload.set_tenants(repositories(10))
    assert Counter(manifest["kind"] for manifest in workload.set_tenants(repositories(1))) == Counter(KINDS)


def test_pulumis_own_keys_in_the_stack_file_stay(workload: Workload) -> None:
    stack_file = workload.folder / "Pulumi.bench.yaml"
    stack_file.write_text(f"{stack_file.read_text()}encryptionsalt: v1:salt\n")
    workload.set_tenants(repositories(1))
    assert yaml.safe_load(stack_file.read_text())["encryptionsalt"] == "v1:salt"


def test_flux_is_the_staging_stacks_from_the_given_bundle(tmp_path: Path) -> None:
    staging = yaml.safe_load((CHECKOUT / "Pulumi.staging.yaml").read_text())["config"]["flux-tenancy:flux"]
    section = flux_section(CHECKOUT, tmp_path / "install.yaml")
    assert section["sha256"] == staging["sha256"]
    assert section["manifests"] == {"bundle": str(tmp_path / "install.yaml")}


def test_a_tenant_fetches_from_its_own_repository(workload: Workload) -> None:
    [source] = [each for each in workload.set_tenants(repositories(1)) if each["kind"] == "GitRepository"]
    assert source["spec"]["url"] == "https://git.example.com/team-001/apps.git"


def test_a_section_is_replaced_or_removed_and_the_others_stay(workload: Workload) -> None:
    def sections() -> dict[str, object]:
        config = yaml.safe_load((workload.folder / "Pulumi.bench.yaml").read_text())["config"]
        return {key: config.get(f"flux-tenancy:{key}") for key in ("policies", "kyverno", "flux")}

    flux = sections()["flux"]
    workload.set_sections(policies={"engine": "kyverno"}, kyverno={"version": "1.19.1"})
    assert sections() == {"policies": {"engine": "kyverno"}, "kyverno": {"version": "1.19.1"}, "flux": flux}

    workload.set_sections(policies={"engine": "none"}, kyverno=None)
    assert sections() == {"policies": {"engine": "none"}, "kyverno": None, "flux": flux}


def test_kyverno_is_the_staging_stacks_from_the_given_bundle(tmp_path: Path) -> None:
    staging = {"version": "1.19.1", "sha256": "ab", "replicas": 1, "chart": {"bundle": "another"}}
    (tmp_path / "Pulumi.staging.yaml").write_text(yaml.safe_dump({"config": {"flux-tenancy:kyverno": staging}}))

    assert kyverno_section(tmp_path, tmp_path / "chart.tgz") == staging | {
        "chart": {"bundle": str(tmp_path / "chart.tgz")}
    }

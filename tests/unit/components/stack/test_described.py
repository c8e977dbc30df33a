"""`describe`: the components in a program that also creates their cluster."""

from __future__ import annotations

import hashlib
import re
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pulumi
import pulumi_kubernetes
import pytest
import sample_kyverno
import yaml
from recorded_program import Registration, run
from sample_project import pinned
from sample_release import RELEASE_FILE
from sample_stack import FLUX

import flux_tenancy
from flux_tenancy import FluxInstall, KyvernoInstall, KyvernoPolicies, NativePolicies, Tenant, describe
from flux_tenancy.components.cluster.client import ClusterUnavailable, explaining
from flux_tenancy.components.stack.described import _LateClient

PAGE = Path(__file__).parents[4] / "docs" / "components.md"
KUBECONFIG = """
clusters: [{name: made, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: made, context: {cluster: made, user: made}}]
current-context: made
users: [{name: made, user: {}}]
"""


def sections(**changed: Any) -> dict[str, Any]:
    release = RELEASE_FILE.read_bytes()
    flux = FLUX | {"sha256": hashlib.sha256(release).hexdigest(), "manifests": {"bundle": str(RELEASE_FILE)}}
    tenant = {
        "namespaces": [{"name": "apps"}],
        "source": {"url": "https://git.example.com/my-team/apps"},
        "sync": {"path": "./deploy"},
    }
    policies = {"sources": {"allowed": ["https://git.example.com/*"]}}
    return {"flux": flux, "policies": policies, "tenants": {"my-team": tenant}} | changed


class MadeCluster(pulumi.CustomResource):
    """A cluster whose kubeconfig is known once it exists."""

    kubeconfig: pulumi.Output[str]

    def __init__(self) -> None:
        super().__init__("cloud:index:Cluster", "cluster", {"kubeconfig": pulumi.Output.secret("made")})


def program(**changed: Any) -> None:
    cluster = MadeCluster()
    on = pulumi.ResourceOptions(provider=pulumi_kubernetes.Provider("cluster", kubeconfig=cluster.kubeconfig))
    platform = describe(sections(**changed), cluster.kubeconfig)
    flux = FluxInstall("flux", platform.flux, on)
    policies = NativePolicies("policies", platform.native_policies(flux), on)
    for name, args in platform.tenants(policies).items():
        Tenant(name, args, on)


def before(name: str, registered: Mapping[str, Registration]) -> set[str]:
    """Everything that a resource is registered after."""
    found: set[str] = set()
    todo = {name}
    while todo:
        todo = {after for each in todo for after in registered[each].after} - found
        found |= todo
    return found


def refused(**changed: Any) -> str:
    with pytest.raises(pulumi.RunError) as error:
        describe(sections(**changed), "kubeconfig")
    return str(error.value)


@pytest.mark.parametrize("preview", [False, True])
def test_a_cluster_of_the_same_program_gets_all_objects_of_the_platform(preview: bool) -> None:
    registered = run(program, preview=preview)

    assert {"Namespace flux-system", "Namespace apps", "Kustomization apps/my-team"} <= registered.keys()
    assert registered["kubernetes cluster"].properties["kubeconfig"] == {"secret": "made"}
    objects = [each for each in registered.values() if each.type.startswith("kubernetes:")]
    assert {each.provider for each in objects} == {"kubernetes cluster"}


def test_tenants_come_after_enforced_policies_and_these_after_flux() -> None:
    registered = run(program)

    for name in ("Namespace apps", "Kustomization apps/my-team"):
        probe = "ValidatingAdmissionPolicy flux-tenancy-probe"
        assert {probe, "Deployment flux-system/kustomize-controller"} <= before(name, registered), name
        assert "native-policies-in-force" in registered[name].hooks["before_create"]
    shared = {each.parent for name, each in registered.items() if name.startswith("ClusterRole flux-tenancy-tenant")}
    assert shared == {"NativePolicies policies"}


def test_with_both_engines_tenants_wait_for_both(tmp_path: Path) -> None:
    kyverno_section = pinned(tmp_path, sample_kyverno, sample_kyverno.KYVERNO)

    def both() -> None:
        policies = {**sections()["policies"], "engine": "both"}
        platform = describe(sections(policies=policies, kyverno=kyverno_section), "kubeconfig", tmp_path)
        flux = FluxInstall("flux", platform.flux)
        kyverno = KyvernoInstall("kyverno", platform.kyverno)
        native = NativePolicies("native", platform.native_policies(flux))
        by_kyverno = KyvernoPolicies("kyverno", platform.kyverno_policies(flux, kyverno))
        with pytest.raises(pulumi.RunError, match="kyverno.*FT-CFG-853"):
            platform.tenants(native)
        for name, args in platform.tenants(native, by_kyverno).items():
            Tenant(name, args)

    registered = run(both)

    hooks = registered["Namespace apps"].hooks["before_create"]
    assert {"native-policies-in-force", "kyverno-policies-in-force"} <= {*hooks}
    assert "kyverno-serving" in registered["ValidatingPolicy flux-tenancy-probe"].hooks["before_create"]


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"cluster": {"kubeconfig": "kubeconfig"}}, "cluster"),
        ({"capsule": {}}, "capsule"),
        ({"flux": {**sections()["flux"], "sync": {}}}, "flux.sync"),
        ({"policies": {"engine": "none"}}, "policies.engine"),
    ],
)
def test_what_only_the_whole_program_offers_is_refused(changed: dict[str, Any], path: str) -> None:
    message = refused(**changed)

    assert f"describe(): {path}:" in message and "(FT-CFG-851)" in message


def test_every_error_names_its_place_and_no_value() -> None:
    tenant = {**sections()["tenants"]["my-team"], "sync": {"interval": "s3cret", "path": 1}}

    message = refused(tenants={"my-team": tenant, "flux-system": tenant})

    assert (
        "describe(): tenants.my-team.sync.interval:" in message and "describe(): tenants.my-team.sync.path" in message
    )
    assert "s3cret" not in message


def test_kyverno_needs_its_section() -> None:
    with pytest.raises(pulumi.RunError, match="FT-CFG-852"):
        describe(sections(), "kubeconfig").kyverno  # noqa: B018


def test_the_package_offers_what_it_lists() -> None:
    assert [getattr(flux_tenancy, name).__name__ for name in flux_tenancy.__all__] == flux_tenancy.__all__
    with pytest.raises(AttributeError, match="Unknown"):
        flux_tenancy.Unknown  # noqa: B018


def test_the_example_of_the_page_registers_the_platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [program_text] = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    sections_text, _ = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    platform = yaml.safe_load(sections_text)
    platform["flux"] |= {key: sections()["flux"][key] for key in ("sha256", "manifests")}
    (tmp_path / "platform.yaml").write_text(yaml.safe_dump(platform))
    (tmp_path / "example.py").write_text(program_text)
    monkeypatch.chdir(tmp_path)
    # Its package is large and not needed for anything else.
    cluster = SimpleNamespace(Cluster=lambda _: SimpleNamespace(kubeconfig_json=MadeCluster().kubeconfig))
    monkeypatch.setitem(sys.modules, "pulumi_eks", cluster)

    registered = run(lambda: runpy.run_path("example.py") and None)

    assert {"Namespace flux-system", "Namespace my-team", "Kustomization my-team/my-team"} <= registered.keys()
    assert {each.provider for each in registered.values()} == {"", "kubernetes platform"}


def test_a_cluster_is_asked_once_its_kubeconfig_is_known() -> None:
    found: list[Any] = []

    def ask() -> pulumi.Output[None]:
        known = pulumi.Output.from_input(KUBECONFIG)
        api: Any = _LateClient(known)
        with pytest.raises(ClusterUnavailable, match="known"), explaining(api):
            pass
        return known.apply(lambda _: found.append(api.configuration.host))

    run(ask)

    assert found == ["http://127.0.0.1:1"]
